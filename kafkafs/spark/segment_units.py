"""A job's unit of work: one segment, named by what a task can be sent, and asked at one moment of its life.

A segment can be deleted, compacted away, or cut and written again while a job reads it. All that a question reads of it
is of one generation; where that ends under the question, the question is asked again of what is there then.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from kafkafs.disk.data_paths import BucketPath
from kafkafs.errors import Denied, DiskError, KafkafsError, NotFound, Vanished
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import TierSource
from kafkafs.log.reading import ask_again
from kafkafs.log.segment import BatchRun, Damage, Segment
from kafkafs.log.topic_choice import ALL_TOPICS, TopicChoice
from kafkafs.tables.choice import Replicas
from kafkafs.tables.locations import Tiered, as_listed, data_directories, data_directory, every_location

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class SegmentLook:
    """A segment as one look found it. `segment` remembers nothing of earlier looks but where its log ends."""

    partition: Partition
    log: Log
    segment: Segment

    @property
    def size(self) -> int:
        """Bytes of the `.log` at that moment, those behind the last valid batch among them."""
        if self.segment.next_base is None and self.log.tail is not None:
            return self.log.tail.size
        return self.segment.seen[0]

    def runs(self) -> Iterator[BatchRun | Damage]:
        """All batches of the log up to its last valid one, in order; Vanished once it is another log."""
        return self.of(self.segment)

    def of(self, segment: Segment) -> Iterator[BatchRun | Damage]:
        """All batches of another segment of this log."""
        return segment.walk_whole(self.log.walk_end(segment))

    def check(self) -> None:
        """Vanished if the segment's files are not those any more that were looked at. The broker renames a log
        first, so what was read of its indexes before is of the same generation."""
        try:
            self.segment.check_log()
        except (Denied, DiskError):
            return  # the caller got the error
        self.segment.files.check_names()


@dataclass(frozen=True, slots=True)
class SegmentUnit:
    """A segment by name: its data directory, its partition's directory, its base offset. `weight`: bytes of its log, of
    a remote one as many as are stored."""

    data_directory: Path
    partition_directory: str
    base_offset: int
    weight: int
    tiered: Tiered | None = None

    def __reduce__(self) -> tuple[object, ...]:
        path = as_listed(self.data_directory, self.partition_directory, self.tiered)
        return SegmentUnit, (path, self.partition_directory, self.base_offset, self.weight, self.tiered)

    def ask(self, question: Callable[[SegmentLook], Answer]) -> Answer | None:
        """The answer of one moment; None if the broker has deleted the segment.

        Vanished if it is cut or replaced again and again while it is read.
        """
        try:
            return ask_again(lambda: self._answer(question), lambda: self.partition.look_again())
        except NotFound:
            return None
        except Vanished:
            which = f"the segment {self.base_offset} of {self.partition_directory}"
            raise Vanished(f"{which} changes again and again while it is read") from None

    @property
    def partition(self) -> Partition:
        """The segment's partition, as an object of the process that asks."""
        return data_directory(self.data_directory, self.tiered).partition(self.partition_directory)

    def _answer(self, question: Callable[[SegmentLook], Answer]) -> Answer | None:
        found = self._look(self.partition)
        if found is None:
            return None
        answer = question(found)
        found.check()
        return answer

    def _look(self, partition: Partition) -> SegmentLook | None:
        log = partition.log()
        segment = _found(log.segments, self.base_offset)
        if segment is None:
            return None
        fresh = segment.reopened()  # forget what an earlier job in this process learned
        if segment.next_base is None and log.tail is not None:
            fresh.remember_end(log.tail.last, log.tail.size, log.tail.mtime_ns)
        return SegmentLook(partition, log, fresh)


def _found(segments: Sequence[Segment], base_offset: int) -> Segment | None:
    at = bisect_left(segments, base_offset, key=lambda segment: segment.base_offset)
    return next((segment for segment in segments[at : at + 1] if segment.base_offset == base_offset), None)


def fetch_soon(segment: Segment, kinds: Iterable[str]) -> None:
    """Have the first bytes of files of these kinds fetched, if each read is a request. Their readers get the errors."""
    for kind in kinds:
        with suppress(KafkafsError):
            segment.files.open(kind).fetch_soon()


def begin(unit: SegmentUnit) -> None:
    """Have the first bytes of a unit's files fetched, if they are in a bucket."""
    if not isinstance(unit.data_directory, BucketPath):
        return
    with suppress(KafkafsError):
        segment = _found(unit.partition.segments(), unit.base_offset)
        if segment is not None:
            fetch_soon(segment, segment.listed)


def segments_of(
    paths: Iterable[Path], topics: TopicChoice = ALL_TOPICS, tiered: Tiered | None = None, *, refused: bool = True
) -> list[SegmentUnit]:
    """A unit for each segment of the topics in data directories, whatever its partition's directory is called. Denied
    where one may not be read; without `refused` it has none, and who asks names it."""
    units = []
    for directory in data_directories(paths, tiered):
        directory.wait_for_tier_names()
        for name in sorted(name for name, parsed in directory.names().items() if topics.takes(parsed.topic)):
            with nullcontext() if refused else suppress(Denied):
                units += _units(directory.path, name, tiered)
    return units


def live_segments(
    paths: Iterable[Path], replicas: Replicas, topics: TopicChoice = ALL_TOPICS, source: TierSource | None = None
) -> list[SegmentUnit]:
    """A unit for each segment of the topics' live partitions, of each partition's one replica."""
    locations = sorted(every_location(paths, replicas, source).values(), key=lambda each: each.name)
    chosen = (each for each in locations if topics.takes(each.name.topic))
    return [unit for each in chosen for unit in _units(each.data_directory, str(each.name), each.tiered)]


def _units(path: Path, name: str, tiered: Tiered | None) -> list[SegmentUnit]:
    try:
        segments = data_directory(path, tiered).partition(name).segments()
    except (NotFound, Vanished):
        return []
    return [SegmentUnit(path, name, each.base_offset, each.listed["log"].size, tiered) for each in segments]
