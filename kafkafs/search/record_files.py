"""The files of data directories that hold records: logs, and what a broker has left beside them.

A *leftover* is no part of a log: a file in a `-delete`, `-stray` or `-future` directory, or one with `.deleted`,
`.cleaned` or `.swap` at its end. A *remote* file is a segment's log in a tier.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from kafkafs.disk.data_file import DataFile
from kafkafs.errors import KafkafsError, NotFound, Vanished
from kafkafs.format.names import PartitionName, parse_segment_file, parse_transitional_file
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.partition import Partition
from kafkafs.log.segment import Segment
from kafkafs.log.topic_choice import TopicChoice

Tell = Callable[[str], None]
"""Hears a sentence about what could not be looked at."""


class RecordFile(NamedTuple):
    """A file with records. `path` is shown: the data directory as it was given, and the file below it.

    `is_last`: true of the segment that a broker appends to. `remote` is set for a segment in a tier.
    """

    path: str
    name: PartitionName
    directory: DataDirectory
    below: str
    inode: int
    size: int
    is_leftover: bool = False
    is_last: bool = False
    remote: Segment | None = None

    @property
    def key(self) -> tuple[int, int, str]:
        """A value that identifies the file, whatever it is called by now."""
        return id(self.directory), self.inode, self.below if self.remote is not None else ""

    def open(self) -> DataFile | None:
        """The file; None if the broker has deleted or renamed it."""
        with suppress(Vanished, NotFound):
            return self.directory.root.open(self.below, self.inode) if self.remote is None else self.remote.log()
        return None


class NamedDirectory(NamedTuple):
    """A data directory, the path that the caller named it by, and the place of its tier, for paths."""

    directory: DataDirectory
    path: str
    tier: str = ""


def takes(topics: TopicChoice, name: PartitionName) -> bool:
    """True if the directory is of a chosen topic. Kafka cuts long names of deleted and stray directories."""
    is_cut = name.may_be_cut and any(wanted.startswith(name.topic) for wanted in topics.names)
    return topics.takes(name.topic) or is_cut


def record_files(given: Sequence[NamedDirectory], topics: TopicChoice, tell: Tell) -> Iterator[RecordFile]:
    """Yield all files of the chosen topics, each partition's together. A file that vanishes meanwhile is left out."""
    found = [(name, number, each) for number, each in enumerate(given) for name in _names(each, topics)]
    for name, _, each in sorted(found, key=lambda one: (one[0].topic, one[0].partition, one[1], one[0].directory)):
        try:
            if not each.directory.is_tier:
                yield from _on_disk(each, name)
        except NotFound:
            continue  # renamed or deleted: the next look finds its new name
        except KafkafsError as error:
            tell(f"{os.path.join(each.path, name.directory)}: {error}")
    yield from _in_tiers(given, topics, tell)


def _names(given: NamedDirectory, topics: TopicChoice) -> Iterator[PartitionName]:
    return (name for name in given.directory.names_on_disk().values() if takes(topics, name))


def _on_disk(given: NamedDirectory, name: PartitionName) -> list[RecordFile]:
    found = []
    with given.directory.root.scan(name.directory) as entries:
        for entry in entries:
            is_leftover = bool(name.mark) or not entry.name.endswith(".log")
            if _holds_records(entry.name) and (about := _regular(entry)) is not None:
                below = f"{name.directory}/{entry.name}"
                path = os.path.join(given.path, below)
                found.append(RecordFile(path, name, given.directory, below, about.st_ino, about.st_size, is_leftover))
    found.sort(key=lambda each: each.below)
    last = max((each.below for each in found if not each.is_leftover), default="")
    return [each._replace(is_last=each.below == last) for each in found]


def _holds_records(name: str) -> bool:
    parsed = parse_segment_file(name)
    if parsed is None and (transitional := parse_transitional_file(name)) is not None:
        parsed = transitional[0]
    return parsed is not None and parsed.kind == "log"


def _regular(entry: "os.DirEntry[str]") -> os.stat_result | None:
    """The attributes of a regular file; None for everything else, and for what is gone."""
    try:
        return entry.stat(follow_symlinks=False) if entry.is_file(follow_symlinks=False) else None
    except FileNotFoundError:
        return None


def _in_tiers(given: Sequence[NamedDirectory], topics: TopicChoice, tell: Tell) -> Iterator[RecordFile]:
    """The remote segments of partitions, each object once."""
    seen = set[str]()
    for each in given:
        if not each.tier:
            continue
        for directory, name in sorted(each.directory.names().items()):
            if name.mark or not topics.takes(name.topic):
                continue
            try:
                remote = [part for part in each.directory.partition(directory).segments() if part.object is not None]
            except KafkafsError as error:
                tell(f"{directory}: {error}")
                continue
            for segment in remote:
                below = segment.object or f"{directory}/{segment.base_offset}"  # a gap has no object
                if below in seen:
                    continue
                seen.add(below)
                try:
                    found = _remote(each, name, segment, below)
                except KafkafsError as error:
                    tell(f"{os.path.join(each.tier, below)}: {error}")
                else:
                    yield found


def _remote(given: NamedDirectory, name: PartitionName, segment: Segment, below: str) -> RecordFile:
    path = os.path.join(given.tier, segment.object or name.directory)
    return RecordFile(path, name, given.directory, below, 0, max(segment.seen[0], 0), remote=segment)


class LeftOut(NamedTuple):
    """Files with records that a search of logs does not read, and their bytes together."""

    files: int = 0
    size: int = 0

    @classmethod
    def of(cls, sizes: Iterable[int]) -> "LeftOut":
        """Files of these sizes. An empty file does not count."""
        some = [size for size in sizes if size > 0]
        return cls(len(some), sum(some))

    def and_more(self, other: "LeftOut") -> "LeftOut":
        """The sum of two counts."""
        return LeftOut(self.files + other.files, self.size + other.size)


def left_out(directories: Iterable[DataDirectory], topics: TopicChoice) -> LeftOut:
    """Count what is in the marked directories of topics."""
    return LeftOut.of(
        each.size
        for directory in directories
        for name in directory.last_on_disk().values()
        if name.mark and takes(topics, name)
        for each in _listed(directory, name)
    )


def left_beside(partition: Partition) -> LeftOut:
    """Count the leftovers beside the log of a partition that was searched.

    A `.swap` log that stands in for its segment is read, so it does not count.
    """
    if not partition.is_on_disk or not any(".log." in name for name in partition.listing().names):
        return LeftOut()
    return LeftOut.of(_beside(partition))


def _listed(directory: DataDirectory, name: PartitionName) -> list[RecordFile]:
    try:
        return [] if directory.is_tier else _on_disk(NamedDirectory(directory, ""), name)
    except KafkafsError:  # a search of everything reports it
        return []


def _beside(partition: Partition) -> list[int]:
    """The sizes of the leftovers in a partition's directory."""
    try:
        with partition.root.scan(partition.name.directory) as entries:
            found = [entry for entry in entries if ".log." in entry.name and _holds_records(entry.name)]
            sizes = {entry.name: about.st_size for entry in found if (about := _regular(entry)) is not None}
        if any(name.endswith(".swap") for name in sizes):
            for files in partition.listing().segments.values():
                sizes.pop(files["log"].name, None)
    except KafkafsError:
        return []
    return list(sizes.values())
