"""One internal partition, read once and then followed: each look hands on only what has come since the last one.

Everything that was read stays true while the log only grows. If a segment was compacted, cut or deleted, or if the log
start has moved, the partition starts again. Sentences tell about unreadable records: as many sentences as a person
reads, and the number of the others.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import numpy as np

from kafkafs.errors import UNREADABLE, CorruptData, Denied, DiskError, NotFound
from kafkafs.format.batch import Batches
from kafkafs.format.messages.topic_records import InternalTopic, Problem, Unreadable
from kafkafs.format.records import Records, Refusal, decode
from kafkafs.log.lineage import Change, place_behind, went_on
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.reading import ask_again
from kafkafs.log.segment import BatchRun, Damage, Segment

MOST = 100


class Problems:
    """Sentences in the order in which they were found, each once."""

    def __init__(self) -> None:
        self._sentences: dict[str, None] = {}
        self._records: dict[tuple[str, str], list[int]] = {}  # place, what: how many, and the first one's offset
        self._left_out = 0

    def add(self, sentence: str) -> None:
        """One more sentence."""
        if sentence in self._sentences:
            return
        if len(self._sentences) < MOST:
            self._sentences[sentence] = None
        else:
            self._left_out += 1

    @property
    def lost(self) -> str:
        """The first sentence about what is lost or cannot be read; "" if nothing but single records are wrong."""
        return next(iter(self._sentences), "")

    def add_record(self, place: str, offset: int, what: str) -> None:
        """One more record of which the same is wrong: thousands of them are one sentence."""
        known = self._records.get((place, what))
        if known is not None:
            known[0] += 1
        elif len(self._records) < MOST:
            self._records[place, what] = [1, offset]
        else:
            self._left_out += 1

    def __iter__(self) -> Iterator[str]:
        yield from self._sentences
        for (place, what), (count, first) in self._records.items():
            more = f", and so are {count - 1:,} records after it" if count > 1 else ""
            yield f"{place}: offset {first}: {what}{more}"
        if self._left_out:
            yield f"{self._left_out:,} more problems like these"


class Replay(ABC):
    """The result of a partition's records. `problems`: what could not be read."""

    def __init__(self) -> None:
        self.problems = Problems()
        self._forget()

    def reset(self, log: Log) -> int:
        """Forgets all: the offset from which `log` is to be read."""
        self.problems = Problems()
        self._forget()
        return log.start_offset

    def report(self, problem: str) -> None:
        """Something could not be read, in a sentence."""
        self.problems.add(problem)

    @abstractmethod
    def _forget(self) -> None:
        """Make the result that of no record."""

    @abstractmethod
    def add(self, records: Records, batches: Batches) -> None:
        """Some records in order, control records too; their column `batch` is a row of `batches`."""


def until(moment_ms: int | None, replay: Replay) -> Replay:
    """`replay`, or if a moment is given only the records that a partition had then: all before its first batch with a
    later record, as `kafkafs revive --until` ends it."""
    return replay if moment_ms is None else _ReplayUntil(moment_ms, replay)


class _ReplayUntil(Replay):
    def __init__(self, moment_ms: int, replay: Replay) -> None:
        self._replay, self._moment_ms = replay, moment_ms
        super().__init__()

    def reset(self, log: Log) -> int:
        """See `Replay`."""
        self._forget()
        return self._replay.reset(log)

    def _forget(self) -> None:
        self._is_over = False

    def add(self, records: Records, batches: Batches) -> None:
        """See `Replay`."""
        past = np.flatnonzero(batches["max_timestamp"][records.rows["batch"]] > self._moment_ms)
        kept = 0 if self._is_over else int(past[0]) if len(past) else len(records)
        self._is_over |= len(past) > 0
        if kept:
            self._replay.add(Records(records.data, records.rows[:kept]), batches)

    def report(self, problem: str) -> None:
        """See `Replay`."""
        if not self._is_over:
            self._replay.report(problem)


Result = TypeVar("Result", bound=Replay, covariant=True)


class Following(Generic[Result]):
    """One internal partition, read once and then followed. Not for several threads at once. `unread`: why the last
    `look` could not read it; "" if it could."""

    def __init__(self, partition: Partition, replay: Result, options: ReadOptions, until_ms: int | None = None) -> None:
        """`until_ms`: the moment up to which it is read, if one is given."""
        self.partition = partition
        self.replay = replay
        self.unread = ""
        self._fed = until(until_ms, replay)
        self._options = options
        self._read: Log | None = None

    def look(self) -> Result:
        """The result as of now, as far as the partition can be read."""
        try:
            self.catch_up()
            self.unread = ""
        except UNREADABLE as error:
            self.unread = f"{self.partition.name.directory} cannot be read: {error}"
        return self.replay

    def problems(self) -> Iterator[str]:
        """Sentences about all that could not be read."""
        yield from self.replay.problems
        yield from [self.unread] if self.unread else []

    def catch_up(self) -> None:
        """Reads what has come. NotFound if the directory is gone."""
        ask_again(self._catch_up, self._look_again)

    def _look_again(self) -> None:
        self._read = None
        self.partition.look_again()

    def _catch_up(self) -> None:
        log, before = self.partition.log(), self._read
        if log is before:
            return
        self._read = None  # until all of it is read
        place = None
        if before is not None and before.segments and went_on(before, log).change in (Change.GROWN, Change.ROLLED):
            place = place_behind(before, log)
        if place is None:
            first = self._fed.reset(log)
            begin = max(first, log.start_offset)  # a snapshot may be ahead of the log
            for segment in log.segments_from(begin) if begin <= log.end_offset else ():  # unreadable: reported
                self._segment(log, segment, log.walk_segment(segment, first), first)
        else:
            number, start = place
            for at, segment in enumerate(log.segments[number:]):
                runs = log.walk_segment(segment, segment.base_offset if at else start)
                self._segment(log, segment, runs, log.start_offset)
        self._read = log

    def _segment(self, log: Log, segment: Segment, runs: Iterator[BatchRun | Damage], first: int) -> None:
        name = f"{self.partition.name.directory}/{segment.log_name}"
        try:
            segment.log()  # or else: of a last one that may not be read the log's end is the beginning
            for item in runs:
                if isinstance(item, Damage):
                    self._fed.report(
                        f"{name}: no valid batch in {item.size} bytes at {item.position}: offsets {item.base_offset} to"
                        f" {item.last_offset} are missing"
                    )
                    continue
                for piece in decode(item.data, item.position, item.rows, self._options.max_batch, self._options.memory):
                    if isinstance(piece, Refusal):
                        at = int(item.rows["base_offset"][piece.batch])
                        self._fed.report(f"{name}: the batch at offset {at} is left out: {piece.error}")
                    else:
                        self._fed.add(piece.between(first, log.end_offset), item.rows)
                    del piece  # and with it a large batch's memory, before the next is unpacked
        except (Denied, NotFound, DiskError, CorruptData) as error:
            self._fed.report(f"{name} cannot be read: {error}")


def follow(
    known: Following[Result] | None,
    partition: Partition,
    make: Callable[[], Result],
    options: ReadOptions,
    until_ms: int | None = None,
) -> Following[Result]:
    """`known` if it follows that partition, else a new one with another result."""
    if known is not None and known.partition is partition:
        return known
    return Following(partition, make(), options, until_ms)


def problem_of(record: Unreadable) -> str:
    """The reason why a record cannot be read, in words that follow the record's offset."""
    if record.problem is Problem.UNKNOWN_TYPE:
        return f"it is of type {record.number}, which only a newer Kafka knows"
    kind = "the metadata" if record.number is None else f"type {record.number}"
    if record.topic is InternalTopic.CLUSTER_METADATA:
        return f"it is no record of {kind}"
    return f"it is no record of {kind} ({record.reason.removesuffix(' due to: null.')})"
