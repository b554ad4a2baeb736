"""What every task and every thread is doing, for the log: on SIGUSR1, and when the trio thread stops answering."""

import logging
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import Any

import trio

from kafkafs.fuse.journal import UNLIMITED

log = logging.getLogger(__name__)


def log_all(root: "trio.lowlevel.Task | None") -> None:
    """One line a task and a thread: where it stands, innermost call first."""
    for task in _tasks(root):
        log.warning("task %s: %s", task.name, " < ".join(_awaits(task.coro)), extra=UNLIMITED)
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():
        log.warning("thread %s: %s", names.get(ident, ident), " < ".join(_calls(frame)), extra=UNLIMITED)


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
