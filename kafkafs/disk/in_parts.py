"""Many files of a partition looked at by two threads: to open one and close it again is mostly the kernel's own work.

Two and no more, and only for as long as the look takes: the broker's threads want the processors as well. The thread
that asks is one of them, so that it is seen to be at work all the time; the other is one for the whole process.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread

_PART = 256
"""Files, or segments, that a kernel looks at in one call."""

_second = Lock()
"""Held by the one look that has a second thread now; others do without."""


def in_parts(count: int, worker: Callable[[], Callable[[range], None]]) -> None:
    """Have all of `range(count)` looked at, in ranges of some hundred, each by one of at most two threads.

    `worker` is called by each of them once, and makes what looks at a range: with buffers of its own.
    """
    parts = iter([range(count)[first : first + _PART] for first in range(0, count, _PART)])

    def work() -> None:
        """Takes ranges as long as there are some."""
        look = worker()
        for part in parts:  # both threads take from one iterator
            look(part)

    def work_beside() -> None:
        """The same in the second thread, whose error the first one raises."""
        try:
            work()
        except BaseException as error:
            errors.append(error)

    errors: list[BaseException] = []
    other = Thread(target=work_beside, name="look", daemon=True)  # a disk that hangs must not keep the process
    is_shared = count > _PART and _second.acquire(blocking=False)
    try:
        if is_shared:
            with suppress(RuntimeError):  # the system may start no more threads: one does it as well
                other.start()
        work()
    finally:
        if other.ident is not None:
            other.join()  # it works with what the caller closes next
        if is_shared:
            _second.release()
    if errors:
        raise errors[0]
