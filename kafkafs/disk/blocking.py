"""Whether the calling thread may wait. `fuse/` answers on one thread that must never block; the core is synchronous.

So that thread serves inside `non_blocking()`, and each view call is tried on it first: what is cached answers at once,
and whatever would open, list, decode or touch a cold page raises `WouldBlock` through `may_block()`. The same
call is then made again in a worker thread, which may wait. So calls are written that making them twice is safe.

A worker thread, for its part, is lent `for_a_while`: what takes longer, as the scan of a whole partition does, keeps
what it has done and raises `Unfinished` through `pause()`, and is asked again, unless its caller has gone.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from kafkafs.errors import Unfinished, WouldBlock


class _Mood(threading.local):
    non_blocking = False
    lent_until: float | None = None


_mood = _Mood()


@contextmanager
def non_blocking() -> Iterator[None]:
    """A context in which this thread refuses to wait. Not reentrant."""
    _mood.non_blocking = True
    try:
        yield
    finally:
        _mood.non_blocking = False


def is_non_blocking() -> bool:
    """True where this thread must not wait."""
    return _mood.non_blocking


@contextmanager
def acquired(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock; where another thread has it, a thread that must not wait gets WouldBlock."""
    if not lock.acquire(blocking=False):
        may_block()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def may_block() -> None:
    """Call before what may take long; raises WouldBlock where this thread must not wait."""
    if _mood.non_blocking:
        raise WouldBlock("this answer takes a worker thread")


@contextmanager
def for_a_while(seconds: float) -> Iterator[None]:
    """A context in which this thread stops long work after so long, to be asked again. Not reentrant."""
    _mood.lent_until = time.monotonic() + seconds
    try:
        yield
    finally:
        _mood.lent_until = None


def is_lent() -> bool:
    """True where long work is to be done in parts."""
    return _mood.lent_until is not None


def pause() -> None:
    """Call in the midst of long work, when what was done is kept; raises Unfinished where the time is up."""
    if _mood.lent_until is not None and time.monotonic() > _mood.lent_until:
        raise Unfinished("this answer takes longer; ask again")
