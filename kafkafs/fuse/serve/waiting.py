"""Reads at the end of a log that wait for what comes next, as `tail -f` does.

However many wait, one task looks after them: each `PULSE_S` it asks every content for more, without blocking, and every
few pulses it looks whether a reader has been sent a signal (see `signals`). A read that ends without data ends with an
errno: EINTR for a signal, EIO where the mount goes away. If the kernel limits the age of a request
(`fs.fuse.max_request_timeout`), a wait ends in time with EINTR. Programs that read in a loop take EINTR as "again".
"""

import errno
import functools
import math
import select
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import outcome
import pyfuse3
import trio

from kafkafs.errors import Exhausted, WouldBlock
from kafkafs.fuse.serve.inodes import OpenFile
from kafkafs.fuse.serve.signals import Inheritors, inheritors, interrupted, stuck

PULSE_S = 0.075
PULSES_PER_SIGNAL_CHECK = 4
PULSES_TO_KIN = 4  # a read that has waited this long learns which processes may have inherited its file
LIMIT = 4096  # waiting reads of one mount; each occupies a request in the kernel

AskInWorker = Callable[[OpenFile, int, int], Awaitable[bytes | memoryview]]


class _WaitingRead:
    """One read that waits. `due` is when it must end because of the kernel's own limit."""

    __slots__ = ("asked", "due", "file", "inheritors", "offset", "pulses", "size", "task")

    def __init__(self, file: OpenFile, offset: int, size: int, due: float) -> None:
        self.file = file
        self.offset = offset
        self.size = size
        self.due = due
        self.task: trio.lowlevel.Task | None = trio.lowlevel.current_task()
        self.asked = False  # a worker thread is looking for more
        self.inheritors = Inheritors()
        self.pulses = 0


class WaitingReads:
    """All waiting reads of a mount."""

    def __init__(self, ask_in_worker: AskInWorker, connection_fd: int | None) -> None:
        self._ask_in_worker = ask_in_worker
        self._waits: dict[_WaitingRead, None] = {}
        self._some = trio.Event()
        self._closed = False
        self._longest_s = longest_wait_s()
        self._connection = select.poll()
        if connection_fd is not None:
            self._connection.register(connection_fd, 0)  # only errors: the kernel has ended the connection

    def __len__(self) -> int:
        return len(self._waits)

    async def more(self, file: OpenFile, offset: int, size: int) -> bytes:
        """Return the bytes that come next at `offset`. Raise FUSEError if none will come."""
        if self._closed:
            raise pyfuse3.FUSEError(errno.EIO)
        if len(self._waits) >= LIMIT:
            raise Exhausted(f"{LIMIT} reads wait already")
        wait = _WaitingRead(file, offset, size, trio.current_time() + self._longest_s)
        self._waits[wait] = None
        self._some.set()
        data: bytes = await trio.lowlevel.wait_task_rescheduled(lambda _: self._leave(wait))
        return data

    def close(self) -> None:
        """Ends all of them with EIO, and those to come."""
        self._closed = True
        for wait in list(self._waits):
            self._wake(wait, outcome.Error(pyfuse3.FUSEError(errno.EIO)))

    async def pulse(self) -> None:
        """Poll for the waiting reads as long as the mount exists."""
        async with trio.open_nursery() as nursery:
            beat = 0
            while True:
                await self._some.wait()
                await trio.sleep(PULSE_S)
                beat += 1
                await self._poll_all(nursery)
                if beat % PULSES_PER_SIGNAL_CHECK == 0:
                    self._poll_for_signals()
                    if self._connection.poll(0):
                        self.close()
                if not self._waits:
                    self._some = trio.Event()

    async def _poll_all(self, nursery: trio.Nursery) -> None:
        for number, wait in enumerate(list(self._waits)):
            self._poll_for_more(wait, nursery)
            if number % 20 == 19:
                await trio.lowlevel.checkpoint()

    def _poll_for_more(self, wait: _WaitingRead, nursery: trio.Nursery) -> None:
        wait.pulses += 1
        if wait.task is None or wait.asked:
            return
        try:
            data = wait.file.content.read(wait.offset, wait.size)
        except WouldBlock:
            wait.asked = True
            nursery.start_soon(self._ask, wait)
        except Exception as error:
            self._wake(wait, outcome.Error(error))
        else:
            if data:
                self._wake(wait, outcome.Value(bytes(data)))  # data for another caller must not be a shared buffer

    async def _ask(self, wait: _WaitingRead) -> None:
        try:
            data = await self._ask_in_worker(wait.file, wait.offset, wait.size)
        except Exception as error:
            self._wake(wait, outcome.Error(error))
        else:
            wait.asked = False
            if data:
                self._wake(wait, outcome.Value(data))

    def _poll_for_signals(self) -> None:
        waited = [wait for wait in self._waits if PULSES_TO_KIN <= wait.pulses < PULSES_TO_KIN * 2]
        openers = {wait: wait.file.opener for wait in waited if wait.file.opener}
        found = inheritors(set(openers.values())) if openers else {}
        for wait, opener in openers.items():
            wait.inheritors = found[opener]
        stuck_now = functools.cache(stuck)  # many may wait who have the same inheritors
        accounted = {wait.file.opener.pid for wait in self._waits if wait.file.opener}
        accounted.update(*(wait.inheritors.heirs for wait in self._waits))
        for wait in list(self._waits):
            own = interrupted(wait.file.opener.pid) if wait.file.opener else None
            heirs = [stuck_now(pid) for pid in wait.inheritors.heirs]
            all_gone = wait.pulses >= PULSES_TO_KIN * 2 and own is None and all(state is None for state in heirs)
            mates = (stuck_now(pid) for pid in wait.inheritors.mates - accounted)
            if own or any(heirs) or all_gone or any(mates) or trio.current_time() > wait.due:
                self._wake(wait, outcome.Error(pyfuse3.FUSEError(errno.EINTR)))

    def _wake(self, wait: _WaitingRead, result: outcome.Maybe[bytes | memoryview]) -> None:
        task = wait.task
        self._leave(wait)
        if task is not None:
            trio.lowlevel.reschedule(task, result)

    def _leave(self, wait: _WaitingRead) -> trio.lowlevel.Abort:
        wait.task = None
        self._waits.pop(wait, None)
        return trio.lowlevel.Abort.SUCCEEDED


def longest_wait_s() -> float:
    """How long the kernel lets a request live, halved to be safe; infinite where it sets no limit."""
    limits = []
    for name in ("default_request_timeout", "max_request_timeout"):
        with suppress(OSError, ValueError):
            limits.append(int(Path("/proc/sys/fs/fuse", name).read_text()))
    return min((limit for limit in limits if limit > 0), default=math.inf) / 2
