"""What the mount's root shows of one data directory: its names, who may enter, when it changed, how much it holds.

Several data directories are several disks, and the root belongs to all of them: one that hangs must not take the root
with it. So each is looked at by one thread at a time; while that hangs, or where it fails, what was last known counts.
With a single data directory nothing is gained by that, and a failure is told.
"""

import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass

from kafkafs.disk.ancestors import Ancestors
from kafkafs.disk.blocking import may_block
from kafkafs.errors import Denied, KafkafsError, NotFound
from kafkafs.format.names import PartitionName
from kafkafs.log.data_directory import DataDirectory
from kafkafs.view.node import Usage
from kafkafs.view.permissions import Access, access, below_ancestors

USAGE_S = 30.0  # how long it is good for: half a minute
MEASURE_S = 3.0  # how long it may take

ALONE_S = 0.1  # how long a look is good for
AMONG_S = 0.9  # the same beside others; a sweep comes earlier, so that hardly a request looks itself
WAIT_S = 0.25  # for the look of another thread, the first time that it takes long


@dataclass(frozen=True, slots=True)
class Known:
    """The answer of one look."""

    names: dict[str, PartitionName]
    access: Access
    mtime_ns: int


class DiskView:
    """One data directory as the root shows it; `alone` where it is the only one."""

    def __init__(self, directory: DataDirectory, alone: bool) -> None:
        self.directory = directory
        self._ancestors = Ancestors(directory.path)
        self._alone = alone
        self._good_for_s = ALONE_S if alone else AMONG_S
        self._looking = threading.Lock()
        self._slow = False  # a look takes long; nobody waits for it any more
        self._known = self._look()
        self._until = time.monotonic() + self._good_for_s
        self.known_usage: Usage | None = None
        self._usage_until = 0.0

    def known(self) -> Known:
        """What there is, at most `good_for_s` old unless the disk fails or hangs."""
        if time.monotonic() >= self._until and not self._slow:
            may_block()
            self.refresh()
        return self._known

    def refresh(self) -> None:
        """Looks again, unless another thread is at it and does not come back."""
        if not self._looking.acquire(timeout=WAIT_S):
            self._slow = True
            return
        try:
            if self._alone and time.monotonic() < self._until:
                return  # another thread has just looked
            self._known = self._look()
            self._slow = False
        except (KafkafsError, OSError):
            if self._alone:
                raise
        finally:
            self._until = time.monotonic() + self._good_for_s
            self._looking.release()

    def sweep(self) -> None:
        """Looks again, and lets go of files nobody reads."""
        self.refresh()
        self.directory.root.sweep()

    @property
    def lane(self) -> str:
        return os.fspath(self.directory.path)

    def usage(self) -> Usage:
        """The bytes and the files of all partitions, as the disk holds them; measured twice a minute at most."""
        if self.known_usage is None or time.monotonic() > self._usage_until:
            may_block()
            self.known_usage = self._measure()
            self._usage_until = time.monotonic() + USAGE_S
        return self.known_usage

    def _measure(self) -> Usage:
        """Of more partitions than can be looked at in time, the rest is taken to be like those that were."""
        blocks: list[int] = []
        names = self.directory.names()
        until, looked_at = time.monotonic() + MEASURE_S, 0
        for name in names:
            looked_at += 1
            with suppress(NotFound, Denied), self.directory.root.scan(name) as entries:
                blocks += [entry.stat(follow_symlinks=False).st_blocks for entry in entries if entry.is_file()]
            if time.monotonic() > until:
                break
        share = len(names) / looked_at if looked_at else 1
        return Usage(int(sum(blocks) * 512 * share), int(len(blocks) * share))

    def _look(self) -> Known:
        root = self.directory.root
        about = root.stat()
        own = access(about, root.acl()).of_directory()
        above = (access(*attributes) for attributes in self._ancestors.attributes())
        return Known(self.directory.names(), below_ancestors(own, above), about.st_mtime_ns)
