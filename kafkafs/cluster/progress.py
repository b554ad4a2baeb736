"""How far groups are behind the ends of partitions: in records, and in time.

The time is that between the record that a group reads next and the newest one of its partition. Offsets are looked up
together, partition by partition, each in the log whose end offsets are shown.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from kafkafs.cluster.group_records import Commit
from kafkafs.cluster.row_lines import known
from kafkafs.cluster.rows import NO_OFFSET, Ends
from kafkafs.disk.directory import Directory
from kafkafs.errors import UNREADABLE, Denied, DiskError, NotFound
from kafkafs.log.log import Log
from kafkafs.log.look import Look
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.tiered import log_start

PlaceOf = tuple[str, int]
"""A topic and the number of a partition."""


class CommitProgress(NamedTuple):
    """A committed offset in its partition. `next_timestamp` is that of the record that is read next. `lag_ms` tells how
    much older that record is than the newest one. None is unknown, or there is no such record."""

    ends: Ends
    next_timestamp: int | None = None
    lag_ms: int | None = None


class GroupProgress:
    """Answers for partitions that `partition` finds. For one thread at a time.

    `unreadable` has a sentence for each partition that is here and of whose offsets one could not be looked up.
    """

    def __init__(self, partition: Callable[[str, int], Partition | None], options: ReadOptions) -> None:
        self._partition = partition
        self._options = options
        self._newest: WeakKeyDictionary[Log, int | None] = WeakKeyDictionary()
        self.unreadable: dict[PlaceOf, str] = {}

    def ends(self, topic: str, number: int) -> Ends:
        """Tell where a partition begins and ends, as far as these disks know."""
        try:
            partition = self._partition(topic, number)
            if partition is None:
                return Ends()
            return partition.answer(lambda log: _ends(log, partition.root))
        except UNREADABLE:
            return Ends()

    def of(self, commits: Sequence[Commit]) -> list[CommitProgress]:
        """Tell where each of these offsets is."""
        by_place: defaultdict[PlaceOf, set[int]] = defaultdict(set)
        for commit in commits:
            offsets = by_place[commit.topic, commit.partition]
            if commit.producer_id is None and commit.offset != NO_OFFSET:
                offsets.add(commit.offset)
        found = {place: self._progress(*place, offsets) for place, offsets in by_place.items()}
        return [_standing(commit, *found[commit.topic, commit.partition]) for commit in commits]

    def _progress(self, topic: str, number: int, offsets: Iterable[int]) -> tuple[Ends, Mapping[int, CommitProgress]]:
        """The ends of a partition, and where each of these offsets is."""
        try:
            partition = self._partition(topic, number)
            if partition is None:
                return Ends(), {}
            ends, standings, refusal = partition.ask_as(
                self._options, lambda look: self._in_log(partition.root, look, offsets)
            )
        except UNREADABLE as error:
            ends, standings, refusal = Ends(), {}, str(error)
        if refusal:
            self.unreadable[topic, number] = f"{topic}-{number}: the lag is not certain: {refusal}"
        return ends, standings

    def ends_then(self, topic: str, number: int, times: Iterable[int]) -> Mapping[int, int | None]:
        """For each time, find the log end that a broker had then: see `Look.offsets_after`. A time is missing if
        the partition is not here or cannot be read, None if the answer may be in a tier that is not read.

        Any thread may call this.
        """
        partition = self._partition(topic, number)
        try:
            if partition is None:
                return {}
            return partition.ask_as(self._options, lambda look: _ends_in(partition.root, look, times))
        except UNREADABLE:
            return {}

    def _in_log(
        self, root: Directory, look: Look, offsets: Iterable[int]
    ) -> tuple[Ends, Mapping[int, CommitProgress], str]:
        """The ends, the standing of each offset that is known, and a sentence if the newest record or
        that at an offset cannot be read."""
        log = look.log
        ends = _ends(log, root)
        end = log.end_offset if ends.high_watermark is None else min(ends.high_watermark, log.end_offset)
        times: dict[int, int | None] = {each: None for each in offsets if each == end}
        behind = [each for each in offsets if each < end]
        if behind:
            times |= look.first_timestamps(behind)
        refusal, newest = "", None
        try:
            log.check_end()
            if any(time is not None for time in times.values()):
                newest = self._newest_of(look)
        except (Denied, DiskError, NotFound) as error:
            refusal = str(error)
        unread = min((each for each in behind if each not in times), default=None)
        if not refusal and unread is not None:
            refusal = f"the record that is read next at offset {unread} is damaged or lost"
        return ends, {each: _at(each, times[each], newest, ends) for each in times}, refusal

    def _newest_of(self, look: Look) -> int | None:
        """Return the largest timestamp of a log's records, as in `info.json`."""
        log = look.log
        if log not in self._newest:
            found = look.newest_data()
            is_in_log = found is not None and found.base_offset >= log.start_offset
            self._newest[log] = found.timestamp if found is not None and is_in_log else None
        return self._newest[log]


def _ends_in(root: Directory, look: Look, times: Iterable[int]) -> Mapping[int, int | None]:
    found, start = look.offsets_after(times), look.log.start_offset
    if log_start(look.log, root) >= start:
        return found
    return {time: None if offset == start else offset for time, offset in found.items()}


def _at(offset: int, time: int | None, newest: int | None, ends: Ends) -> CommitProgress:
    """Tell where an offset is. `time` is the timestamp of the record that is read next; None without such a record."""
    if offset < (ends.first_here or 0):
        lag_ms = None
    elif time is None:
        lag_ms = 0
    else:
        lag_ms = None if newest is None or known(time) is None else max(newest - time, 0)
    return CommitProgress(ends, None if time is None else known(time), lag_ms)


def _standing(commit: Commit, ends: Ends, found: Mapping[int, CommitProgress]) -> CommitProgress:
    """The standing of a commit: one that is pending has only ends."""
    unknown = CommitProgress(ends)
    return unknown if commit.producer_id is not None else found.get(commit.offset, unknown)


def _ends(log: Log, root: Directory) -> Ends:
    return Ends(log_start(log, root), log.high_watermark, log.known_end, first_here=log.start_offset)
