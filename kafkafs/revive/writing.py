"""New logs and the files beside them, written from memory: where there is much to write, by a process of its own.

Python runs one thread of a process at a time, and a thread that makes files waits for its turn at each system call. For
1,000 logs of 1.1 MB, that took as long as to read and check them. So a forked process writes, from memory that both
processes share, while this process reads and checks. Few bytes, this process writes itself.
"""

import mmap
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, Self

from kafkafs.disk.forked import ForkedProcess
from kafkafs.revive.copying import write_past
from kafkafs.revive.place import NewDirectory
from kafkafs.revive.target import Target, errors_named

SLOT, SLOTS = 2 << 20, 16
"""Bytes of a part of the shared memory, and the number of parts. A log is written a part at a time."""

TOGETHER, MOST_TOGETHER = 3 << 20, 6
"""Bytes and tasks that the process gets at once: each time it wakes up, it may take this one's place on the processor.
"""

FEW = 16 << 20
"""To start a process takes longer than to write this many bytes."""


class WriteTask(NamedTuple):
    """The first `size` bytes of a slot go into a log, at the position `at`. The last task of a log has `mtime_ns`, the
    time of the log's last change, and the names and bytes of the files `beside` it."""

    partition: int
    log: str
    at: int
    slot: int
    size: int
    mtime_ns: int | None = None
    beside: tuple[tuple[str, bytes], ...] = ()


class _TaskRunner:
    """Does the tasks, in this process or in the one that was forked."""

    def __init__(self, place: NewDirectory) -> None:
        self.memory = memoryview(mmap.mmap(-1, SLOTS * SLOT))  # shared with forked processes
        self._place, self._partition, self._target = place, 0, Target(place.path, place.descriptor)
        self._begun, self._own = dict[str, int](), -1
        """The descriptors of logs that are not whole yet, and of the directory that the forked process has opened."""

    def begin(self, partition: int, target: Target) -> None:
        """The next tasks are those of another partition."""
        self.close()
        self._partition, self._target = partition, target

    def close(self) -> None:
        """Close the logs that were not finished."""
        while self._begun:
            os.close(self._begun.popitem()[1])

    def serve(self, tasks: Sequence[WriteTask], send: Callable[[list[int]], None]) -> None:
        """Do tasks of one partition in the forked process, and send the numbers of the slots that are free again."""
        if tasks[0].partition != self._partition:
            if self._own >= 0:
                os.close(self._own)
            target = self._place.unfinished()
            self._own = target.descriptor
            self.begin(tasks[0].partition, target)
        for task in tasks:
            self.write(task)
        send([task.slot for task in tasks])

    def write(self, task: WriteTask) -> None:
        """Do a task."""
        target, start = self._target, task.slot * SLOT
        descriptor = self._begun.get(task.log, -1)
        if descriptor < 0:
            descriptor = self._begun[task.log] = target.create(task.log)
        with errors_named(target.path, task.log):
            write_past(descriptor, [self.memory[start : start + task.size]], task.at)
            if task.mtime_ns is not None:
                os.utime(descriptor, ns=(task.mtime_ns, task.mtime_ns))
        if task.mtime_ns is not None:
            os.close(self._begun.pop(task.log))
            for name, content in task.beside:
                target.make(name, content)


class Writing:
    """Writes the logs of one partition after the other, to the end of the context."""

    def __init__(self, place: NewDirectory, size: int) -> None:
        """`size`: about how many bytes there are to write."""
        self._hand, self._partition = _TaskRunner(place), 0
        self._free, self._given, self._under_way = list(range(SLOTS)), list[WriteTask](), 0
        self._process: ForkedProcess[Sequence[WriteTask], list[int]] | None = None
        if size > FEW and len(os.sched_getaffinity(0)) > 1:
            with suppress(OSError):  # if the system has no room for another process, this one writes
                self._process = ForkedProcess(self._hand.serve)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.end()
        self._hand.close()

    def begin(self, target: Target) -> None:
        """The next logs are those of the partition that is made in this directory. It is `place.unfinished` until they
        are finished."""
        self.finish()
        self._partition += 1
        self._hand.begin(self._partition, target)
        self._free = list(range(SLOTS))

    def log(self, name: str) -> "NewLog":
        """A new log of the partition."""
        return NewLog(self, self._partition, name)

    def slot(self) -> tuple[int, memoryview]:
        """The number of a free slot, and its memory. Waits until one is free. An error of an earlier task is raised."""
        while not self._free:
            self._wait()
        number = self._free.pop()
        return number, self._hand.memory[number * SLOT : (number + 1) * SLOT]

    def give(self, task: WriteTask) -> None:
        """Have a task done. Its slot is free behind that."""
        if self._process is None:
            self._hand.write(task)
            self._free.append(task.slot)
            return
        self._given.append(task)
        if len(self._given) == MOST_TOGETHER or sum(each.size for each in self._given) >= TOGETHER:
            self._send()

    def finish(self) -> None:
        """All tasks are done when this returns. An error of one is raised."""
        while self._given or self._under_way:
            self._wait()

    def _send(self) -> None:
        if self._process is not None and self._given:
            self._process.give(self._given)
            self._under_way, self._given = self._under_way + len(self._given), []

    def _wait(self) -> None:
        self._send()
        if self._process is not None:
            freed = self._process.received()
            self._under_way -= len(freed)
            self._free += freed


class NewLog:
    """A new log. Its bytes are in memory that is read again at once."""

    def __init__(self, writing: Writing, partition: int, name: str) -> None:
        self._writing, self._partition, self._name = writing, partition, name
        self._at = self._size = 0
        self._slot, self._memory = writing.slot()

    def append(self, data: bytes | memoryview) -> None:
        """Append bytes to the log. The caller may change the bytes afterwards."""
        taken = 0
        while taken < len(data):
            if self._size == SLOT:
                self._writing.give(WriteTask(self._partition, self._name, self._at, self._slot, SLOT))
                self._at, self._size = self._at + SLOT, 0
                self._slot, self._memory = self._writing.slot()
            count = min(SLOT - self._size, len(data) - taken)
            self._memory[self._size : self._size + count] = memoryview(data)[taken : taken + count]
            self._size, taken = self._size + count, taken + count

    def finish(self, mtime_ns: int, beside: tuple[tuple[str, bytes], ...]) -> None:
        """Finish the log: it was last changed at `mtime_ns`, and the files `beside` belong to it."""
        self._writing.give(WriteTask(self._partition, self._name, self._at, self._slot, self._size, mtime_ns, beside))
