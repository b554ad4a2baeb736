"""True if the calling thread may wait. `fuse/` answers on one thread that must never block; the core is synchronous.

So that thread serves inside `non_blocking()`, and each view call is tried on it first: what is cached answers at once,
and whatever would open, list, decode or touch a cold page raises `WouldBlock` through `may_block()`. The same
call is then made again in a worker thread, which may wait. So calls are written that making them twice is safe.

A worker thread, for its part, serves each call for a `time_slice`: what takes longer, as the scan of a whole partition
does, keeps what it has done and raises `Unfinished` through `check_time_slice()`, and is asked again, unless its caller
has gone.

A store beside the disks, as that of a tier, can be slower than any disk. So a worker thread serves each call inside
`disk_only()` first: what needs the store raises `StoreNeeded` through `may_ask_store()`, and the call is made again in
a thread for which nobody waits who needs the disk alone.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from math import inf

from kafkafs.errors import AnswerInProgress, Unfinished, WouldBlock

AT_A_GLANCE_S = 3.0
"""Patience of what `ls -l` asks for."""

LOOKUP_S = 5.0
"""Patience of the look-up of a name: other names in the same directory wait for it."""


class StoreNeeded(Exception):  # no `KafkafsError`: nobody passes over it who can do without one file
    """The answer needs a store; ask again outside of `disk_only`."""


class _ThreadState(threading.local):
    non_blocking = is_disk_only = False
    answer_until = patient_until = inf
    deadline: float | None = None

    @contextmanager
    def during(self, name: str, value: float) -> Iterator[None]:
        """A context in which that is another one."""
        before = getattr(self, name)
        setattr(self, name, value)
        try:
            yield
        finally:
            setattr(self, name, before)


_state = _ThreadState()


def non_blocking() -> AbstractContextManager[None]:
    """A context in which this thread refuses to wait."""
    return _state.during("non_blocking", True)


def is_non_blocking() -> bool:
    """True if this thread must not wait."""
    return _state.non_blocking


class ProcessLock:
    """A lock of its own in each process: for what a thread does that goes on when nobody waits for it any more. A
    process that is forked meanwhile does not have that thread, and would wait for it for ever."""

    def __init__(self) -> None:
        self._locks: dict[int, threading.Lock] = {}

    def acquire(self, blocking: bool = True, timeout: float = -1.0) -> bool:
        """See `threading.Lock`."""
        return self._own().acquire(blocking, timeout)

    def release(self) -> None:
        """See `threading.Lock`."""
        self._own().release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _own(self) -> threading.Lock:
        return self._locks.get(pid := os.getpid()) or self._locks.setdefault(pid, threading.Lock())


@contextmanager
def acquired(lock: "threading.Lock | ProcessLock") -> Iterator[None]:
    """Holds a lock; where another thread has it, a thread that must not wait gets WouldBlock.

    A thread with a time slice waits until the slice ends, and then raises AnswerInProgress. The other thread may take
    long, and a thread that does not come back looks as if a disk hung.
    """
    if not lock.acquire(blocking=False):
        may_block()
        left = -1.0 if _state.deadline is None else max(0.0, _state.deadline - time.monotonic())
        if not lock.acquire(timeout=left):
            raise AnswerInProgress("another thread makes this answer; ask again")
    try:
        yield
    finally:
        lock.release()


def may_block() -> None:
    """Call this before a step that may take long. WouldBlock if this thread must not wait."""
    if _state.non_blocking:
        raise WouldBlock("this answer takes a worker thread")


def disk_only() -> AbstractContextManager[None]:
    """A context in which this thread waits for disks, and not for a store beside them."""
    return _state.during("is_disk_only", True)


def may_ask_store() -> None:
    """Call this before a question to a store beside the disks, and before a wait for such a question of another thread.
    StoreNeeded inside `disk_only`, WouldBlock if this thread must not wait at all."""
    may_block()
    if _state.is_disk_only:
        raise StoreNeeded


def answer_within(seconds: float) -> AbstractContextManager[None]:
    """A context in which all questions to a store together take no longer."""
    return _state.during("answer_until", time.monotonic() + seconds)


def answer_time_left() -> float:
    """The time that `answer_within` leaves [s]; infinite outside of it."""
    return max(0.0, _state.answer_until - time.monotonic())


def time_slice(seconds: float) -> AbstractContextManager[None]:
    """A context in which this thread stops long work after so long, to be asked again."""
    return _state.during("deadline", time.monotonic() + seconds)


def has_time_slice() -> bool:
    """True if long work is to be done in parts."""
    return _state.deadline is not None


def check_time_slice() -> None:
    """Call this in the middle of long work, when the work so far is kept. Unfinished if the time is up."""
    if _state.deadline is not None and time.monotonic() > _state.deadline:
        raise Unfinished("this answer takes longer; ask again")


def patience(seconds: float) -> AbstractContextManager[None]:
    """A context in which this thread waits for what is far no longer than so long in all; inside another such context,
    no longer than that one allows."""
    return _state.during("patient_until", min(_state.patient_until, time.monotonic() + seconds))


def patience_left() -> float:
    """The time that this thread would still wait for a far store or disk [s]; infinite, unless it said otherwise."""
    return max(0.0, _state.patient_until - time.monotonic())
