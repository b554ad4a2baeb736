"""A data directory (one entry of `log.dirs`): which partitions there are, and their checkpoints."""

import logging
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from kafkafs.disk.blocking import acquired
from kafkafs.disk.data_file import is_settled
from kafkafs.disk.directory import Directory
from kafkafs.disk.lru_cache import LruCache
from kafkafs.errors import CorruptData, Exhausted, KafkafsError, NotFound, UsageError, WouldBlock
from kafkafs.format.checkpoints import TopicPartition, parse_offset_checkpoint
from kafkafs.format.names import PartitionName, parse_partition_name, parse_segment_file, parse_transitional_file
from kafkafs.log.partition import Partition

logger = logging.getLogger(__name__)

FRESH_S = 0.1
"""For how long a look at the names, or at the checkpoints, counts as now."""

LOG_START = "log-start-offset-checkpoint"
HIGH_WATERMARK = "replication-offset-checkpoint"
_MARKS_OF_PARTITION = ("partition.metadata", "leader-epoch-checkpoint")
_MARKS_OF_KAFKA = ("meta.properties", LOG_START, HIGH_WATERMARK, "recovery-point-offset-checkpoint")


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The offsets that a data directory's checkpoint files hold; a file that cannot be parsed counts as absent."""

    start_offsets: dict[TopicPartition, int] = field(default_factory=dict)
    high_watermarks: dict[TopicPartition, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def of(self, name: PartitionName) -> tuple[int | None, int | None]:
        """(log start offset, high watermark), None where unknown. A `-delete` or `-stray` directory has none."""
        if name.mark in ("delete", "stray"):
            return None, None
        key = (name.topic, name.partition)
        return self.start_offsets.get(key), self.high_watermarks.get(key)


class DataDirectory:
    """One data directory, held open. Nothing in it is opened until somebody asks."""

    def __init__(self, path: Path, indexes: Directory | None = None) -> None:
        """`indexes` holds rebuilt indexes (`kafkafs reindex`), which then count instead of the broker's own."""
        self.path = path
        self.root = Directory(os.fspath(path))
        self.indexes = indexes
        self._lock = threading.Lock()
        self._names: dict[str, PartitionName] = {}
        self._names_stamp: tuple[int, bool] | None = None
        self._partitions: LruCache[Partition] = LruCache()
        self.fresh_until = 0.0  # for so long the names count as now
        self._checkpoints = Checkpoints()
        self._checkpoint_stamps: tuple[object, ...] = ()
        self._checkpoints_until = 0.0
        self._strangers: frozenset[str] = frozenset()

    def names(self) -> dict[str, PartitionName]:
        """The partition directories, by directory name."""
        if time.monotonic() < self.fresh_until:
            return self._names
        with acquired(self._lock):
            stamp = self.root.stat_at_once().st_mtime_ns
            if self._names_stamp != (stamp, True):
                settled = is_settled(stamp)
                self._names, strangers = self._list()
                for stranger in sorted(strangers - self._strangers):
                    logger.warning("%s: %s and not served", self.path, stranger)
                self._strangers = strangers
                self._names_stamp = (stamp, settled)
                self._partitions.keep_only(self._names.__contains__)
            self.fresh_until = time.monotonic() + FRESH_S
            return self._names

    def _list(self) -> tuple[dict[str, PartitionName], frozenset[str]]:
        """The partitions; and what else is named like one, but for regular files, with what it is."""
        names, strangers = {}, set()
        with self.root.scan() as entries:
            for entry in entries:
                name = parse_partition_name(entry.name)
                if name is None:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    names[entry.name] = name
                elif entry.is_symlink():
                    strangers.add(f"{entry.name} is a symbolic link")
                elif not entry.is_file(follow_symlinks=False):
                    strangers.add(f"{entry.name} is a special file")
        return names, frozenset(strangers)

    def partition(self, directory: str) -> Partition:
        """The partition in the directory of that name; NotFound where there is none."""
        name = self.names().get(directory)
        if name is None:
            raise NotFound(f"there is no partition directory {directory!r}")
        return self._partitions.get(directory, lambda: Partition(self, name))

    def checkpoints(self, *, anew: bool = False) -> Checkpoints:
        """The checkpoints as they are now (`anew`) or were a moment ago; a file is read again when it was replaced."""
        if not anew and time.monotonic() < self._checkpoints_until:
            return self._checkpoints
        with acquired(self._lock):
            stamps = tuple(self._stamp(name) for name in (LOG_START, HIGH_WATERMARK))
            if stamps != self._checkpoint_stamps:
                problems: list[str] = []
                found = Checkpoints(
                    self._read_checkpoint(LOG_START, problems),
                    self._read_checkpoint(HIGH_WATERMARK, problems),
                    tuple(problems),
                )
                self._checkpoint_stamps = stamps if not problems else ()  # what a disk refused, it may give next time
                for problem in problems:
                    if problem not in self._checkpoints.problems:
                        logger.warning("%s: %s", self.path, problem)
                self._checkpoints = found
            self._checkpoints_until = time.monotonic() + FRESH_S
            return self._checkpoints

    def _stamp(self, name: str) -> tuple[int, int, int] | None:
        try:
            about = self.root.stat_at_once(name)
        except NotFound:
            return None
        return about.st_ino, about.st_size, about.st_mtime_ns

    def _read_checkpoint(self, name: str, problems: list[str]) -> dict[TopicPartition, int]:
        try:
            return parse_offset_checkpoint(self.root.read_whole(name))
        except NotFound as error:
            if self._stamp(name) is not None:
                problems.append(f"{name} counts as absent: {error}")
        except (WouldBlock, Exhausted):
            raise
        except CorruptData as error:
            problems.append(f"{name} counts as absent: {error}")
        except KafkafsError as error:
            problems.append(f"{name} counts as absent: it cannot be read: {error}")
        return {}


def open_data_directory(path: Path, index_dir: Path | None = None) -> DataDirectory:
    """The data directory at `path`; UsageError says why it is none."""
    try:
        indexes = Directory(os.fspath(index_dir)) if index_dir is not None else None
    except OSError as error:
        raise UsageError(f"the index directory {str(index_dir)!r} cannot be opened: {error.strerror}") from error
    try:
        directory = DataDirectory(path, indexes)
        with directory.root.scan() as scanned:
            entries = {entry.name for entry in scanned}
    except FileNotFoundError as error:
        raise UsageError(
            f"{str(path)!r} does not exist; name a Kafka data directory, one of the broker's log.dirs"
        ) from error
    except NotADirectoryError as error:
        raise UsageError(
            f"{str(path)!r} is no directory; name a Kafka data directory, one of the broker's log.dirs"
        ) from error
    except PermissionError as error:
        raise UsageError(f"{str(path)!r} may not be read; run as its owner or as root") from error
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be opened: {error.strerror}") from error
    if not entries.isdisjoint(_MARKS_OF_KAFKA) or any(_holds_partition(directory, name) for name in directory.names()):
        return directory
    hint = " (it looks like one partition; name the directory above it)" if parse_partition_name(path.name) else ""
    raise UsageError(
        f"{str(path)!r} is no Kafka data directory: it has neither meta.properties, nor checkpoints, nor"
        f" <topic>-<partition> directories with segments in them{hint}"
    )


def _holds_partition(directory: DataDirectory, name: str) -> bool:
    """Whether any of Kafka's files is in there: `dbus-1` and `python-3` are names of other people's directories."""
    try:
        with directory.root.scan(name) as entries:
            return any(
                entry.is_file(follow_symlinks=False)
                and (
                    entry.name in _MARKS_OF_PARTITION
                    or parse_segment_file(entry.name) is not None
                    or parse_transitional_file(entry.name) is not None
                )
                for entry in entries
            )
    except (OSError, KafkafsError):
        return False  # what cannot be looked into tells nothing
