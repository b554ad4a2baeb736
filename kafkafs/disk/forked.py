"""Processes forked from this one, with all that it has open: each does what it is sent, one thing after the other.

They live no longer than the one that asked for them, which hears them without a thread: one that the system refuses
would be missed by nobody but the user, who waits.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar

from kafkafs.disk.system_calls import signal_at_parents_end
from kafkafs.errors import Exhausted

Task = TypeVar("Task")
Message = TypeVar("Message")
Serve = Callable[[Task, Callable[[Message], None]], None]
"""The function that a process runs on a task, and the function that gets its results."""

_LEFT = (BrokenPipeError, ConnectionResetError)
"""The errors of a write to a pipe if the process at its other end is gone."""


class ForkedProcess(Generic[Task, Message]):
    """A process that calls `serve` with each task that it is given."""

    def __init__(self, serve: Serve[Task, Message]) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_served, args=(theirs, serve, os.getpid()), daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # there for good: its parent hears of Ctrl-C
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def give(self, task: Task) -> None:
        """Has it do that next; Exhausted if it was ended by others."""
        with _alive():
            self.pipe.send(task)

    def received(self) -> Message:
        """Wait for the next message of the process. An exception that ended a task is raised here, and Exhausted as by
        `give`."""
        with _alive():
            message: Message | Exception = self.pipe.recv()
        if isinstance(message, Exception):
            raise message
        return message

    def end(self) -> None:
        """At once, whatever it does."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


def answered(
    processes: Sequence[ForkedProcess[Task, Message]], timeout_s: float | None = None
) -> list[ForkedProcess[Task, Message]]:
    """Return the processes that have sent a result, or are gone. Wait until there is one, or for that long."""
    ready = wait([each.pipe for each in processes], timeout_s)
    return [each for each in processes if each.pipe in ready]


@contextmanager
def _alive() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError):  # the latter also in the middle of what it had begun to tell
        raise Exhausted("a worker process was killed, probably for lack of memory") from None


def _served(pipe: Connection, serve: Serve[Task, Message], parent: int) -> None:
    """The main function of the new process."""
    signal_at_parents_end(signal.SIGKILL)
    with suppress(EOFError, *_LEFT):
        while os.getppid() == parent:
            task = pipe.recv()
            try:
                serve(task, pipe.send)
            except _LEFT:
                raise
            except Exception as error:  # memory that is not there, or a bug: the parent has the words for it
                pipe.send(error)
