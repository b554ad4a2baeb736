"""One data directory as the root shows it: what it holds, and whether its disk hangs.

Several data directories are several disks, and the root belongs to all of them: one that hangs must not take the root
with it. So each is looked at by one thread at a time: in a mount by the sweeper's, which a request waits for only for a
moment. While that hangs, or where it fails, what was last known counts. With a single data directory nothing is gained
by that, and a request for names gets the error; the root itself stays, and with it `.kafkafs`.
"""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar, cast

from kafkafs.disk.access import Access, below_ancestors
from kafkafs.disk.ancestors import Ancestors
from kafkafs.disk.blocking import may_block, patience
from kafkafs.disk.cached_value import CachedValue
from kafkafs.errors import Denied, DiskError, Exhausted, KafkafsError, NotFound, StoreError, Vanished
from kafkafs.format.names import PartitionName
from kafkafs.log.data_directory import DataDirectory
from kafkafs.view.node import SpaceUsage

USAGE_S = 30.0  # how long it is good for: half a minute
MEASURE_S = 3.0  # how long it may take

AMONG_S = 0.9  # how long a look is good for beside others: two sweeps
WAIT_S = 0.25  # for the look of another thread, the first time that it takes long
_ASKING = 2  # threads that ask a disk on behalf of a request that may wait for none that hangs

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class KnownPartitions:
    """The answer of one look."""

    names: dict[str, PartitionName]
    access: Access
    mtime_ns: int


class DiskView:
    """One data directory as the root shows it; `alone` if it is the only one. `_looking` is held during a look."""

    def __init__(self, directory: DataDirectory, alone: bool) -> None:
        self.directory = directory
        self._ancestors = Ancestors(directory.path)
        self._alone = alone
        self._looking = threading.Lock()
        self._looked = threading.Condition()
        self._slow = False  # a look takes long; it is not waited for any more
        self._is_swept = False  # something looks again and again: beside others no request does so itself
        options = directory.options
        self._known: CachedValue[KnownPartitions] = CachedValue(
            options.names_fresh_s if alone else AMONG_S, options.clock
        )
        self._known.store(self._look())
        self._usage: CachedValue[SpaceUsage] = CachedValue(USAGE_S, options.clock)
        self._asking = threading.BoundedSemaphore(_ASKING)

    @property
    def _latest(self) -> KnownPartitions:
        return cast(KnownPartitions, self._known.latest)  # there always is one: the first look is made with the view

    def known(self) -> KnownPartitions:
        """The partitions that were found last. They are at most as old as a look is good for, unless the disk hangs."""
        if self._known.fresh() is None and not self._slow:
            may_block()
            if self._is_swept and not self._alone:
                self._await_sweep()
            else:
                self.refresh()
        return self._latest

    def last_known(self) -> KnownPartitions:
        """The partitions that were found last. If the disk fails, or descriptors are short, these are the partitions
        that were known before: the root stays, and `.kafkafs`."""
        with suppress(Denied, DiskError, Exhausted, NotFound, StoreError, Vanished):
            return self.known()
        return self._latest

    def _await_sweep(self) -> None:
        with self._looked:
            self._slow = not self._looked.wait_for(lambda: self._known.fresh() is not None, WAIT_S)

    def refresh(self) -> None:
        """Looks again, unless another thread is at it and does not come back."""
        if not self._looking.acquire(timeout=WAIT_S):
            self._slow = True
            return
        try:
            if self._alone and self._known.fresh() is not None:
                return  # another thread has just looked
            self._known.store(self._look())
            self._slow = False
        except (KafkafsError, OSError):
            if self._alone:
                raise
            self._known.store(self._latest)  # it is asked again a moment later
        finally:
            self._looking.release()
            with self._looked:
                self._looked.notify_all()

    def look_again(self) -> None:
        """Looks now, however fresh the last look is."""
        self._known.expire()
        self.refresh()

    def sweep(self) -> None:
        """Looks again, and lets go of files that are not read. A mount calls it a few times a second."""
        self._is_swept = True
        self.refresh()
        self.directory.sweep()

    @property
    def is_hanging(self) -> bool:
        """True if a mount's sweeper does not come back from this disk, which is one of several."""
        return self._is_swept and not self._alone and self._known.fresh() is None

    def ask(self, question: Callable[[], Answer]) -> Answer | None:
        """Return the answer to a question about this disk, or None while the disk hangs.

        In a mount the answer is None, too, if the store of a bucket fails.
        If a disk begins to hang at this moment, at most `_ASKING` threads wait for it.
        """
        while not self.is_hanging:
            if self._asking.acquire(timeout=WAIT_S):
                try:
                    return question()
                except StoreError:
                    if self._alone or not self._is_swept:
                        raise
                    return None
                finally:
                    self._asking.release()
        return None

    @property
    def lane(self) -> str:
        """The path of the data directory."""
        return os.fspath(self.directory.path)

    def usage(self) -> SpaceUsage:
        """The bytes and the files of all partitions, as the disk holds them; measured twice a minute at most."""
        known = self._usage.fresh()
        if known is None:
            may_block()
            with patience(MEASURE_S):
                known = self._usage.store(self._measure())
        return known

    @property
    def is_replaced(self) -> bool:
        """True if another directory has taken the data directory's place."""
        return self.directory.is_replaced

    @property
    def known_usage(self) -> SpaceUsage | None:
        """The last measured usage, or None before the first."""
        return self._usage.latest

    def _measure(self) -> SpaceUsage:
        """If there are more partitions than can be looked at in time, the rest is taken to be like those that were."""
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
        return SpaceUsage(int(sum(blocks) * 512 * share), int(len(blocks) * share))

    def _look(self) -> KnownPartitions:
        about, own = self.directory.root.attributes_at_once()
        above = (access for _, access in self._ancestors.attributes())
        granted = below_ancestors(own.less_writing(), above)
        return KnownPartitions(self.directory.names(), granted, about.st_mtime_ns)
