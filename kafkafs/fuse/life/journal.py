"""The daemon's log: one line an event, safe to print, never a flood. On SIGUSR1, and when the trio thread stops
answering, what every call, task and thread is doing.

Names come from the disk and may hold anything, line feeds and terminal controls included; whatever is not printable is
escaped here once more, though callers write names with `repr`. No keys or values are ever logged. At most `BURST`
messages of one kind (one place in the source) pass in `PERIOD_S`. The next message that passes says how many were left
out.
"""

import logging
import logging.handlers
import os
import sys
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from kafkafs.disk.garbage import no_collection
from kafkafs.errors import printable

if TYPE_CHECKING:  # the code that starts a mount reports in a sentence that trio is missing
    import trio

BURST = 20
PERIOD_S = 10.0
UNLIMITED = {"unlimited": True}  # `extra=` of what was asked for and may be long


class _Lines(logging.Formatter):
    """`2026-11-21T14:03:11 WARNING kafkafs.fuse: message`; a traceback follows, indented."""

    def __init__(self, stamp: str) -> None:
        super().__init__(f"{stamp}%(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line, with its message made printable."""
        record.message = printable(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: object) -> str:
        """The traceback made printable, each line behind a bar, so that none passes for an event."""
        trace = super().formatException(ei)  # type: ignore[arg-type]
        return "\n".join("    | " + printable(line) for line in trace.splitlines())


class _Limit(logging.Filter):
    """Lets `BURST` records of one place in the source through in `PERIOD_S`."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[tuple[str, int], tuple[float, int]] = {}  # place -> start of the period, how many since

    def filter(self, record: logging.LogRecord) -> bool:
        """True if the record passes. The first record of a new period also says how many did not pass before."""
        if getattr(record, "unlimited", False):
            return True
        place = (record.pathname, record.lineno)
        now = time.monotonic()
        since, count = self._seen.get(place, (now, 0))
        if now - since >= PERIOD_S:
            if count > BURST:
                record.msg = f"{record.msg} (and {count - BURST} like it before)"
            since, count = now, 0
        self._seen[place] = (since, count + 1)
        return count < BURST


def start(log_file: Path | None = None, syslog: bool = False) -> None:
    """Sends the log to a file, to syslog (nowhere on a machine that has none), or to standard error."""
    handler: logging.Handler
    if log_file is not None:
        handler = logging.FileHandler(log_file, encoding="utf-8", errors="backslashreplace")
    elif syslog and not Path("/dev/log").exists():
        handler = logging.NullHandler()
    elif syslog:
        handler = logging.handlers.SysLogHandler("/dev/log", logging.handlers.SysLogHandler.LOG_DAEMON)
        handler.ident = "kafkafs: "
    else:
        handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines("" if syslog and log_file is None else "%(asctime)s "))
    handler.addFilter(_Limit())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.raiseExceptions = False  # a log that cannot be written must not end the mount


logger = logging.getLogger(__name__)
_writing = threading.Lock()


def log_all(root: "trio.lowlevel.Task | None", calls: Iterable[str] = ()) -> None:
    """A report of the calls that wait for disks, and of the place of each task and thread. The innermost call comes
    first, and equal ones share a line.

    Nothing where that is being written already: a signal may come while another one is answered.
    """
    if not _writing.acquire(blocking=False):
        return
    try:
        for call in calls:
            logger.warning("call %s", call, extra=UNLIMITED)
        _log_alike("task", ((task.name, _awaits(task.coro)) for task in _tasks(root)))
        _log_alike("thread", threads_at_work())
    finally:
        _writing.release()


def threads_at_work() -> list[tuple[str, list[str]]]:
    """The name of each thread, and its calls.

    No frame is kept in a variable: this one's own is among them, and the cycle would hold what all of them hold.
    """
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return [(names.get(ident, str(ident)), _calls(frame)) for ident, frame in _frames().items()]


def _frames() -> dict[int, FrameType]:
    """The frame of each thread. No search for cycles may begin meanwhile: it would run code of ours, and a signal's
    handler with it, while Python holds a lock that both of them may ask for (3.11, gh-106883)."""
    with no_collection():
        return sys._current_frames()


def _log_alike(kind: str, places: Iterable[tuple[str, list[str]]]) -> None:
    alike = defaultdict(list)
    for name, place in places:
        alike[" < ".join(place)].append(name)
    for stack, names in alike.items():
        logger.warning("%s %s: %s", kind, ", ".join(names), stack, extra=UNLIMITED)


def _tasks(task: "trio.lowlevel.Task | None") -> Iterator["trio.lowlevel.Task"]:
    if task is not None:
        yield task
        for nursery in task.child_nurseries:
            for child in nursery.child_tasks:
                yield from _tasks(child)


def _awaits(coroutine: Any) -> list[str]:
    """The chain of what a coroutine waits for, innermost first. pyfuse3's own coroutines have no frame."""
    places = []
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None)
        name = getattr(coroutine, "__qualname__", type(coroutine).__name__)
        places.append(
            name if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno} {name}"
        )
        coroutine = getattr(coroutine, "cr_await", None)
    return places[::-1]


def _calls(frame: FrameType) -> list[str]:
    stack = reversed(traceback.extract_stack(frame))
    return [f"{os.path.basename(entry.filename)}:{entry.lineno} {entry.name}" for entry in stack]
