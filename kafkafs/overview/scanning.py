"""The files of a data directory, counted: each directory is listed once, and each file asked for its size once.

No log is read. The last entry of each time index is read, and the first entry of a partition's first one. If the broker
did not stop cleanly, or if no other file gives the end of a log, `log_end` reads behind the last index entry.
"""

import os
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from kafkafs.disk.directory import Directory, Inside
from kafkafs.errors import UNREADABLE, Denied, KafkafsError, NotFound
from kafkafs.format.index import OffsetIndex, TimeIndex
from kafkafs.format.names import (
    BROKER_DIRECTORIES,
    GROUPS_TOPIC,
    METADATA_LOG,
    METADATA_TOPIC,
    OFFSET_DIGITS,
    SEGMENT_KINDS,
    TRANSACTIONS_TOPIC,
    PartitionName,
    is_of_data_directory,
    is_of_partition,
    parse_partition_name,
)
from kafkafs.log.data_directory import DataDirectory
from kafkafs.overview.retention import SegmentFacts

_BLOCK = 512
_ENTRY = TimeIndex.entry_size
_READ = ("log", "timeindex")
"""Kinds of files that answers come from."""
_READ_BY_CLUSTER = (METADATA_TOPIC, GROUPS_TOPIC, TRANSACTIONS_TOPIC)
_ALL_MAY_READ = 0o444
_LARGEST_OFFSET = f"{2**63 - 1:0{OFFSET_DIGITS}}"
LEFT = (".deleted", ".cleaned", ".swap")
"""How the names of files end that a broker is to delete, or has not finished."""

Tell = Callable[[str], None]
"""Hears of what could not be looked at."""


class Leftover(NamedTuple):
    """A file or a directory that is no part of a log: its path below the data directory, and its bytes on the disk."""

    path: str
    name: PartitionName | None
    size: int


class LogSummary(NamedTuple):
    """A log's segments in order, where it begins and ends, and its oldest and newest timestamps (None: unknown)."""

    segments: tuple[SegmentFacts, ...]
    start: int
    end: int
    oldest_ms: int | None
    newest_ms: int | None


class CountedPartition(NamedTuple):
    """A partition's directory. `log_start`, `high_watermark` and `recovery_point` are those of the checkpoints; None
    without an entry. `suspects`: sentences about what the names and sizes of files tell of damage. `denied`: paths of
    logs and time indexes that may not be read."""

    name: PartitionName
    size: int
    log_bytes: int
    index_bytes: int
    extent: LogSummary
    log_start: int | None
    high_watermark: int | None
    recovery_point: int | None
    suspects: tuple[str, ...]
    denied: tuple[str, ...]


@dataclass
class DirectoryCount:
    """The counts of a whole data directory. `checkpoints`: sentences about those of its files that cannot be parsed."""

    partitions: list[CountedPartition] = field(default_factory=list)
    leftovers: list[Leftover] = field(default_factory=list)
    checkpoints: list[str] = field(default_factory=list)

    def logs_denied(self, place: object) -> list[str]:
        """A sentence about the logs that may not be read, if there are some. `Cluster` names those of its topics."""
        return self._denied(place, ".log", "their records are unknown", _READ_BY_CLUSTER)

    def times_denied(self, place: object) -> list[str]:
        """A sentence about the time indexes that may not be read, if there are some."""
        return self._denied(place, ".timeindex", "the times of these segments are unknown")

    def _denied(self, place: object, end: str, lacking: str, but: Container[str] = ()) -> list[str]:
        names = [one for each in self.partitions if each.name.topic not in but for one in each.denied]
        paths = [path for path in names if path.endswith(end)]
        if not paths:
            return []
        head = f"{place}: {paths[0]!r}" + (f" and {len(paths) - 1:,} more {end} files" if len(paths) > 1 else "")
        return [f"{head} may not be read: {lacking}; run kafkafs as the owner of the data directory"]


def count(directory: DataDirectory, tell: Tell) -> DirectoryCount:
    """Count a data directory. Report what cannot be read, and leave it out."""
    found, root = DirectoryCount(), directory.root
    ends = _Ends(directory, found.checkpoints, tell)
    for entry in _entries(root, "."):
        name = parse_partition_name(entry.name)
        try:
            if not entry.is_dir(follow_symlinks=False):
                if not is_of_data_directory(entry.name):
                    found.leftovers.append(Leftover(entry.name, None, _blocks(entry.stat(follow_symlinks=False))))
            elif name is not None and not name.mark:
                found.partitions.append(_partition(root, name, ends, found.leftovers))
            elif name is not None or entry.name not in BROKER_DIRECTORIES:
                found.leftovers.append(Leftover(entry.name, name, _size_below(root, entry.name)))
        except (FileNotFoundError, NotFound):
            continue  # the broker has deleted it since
        except KafkafsError as error:
            tell(f"{entry.name} is left out: {error}")
    return found


class _Ends:
    """How the end of each log of a data directory is known."""

    def __init__(self, directory: DataDirectory, damaged: list[str], tell: Tell) -> None:
        self._log_end = directory.log_end
        self.checkpoints = directory.checkpoints.read()
        self._is_clean = directory.is_clean()
        problems, unread = [*self.checkpoints.problems], {*self.checkpoints.unread}
        self.recovered = directory.checkpoints.recovery_points(problems, unread)
        for problem in problems:
            if problem in unread:
                tell(f"{directory.path}: {problem}")
            else:
                damaged.append(problem)

    def of(self, files: "_Files", inside: Inside) -> tuple[int, int | None]:
        """Return the end of a log with segments, and the newest timestamp at its end. `inside`: its directory."""
        last, name = max(files.logs), files.name
        end = max(int(last), files.snapshot, self.recovered.get((name.topic, name.partition), 0))
        is_known = end > int(last) or not files.logs[last][0]
        if is_known and self._is_clean and name.directory != METADATA_LOG:
            return end, None
        return self._log_end(inside, name.directory, int(last))


def _partition(root: Directory, name: PartitionName, ends: _Ends, leftovers: list[Leftover]) -> CountedPartition:
    files = _Files(root, name)
    for entry in _entries(root, name.directory):
        path = f"{name.directory}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            leftovers.append(Leftover(path, name, _size_below(root, path)))
            continue
        with suppress(FileNotFoundError):
            about = entry.stat(follow_symlinks=False)
            if not files.take(entry, about):
                leftovers.append(Leftover(path, name, _blocks(about)))
    start, high_watermark = ends.checkpoints.of(name)
    extent = files.extent(start or 0, ends)
    recovered = ends.recovered.get((name.topic, name.partition))
    return CountedPartition(
        name, files.size, files.log_bytes, files.index_bytes, extent, start, high_watermark, recovered,
        tuple(files.suspects()), tuple(files.denied()),
    )  # fmt: skip


@dataclass
class _Files:
    """The files of a partition's directory. A segment goes by the digits of its name."""

    root: Directory
    name: PartitionName
    size: int = 0
    log_bytes: int = 0
    index_bytes: int = 0
    logs: dict[str, tuple[int, int]] = field(default_factory=dict)  # size, and time of the last write [ms]
    offset_indexes: dict[str, int] = field(default_factory=dict)  # size
    time_indexes: dict[str, int] = field(default_factory=dict)  # size
    doubtful: list[str] = field(default_factory=list)  # names of files that not everybody may read
    snapshot: int = 0  # the largest offset of a producer snapshot's name

    def take(self, entry: "os.DirEntry[str]", about: os.stat_result) -> bool:
        """Count one file; false if it is a leftover."""
        kind, digits, size = SEGMENT_KINDS.get(entry.name[OFFSET_DIGITS:]), entry.name[:OFFSET_DIGITS], _blocks(about)
        if not (digits.isascii() and digits.isdigit() and digits <= _LARGEST_OFFSET):
            kind = None
        if not entry.is_file(follow_symlinks=False) or (kind is None and _is_left(entry.name)):
            return False
        self.size += size
        if kind in _READ and about.st_mode & _ALL_MAY_READ != _ALL_MAY_READ:
            self.doubtful.append(entry.name)
        if kind == "log":
            self.log_bytes += about.st_size
            self.logs[digits] = about.st_size, about.st_mtime_ns // 1_000_000
        elif kind == "snapshot":
            self.snapshot = max(self.snapshot, int(digits))
        elif kind is not None:
            self.index_bytes += min(about.st_size, size)
            if kind == "timeindex":
                self.time_indexes[digits] = about.st_size
            elif kind == "index":
                self.offset_indexes[digits] = about.st_size
        return True

    def denied(self) -> Iterator[str]:
        """Paths of the logs and time indexes that may not be read."""
        if not self.doubtful:
            return
        with self.root.inside(self.name.directory) as inside:
            for file in sorted(self.doubtful):
                try:
                    inside.attributes(file)
                except Denied:
                    yield f"{self.name.directory}/{file}"
                except KafkafsError:
                    continue  # it is gone

    def suspects(self) -> Iterator[str]:
        """Sentences about damage that names and sizes show."""
        last = max(self.logs, default="")
        for digits, (size, _) in self.logs.items():
            index, times = self.offset_indexes.get(digits), self.time_indexes.get(digits)
            if (index or 0) % OffsetIndex.entry_size or (times or 0) % _ENTRY:
                yield f"an index of {digits}.log ends within an entry"
            if digits != last and size and (index is None or times is None):
                yield f"{digits}.log has no {'index' if index is None else 'timeindex'}"
            if digits != last and not size and (index or times):  # compaction leaves empty indexes of an empty log
                yield f"{digits}.log is empty though a later segment follows: a gap in the offsets"
        for digits in self.offset_indexes.keys() - self.logs.keys():
            yield f"{digits}.log is missing though its index is there: a gap in the offsets"

    def extent(self, log_start: int, ends: _Ends) -> LogSummary:
        """The segments with their timestamps, and the log's borders."""
        if not self.logs:
            return LogSummary((), log_start, log_start, None, None)
        oldest: int | None = None
        newest, segments, last = -1, [], max(self.logs)
        with self.root.inside(self.name.directory) as inside:
            end, largest_at_end = ends.of(self, inside)
            for digits in sorted(self.logs):
                size, written_ms = self.logs[digits]
                grows = digits == last and largest_at_end is not None
                largest = _last_time(inside, digits, self.time_indexes.get(digits, 0), grows)
                if oldest is None and largest >= 0:
                    oldest = _timestamp(inside.read(f"{digits}.timeindex", 0, _ENTRY))
                if digits == last and largest_at_end is not None:
                    largest = max(largest, largest_at_end)
                newest = max(newest, largest)
                segments.append(SegmentFacts(int(digits), size, largest if largest >= 0 else written_ms))
        start = max(log_start, segments[0].base_offset)
        return LogSummary(tuple(segments), start, max(end, start), oldest, newest if newest >= 0 else None)


def _is_left(name: str) -> bool:
    return name.endswith(LEFT) or not is_of_partition(name)


def _last_time(inside: Inside, digits: str, size: int, grows: bool) -> int:
    """The timestamp of a time index's last entry; -1 without one. One that `grows` mostly ends with zeros: room that
    the broker has made."""
    if size < _ENTRY:
        return -1
    try:
        end = b"" if grows else inside.read(f"{digits}.timeindex", (size // _ENTRY - 1) * _ENTRY, _ENTRY)
        if len(end) == _ENTRY and any(end):
            return _timestamp(end)
        file = inside.open(f"{digits}.timeindex")
        return TimeIndex(file.read, file.size, int(digits)).last().timestamp
    except UNREADABLE:
        return -1  # as without an index


def _timestamp(entry: bytes) -> int:
    return int.from_bytes(entry[:8], "big", signed=True)


def _entries(root: Directory, path: str) -> Iterator["os.DirEntry[str]"]:
    with root.scan(path) as entries:
        yield from entries


def _size_below(root: Directory, path: str) -> int:
    """The bytes on the disk of all files below a directory."""
    size, waiting = 0, [path]
    while waiting:
        below = waiting.pop()
        for entry in _entries(root, below):
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{below}/{entry.name}")
                continue
            with suppress(FileNotFoundError):
                size += _blocks(entry.stat(follow_symlinks=False))
    return size


def _blocks(about: os.stat_result) -> int:
    return about.st_blocks * _BLOCK
