"""What every call, task and thread is doing, for the log: on SIGUSR1, and when the trio thread stops answering."""

import gc
import logging
import os
import sys
import threading
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

import trio

from kafkafs.fuse.life.journal import UNLIMITED

log = logging.getLogger(__name__)
_writing = threading.Lock()


def log_all(root: "trio.lowlevel.Task | None", calls: Iterable[str] = ()) -> None:
    """What is asked of the disks, then where tasks and threads stand, innermost call first, those alike on one line.

    Nothing where that is being written already: a signal may come while another one is answered.
    """
    if not _writing.acquire(blocking=False):
        return
    try:
        for call in calls:
            log.warning("call %s", call, extra=UNLIMITED)
        _log_alike("task", ((task.name, _awaits(task.coro)) for task in _tasks(root)))
        _log_alike("thread", _threads())
    finally:
        _writing.release()


def _threads() -> list[tuple[str, list[str]]]:
    """No frame is kept in a variable: this one's own is among them, and the cycle would hold what all of them hold."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return [(names.get(ident, str(ident)), _calls(frame)) for ident, frame in _frames().items()]


def _frames() -> dict[int, FrameType]:
    """The frame of each thread. No look for garbage may begin meanwhile: it would run code of ours, and a signal's
    handler with it, while Python holds a lock that both of them may ask for (3.11, gh-106883)."""
    gc.disable()
    try:
        return sys._current_frames()
    finally:
        gc.enable()


def _log_alike(kind: str, places: Iterable[tuple[str, list[str]]]) -> None:
    alike = defaultdict(list)
    for name, place in places:
        alike[" < ".join(place)].append(name)
    for stack, names in alike.items():
        log.warning("%s %s: %s", kind, ", ".join(names), stack, extra=UNLIMITED)


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
        places.append(name if frame is None else f"{_file(frame)}:{frame.f_lineno} {name}")
        coroutine = getattr(coroutine, "cr_await", None)
    return places[::-1]


def _file(frame: FrameType) -> str:
    return os.path.basename(frame.f_code.co_filename)


def _calls(frame: FrameType) -> list[str]:
    stack = reversed(traceback.extract_stack(frame))
    return [f"{os.path.basename(entry.filename)}:{entry.lineno} {entry.name}" for entry in stack]
