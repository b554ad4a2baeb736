"""Whether the calling thread may wait. `fuse/` answers on one thread that must never block; the core is synchronous.

So each view call is tried on that thread first, inside `impatient()`: what is cached answers at once, and whatever
would open, list, decode or touch a cold page raises `WouldBlock` through `patience_needed()`. The same call is then
made again in a worker thread, where waiting is allowed. Calls are therefore written so that making them twice is safe.
"""

import threading
from types import TracebackType

from kafkafs.errors import WouldBlock


class _Mood(threading.local):
    impatient = False


_mood = _Mood()


class _Impatient:
    """The context manager behind `impatient()`: one shared object, since entering it stands on the hot path."""

    def __enter__(self) -> None:
        _mood.impatient = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _mood.impatient = False


_IMPATIENT = _Impatient()


def impatient() -> _Impatient:
    """A context in which this thread refuses to wait. Not reentrant: it is entered in one place, around one call."""
    return _IMPATIENT


def is_impatient() -> bool:
    """True where this thread must not wait."""
    return _mood.impatient


def patience_needed() -> None:
    """Call before what may take long; raises WouldBlock where this thread must not wait."""
    if _mood.impatient:
        raise WouldBlock("this answer takes a worker thread")
