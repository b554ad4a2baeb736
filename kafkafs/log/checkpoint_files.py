"""The offsets that a broker keeps beside its partitions, one file for all of a data directory. Source: LogManager.

The broker writes a new file every few seconds and renames it into place, so one that has the same inode, size and time
holds the same.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from kafkafs.disk.blocking import acquired
from kafkafs.disk.cached_value import CachedValue, ValidatedValue
from kafkafs.disk.directory import Directory
from kafkafs.errors import UNREADABLE, CorruptData, NotFound
from kafkafs.format.checkpoints import CheckpointOffsets, parse_offset_checkpoint
from kafkafs.format.names import CLEANER_OFFSETS, HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS, PartitionName
from kafkafs.log.read_options import ReadOptions

_EMPTY_SIZE = len("0\n0\n")
"""Bytes of a checkpoint with no line."""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The offsets that a data directory's checkpoint files hold; a file that cannot be parsed is ignored.

    `unread`: the problems of files that could not be read at all.
    """

    start_offsets: CheckpointOffsets = field(default_factory=dict)
    high_watermarks: CheckpointOffsets = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    unread: frozenset[str] = frozenset()

    def of(self, name: PartitionName) -> tuple[int | None, int | None]:
        """(log start offset, high watermark), None if unknown. A `-delete` or `-stray` directory has none."""
        if name.mark in ("delete", "stray"):
            return None, None
        key = (name.topic, name.partition)
        return self.start_offsets.get(key), self.high_watermarks.get(key)


class CheckpointFiles:
    """The checkpoint files of one data directory. Any thread may read them."""

    def __init__(self, root: Directory, options: ReadOptions, tell: Callable[[str], None]) -> None:
        """`tell` gets a sentence about each new problem of a file."""
        self._root = root
        self._tell = tell
        self._lock = threading.Lock()
        self._known: CachedValue[Checkpoints] = CachedValue(options.names_fresh_s, options.clock)
        self._cleaned: ValidatedValue[CheckpointOffsets] = ValidatedValue()

    def read(self, *, now: bool = False) -> Checkpoints:
        """The current checkpoints (`now`), or those of a moment ago; a file is read again when it was replaced."""
        known = None if now else self._known.fresh()
        if known is not None:
            return known
        with acquired(self._lock):
            stamps = tuple(self._stamp(name) for name in (LOG_STARTS, HIGH_WATERMARKS))
            known = self._known.revalidated(stamps)
            return self._load(stamps) if known is None else known

    def start_of(self, name: PartitionName) -> int | None:
        """The log start offset alone, from one file if nothing is wrong with it: each file in a bucket is a request."""
        stamp = self._stamp(LOG_STARTS)
        if stamp is not None and stamp[1] <= _EMPTY_SIZE:
            return None
        problems: list[str] = []
        known = None if self._known.fresh() else self._parsed(LOG_STARTS, problems, set())
        return self.read().of(name)[0] if known is None or problems else Checkpoints(known).of(name)[0]

    def cleaner_offsets(self) -> CheckpointOffsets | None:
        """The offset up to which each partition is compacted; None if no file gives it. An audit asks once for each
        partition, so the file is parsed once."""
        try:
            stamp = self._stamp(CLEANER_OFFSETS)
            known = self._cleaned.revalidated(stamp)
            if known is None:
                known = parse_offset_checkpoint(self._root.read_whole(CLEANER_OFFSETS))
                self._cleaned.store(known, stamp)
            return known
        except UNREADABLE:
            return None

    def recovery_points(self, problems: list[str], unread: set[str]) -> CheckpointOffsets:
        """Up to where each partition was on the disk. A sentence about a file that is no checkpoint is added to
        `problems`, and to `unread` if the file could not be read."""
        return self._parsed(RECOVERY_POINTS, problems, unread)

    def _load(self, stamps: tuple[object, ...]) -> Checkpoints:
        problems: list[str] = []
        unread: set[str] = set()
        starts, high_watermarks = (self._parsed(name, problems, unread) for name in (LOG_STARTS, HIGH_WATERMARKS))
        before = self._known.latest
        for problem in problems:
            if before is None or problem not in before.problems:
                self._tell(problem)
        # A disk may give next time what it has refused now.
        found = Checkpoints(starts, high_watermarks, tuple(problems), frozenset(unread))
        return self._known.store(found, None if problems else stamps)

    def _stamp(self, name: str) -> tuple[int, int, int] | None:
        try:
            about = self._root.stat(name)
        except NotFound:
            return None
        return about.st_ino, about.st_size, about.st_mtime_ns

    def _parsed(self, name: str, problems: list[str], unread: set[str]) -> CheckpointOffsets:
        try:
            return parse_offset_checkpoint(self._root.read_whole(name))
        except NotFound as error:
            if self._stamp(name) is not None:
                problems.append(f"{name} is ignored: {error}")
        except CorruptData as error:
            problems.append(f"{name} is ignored: {error}")
        except UNREADABLE as error:
            problems.append(f"{name} is ignored: it cannot be read: {error}")
            unread.add(problems[-1])
        return {}
