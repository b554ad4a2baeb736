"""A data directory (one entry of `log.dirs`): which partitions there are. It knows `Partition`, and none knows it."""

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kafkafs.disk.blocking import acquired
from kafkafs.disk.cached_value import CachedValue, LruCache
from kafkafs.disk.data_file import is_settled
from kafkafs.disk.data_paths import BucketPath, bucket_of
from kafkafs.disk.directory import Directory, Inside
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.disk.roots import root_at
from kafkafs.disk.whereabouts import hint, hint_in_bucket
from kafkafs.errors import UNREADABLE, Denied, KafkafsError, NotFound, UsageError, Vanished
from kafkafs.format.checkpoints import parse_partition_metadata
from kafkafs.format.java_properties import parse_properties
from kafkafs.format.names import (
    CLEAN_SHUTDOWN,
    LARGEST_NODE,
    META_PROPERTIES,
    NODE_KEYS,
    PARTITION_METADATA,
    PartitionName,
    parse_partition_name,
)
from kafkafs.format.tiers.tier_names import TierPartition
from kafkafs.log.checkpoint_files import CheckpointFiles
from kafkafs.log.disks_together import DisksTogether
from kafkafs.log.log_end import read_log_end
from kafkafs.log.partition import NO_TIER, Partition
from kafkafs.log.read_options import ReadOptions, TierSource
from kafkafs.log.recognition import is_kafkas

if TYPE_CHECKING:
    from kafkafs.log.tier.remote_partitions import RemotePartitions
    from kafkafs.log.tier.tier_directory import TierDirectory

logger = logging.getLogger(__name__)

DEFAULT_OPTIONS = ReadOptions()

_NODE_DIGITS = 10


class DataDirectory:
    """One data directory, held open. Nothing in it is opened until it is asked for.

    `_lock` is held while its names are listed and stored; `_partitions` has a lock of its own.
    """

    def __init__(
        self,
        path: Path,
        options: ReadOptions,
        indexes: Directory | None = None,
        lone_tier: "TierDirectory | None" = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """`indexes` holds rebuilt indexes (`kafkafs reindex`), which then count instead of the broker's own.
        `lone_tier` is what is at `path` where that is no broker's directory but a tier. `tell` gets sentences about
        damaged checkpoints, which are logged without it.

        Raises OSError if `path` is no directory that may be read.
        """
        self.path = path
        self.options = options
        self.root = root_at(path, options)
        self.indexes = indexes
        self.checkpoints = CheckpointFiles(self.root, options, tell or partial(logger.warning, "%s: %s", path))
        self._lock = threading.Lock()
        self._names: CachedValue[dict[str, PartitionName]] = CachedValue(options.names_fresh_s, options.clock)
        self._partitions: LruCache[Partition] = LruCache()
        self._together = DisksTogether(self)
        self._lone_tier = lone_tier
        self._remote: RemotePartitions | None = None
        self._all: tuple[object, object, dict[str, PartitionName]] = (None, None, {})
        if options.tiered is not None:
            from kafkafs.log.tier import remote_partitions, tier  # only a tier takes what they import

            opened = tier.Tier(options.tiered, options)
            self._remote = remote_partitions.RemotePartitions(opened, self.root, self.checkpoints, self._together)
        self._unserved: frozenset[str] = frozenset()
        self.is_replaced = False
        """True if another directory had taken its place at the last look."""

    @staticmethod
    def trouble_of_tier(source: TierSource) -> str:
        """Return why the tier does not answer, or "". UsageError if nothing known is there."""
        from kafkafs.log.tier.tier import Tier  # a mount of no tier has no use for what it imports

        return Tier(source, ReadOptions()).check()

    @property
    def is_tier(self) -> bool:
        """True if it is a tier by itself, and not a broker's directory."""
        return self._lone_tier is not None

    @property
    def fresh_until(self) -> float:
        """Until when the names count as those of now, by the clock of the options."""
        return self._names.fresh_until

    @property
    def unserved(self) -> list[str]:
        """Sentences about entries that are named like a partition and are not served, as of the last look."""
        return sorted(self._unserved)

    def names(self) -> dict[str, PartitionName]:
        """The partitions, by directory name: those of the disk, and those that only the tier has. If directories are
        read together, the first of them has the partitions that only the tier has."""
        disk = self.names_on_disk()
        lost = self._lost_now()
        if not lost:
            return disk
        if self._all[0] is not disk or self._all[1] is not lost:
            found = {name: partition.name for name, partition in lost.items() if name not in disk}
            self._all = disk, lost, {**disk, **found}
        return self._all[2]

    def _lost_now(self) -> "Mapping[str, TierPartition]":
        return {} if self._remote is None or not self._together.is_first(self) else self._remote.lost.now()

    def is_lost(self, directory: str) -> bool:
        """True for a partition that only the tier has."""
        return directory not in self.names_on_disk() and directory in self._lost_now()

    def wait_for_tier_names(self) -> None:
        """Waits until `names` knows the partitions that only a tier in a bucket has. Unanswered if the store does not
        tell them."""
        if self._remote is not None and self._together.is_first(self):
            self._remote.lost.wait()

    def names_on_disk(self) -> dict[str, PartitionName]:
        """The partition directories, by directory name."""
        names = self._names.fresh()
        if names is not None:
            return names
        with acquired(self._lock):
            self._check_not_replaced()
            stamp = self.root.stat().st_mtime_ns
            names = self._names.revalidated(stamp)
            if names is None:
                settled = is_settled(stamp)
                names, unserved = self._list()
                for entry in sorted(unserved - self._unserved):
                    logger.warning("%s: %s and not served", self.path, entry)
                self._unserved = unserved
                self._names.store(names, stamp if settled else None)
                lost = {} if self._remote is None else self._remote.lost.latest
                self._partitions.keep_only(lambda name: name in names or name in lost)
            return names

    def _check_not_replaced(self) -> None:
        """Vanished if another directory has taken this one's place, as long as it has.

        Another one's partitions may have the same names, and nothing of what is known holds for them: a mount serves
        the directory that it was given, or none. Open files stay open.
        """
        was, self.is_replaced = self.is_replaced, self.root.is_replaced()
        if self.is_replaced:
            if not was:
                logger.error("%s was moved away, and another directory put in its place: mount again", self.path)
            raise Vanished(f"{str(self.path)!r} was moved away, and another directory put in its place: mount again")
        if was:
            logger.warning("%s is in its place again", self.path)

    def _list(self) -> tuple[dict[str, PartitionName], frozenset[str]]:
        """The partitions; and what else is named like one, but for regular files, with what it is."""
        if self._lone_tier is not None:
            return self._lone_tier.names(), self._lone_tier.unserved
        names, unserved = {}, set()
        with self.root.scan() as entries:
            for entry in entries:
                name = parse_partition_name(entry.name)
                if name is None:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    names[entry.name] = name
                elif entry.is_symlink():
                    unserved.add(f"{entry.name} is a symbolic link")
                elif not entry.is_file(follow_symlinks=False):
                    unserved.add(f"{entry.name} is a special file")
        return names, frozenset(unserved)

    def partition(self, directory: str) -> Partition:
        """The partition in the directory of that name; NotFound if it does not exist."""
        name = self.names_on_disk().get(directory)
        if name is not None:
            on_disk = name
            return self._partitions.get(
                directory, lambda: self._made(on_disk), lambda it: it.is_on_disk or self.is_tier
            )
        lost = self._lost_now().get(directory)
        if lost is None and parse_partition_name(directory) is not None:
            self.wait_for_tier_names()  # in a process that has not asked a bucket yet
            lost = self._lost_now().get(directory)
        if lost is None:
            raise NotFound(f"there is no partition directory {directory!r}")
        return self._partitions.get(directory, lambda: self.lost_partition(lost), lambda it: not it.is_on_disk)

    def _made(self, name: PartitionName) -> Partition:
        if self._lone_tier is not None:
            part = self._lone_tier.part(name)
            return Partition(name, self.root, self.checkpoints, self.options, self.indexes, part, is_on_disk=False)
        remote = NO_TIER if self._remote is None else self._remote.of(name)
        return Partition(name, self.root, self.checkpoints, self.options, self.indexes, remote)

    def lost_partition(self, partition: TierPartition) -> Partition:
        """A partition that has no directory here, as the tier that was named has it. A broker's checkpoints still list
        it: of several brokers, those count that have the largest log start."""
        key = partition.topic, partition.partition
        known = [each.checkpoints for each in self._together]
        checkpoints = max(known, key=lambda each: each.read().start_offsets.get(key, -1))
        remote = NO_TIER if self._remote is None else self._remote.of_lost(partition, checkpoints)
        return Partition(partition.name, self.root, checkpoints, self.options, remote=remote, is_on_disk=False)

    def topic_id(self, directory: str) -> str | None:
        """The topic id of a partition, from its partition.metadata, or from the tier if the directory is a tier."""
        if self._lone_tier is not None:
            return self._lone_tier.topic_id(directory)
        if self.is_lost(directory):
            return self._lost_now()[directory].topic_id or None
        return self.topic_id_on_disk(directory)

    def topic_id_on_disk(self, directory: str) -> str | None:
        """The topic id by the partition's partition.metadata; None if it tells none."""
        try:
            return parse_partition_metadata(self.root.read_whole(f"{directory}/{PARTITION_METADATA}", 1 << 16))
        except UNREADABLE:
            return None

    def meta_properties(self) -> dict[str, str]:
        """Parse `meta.properties`. Raise NotFound if it does not exist."""
        return parse_properties(self.root.read_whole(META_PROPERTIES).decode("utf-8", "replace"))

    def cluster_id(self) -> str | None:
        """The id of the directory's cluster; None if no file gives it."""
        try:
            return self.meta_properties().get("cluster.id")
        except UNREADABLE:
            return None

    def node_id(self) -> int | None:
        """The id of the directory's node; None if no file gives it."""
        try:
            properties = self.meta_properties()
        except UNREADABLE:
            return None
        word = next((properties[key] for key in NODE_KEYS if key in properties), "")
        is_number = word.isascii() and word.isdigit() and len(word) <= _NODE_DIGITS
        return int(word) if is_number and int(word) <= LARGEST_NODE else None

    def log_end(self, inside: Inside, name: str, base: int) -> tuple[int, int | None]:
        """The end of a log by its last segment alone: see `log_end`. `inside`: the partition's directory, open."""
        return read_log_end(self.root, inside, name, base)

    def is_clean(self) -> bool:
        """True if the broker was stopped in an orderly way, as of now: it may start meanwhile."""
        try:
            self.root.stat(CLEAN_SHUTDOWN)
        except (NotFound, Denied):
            return False
        return True

    def read_together_with(self, directories: Sequence["DataDirectory"]) -> None:
        """Read these directories together: one may have the metadata of another's tier."""
        self._together.replace(directories)

    def check_tier(self) -> str:
        """See `Tier.check`; empty without a tier."""
        return "" if self._remote is None else self._remote.tier.check()

    def last_on_disk(self) -> dict[str, PartitionName]:
        """The names as `names_on_disk` has them; the names that were known before if the disk fails."""
        try:
            return self.names_on_disk()
        except (OSError, *UNREADABLE):
            return self._names.latest or {}

    def place_of(self, directory: str) -> str:
        """The path from here of what a partition's owner, mode and times are those of: of a tier its top."""
        return "." if self._lone_tier is not None or self.is_lost(directory) else directory

    def sweep(self) -> None:
        """Lets go of files that are not asked for, or that were deleted, as `Directory.sweep`: rebuilt indexes too."""
        self.root.sweep()
        if self.indexes is not None:
            self.indexes.sweep()


def open_data_directory(
    path: Path, options: ReadOptions = DEFAULT_OPTIONS, tell: Callable[[str], None] | None = None
) -> DataDirectory:
    """The data directory at `path`; UsageError says why it is none. `tell`: see `DataDirectory`."""
    index_dir = options.index_dir
    try:
        indexes = LocalDirectory(os.fspath(index_dir), options) if index_dir is not None else None
    except OSError as error:
        raise UsageError(f"the index directory {str(index_dir)!r} cannot be opened: {error.strerror}") from error
    try:
        directory = DataDirectory(path, options, indexes, tell=tell)
        is_a_brokers = is_kafkas(directory.root)
    except (FileNotFoundError, NotADirectoryError) as error:
        what = "does not exist" if isinstance(error, FileNotFoundError) else "is not a directory"
        instead = near(path) or "; name a Kafka data directory, one of the broker's log.dirs"
        raise UsageError(f"{str(path)!r} {what}{instead}") from error
    except PermissionError as error:
        raise UsageError(f"{str(path)!r} may not be read; run as its owner or as root") from error
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be opened: {error.strerror}") from error
    except NotFound as error:
        raise UsageError(f"{error!s}; name the copy of a data directory") from error
    if is_a_brokers:
        return directory
    if bucket_of(path) and (instead := near(path)):
        raise UsageError(f"{str(path)!r} is no copy of a data directory{instead}")
    from kafkafs.log.tier.tier_directory import open_tier  # a place that is no data directory may be a tier

    tier = open_tier(path, options)
    if tier is not None:
        return DataDirectory(path, replace(options, tiered=None), indexes, tier)
    raise UsageError(
        f"{str(path)!r} is not a Kafka data directory: it has neither meta.properties, nor checkpoints, nor"
        f" <topic>-<partition> directories with segments in them{near(path)}"
    )


def near(path: Path) -> str:
    """Return the data directory to name instead of `path`, as the end of a sentence. Return "" if nothing near it
    tells."""
    if address := bucket_of(path):
        root = DataDirectory(path, DEFAULT_OPTIONS).root
        return hint_in_bucket(root, address, lambda each: _is_data_directory(BucketPath(each)))
    return hint(path, _is_data_directory)


def _is_data_directory(path: Path) -> bool:
    try:
        return is_kafkas(DataDirectory(path, DEFAULT_OPTIONS).root)
    except (OSError, KafkafsError):
        return False
