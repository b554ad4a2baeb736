"""Whether the calling thread may wait. `fuse/` answers on one thread that must never block; the core is synchronous.

So that thread serves inside `impatient()`, and each view call is tried on it first: what is cached answers at once,
and whatever would open, list, decode or touch a cold page raises `WouldBlock` through `patience_needed()`. The same
call is then made again in a worker thread, which may wait. So calls are written that making them twice is safe.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kafkafs.errors import WouldBlock


class _Mood(threading.local):
    impatient = False


_mood = _Mood()


@contextmanager
def impatient() -> Iterator[None]:
    """A context in which this thread refuses to wait. Not reentrant."""
    _mood.impatient = True
    try:
        yield
    finally:
        _mood.impatient = False


def is_impatient() -> bool:
    """True where this thread must not wait."""
    return _mood.impatient


@contextmanager
def promptly(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock; where another thread has it, who must not wait gets WouldBlock."""
    if not lock.acquire(blocking=False):
        patience_needed()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def patience_needed() -> None:
    """Call before what may take long; raises WouldBlock where this thread must not wait."""
    if _mood.impatient:
        raise WouldBlock("this answer takes a worker thread")
