"""The one answer to "is this still the log that I began with?": `went_on`, and `difference` for another process.

Offsets and positions do not tell. After a truncation other records take the same offsets, and a topic that was deleted
and created again has the same name. A witness decides: a file that truncation would have cut or deleted.

- The last segment is the witness while its last batch is at its position.
- An empty last segment is a witness by its existence, since truncation to below its base offset deletes it. The closed
  segment before it is a witness if it did not change.
- If compaction or retention took the witnesses away, topic id and leader epochs tell, as they tell followers: in the
  same topic, a leader epoch that still reaches the old log end lost nothing. If the checkpoint has forgotten the epoch
  because the log starts behind it now, it proves nothing: a broker would let its own followers go on, but `went_on`
  answers OTHER.

If a log was cut to below its start, no file shows it before the next checkpoint of log starts. Readers miss the
records that arrive there until then.
Source: UnifiedLog.truncateTo, LeaderEpochFileCache.endOffsetFor.
"""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from kafkafs.disk.data_file import DataFile
from kafkafs.errors import CorruptData, Denied, DiskError, NotFound, Vanished
from kafkafs.format.batch import DELETE_HORIZON, Batch
from kafkafs.format.checkpoints import LeaderEpoch, parse_leader_epochs, parse_partition_metadata
from kafkafs.format.names import LEADER_EPOCHS, PARTITION_METADATA
from kafkafs.log.batch_runs import Start
from kafkafs.log.log import Log
from kafkafs.log.segment import Segment, is_at_its_place

_UNKNOWN = -1


class Change(Enum):
    """How a log went on. The first two changed no byte of the older look."""

    GROWN = "grown"  # batches were appended to the last segment, or nothing happened
    ROLLED = "rolled"  # the last segment was closed, and others follow it
    COMPACTED = "compacted"  # the same log: compaction, retention or a deletion of records changed a part of it
    OTHER = "other"  # it was cut or created again, or there is no proof that it was not


class Verdict(NamedTuple):
    """The answer of `went_on`: at or behind the offset `same_from`, everything is as the older look saw it."""

    change: Change
    same_from: int


class Witness:
    """A look at a log, with what tells later whether a log is the same one: its topic id, its last leader epoch, and
    the files of its last segments. They are held open, so that no other file can get their inodes."""

    def __init__(self, log: Log, before: "Witness | None" = None) -> None:
        """`before` is a witness of an earlier look at the same log: its topic id is not read again."""
        self.log = log
        self.topic_id: str | None = topic_id(log) if before is None else before.topic_id
        self.epoch = last_leader_epoch(log)
        self.held = {segment: _hold(segment) for segment in _witnesses(log)}


def went_on(before: Log | Witness, now: Log) -> Verdict:
    """Compare a look at a log with a later look at the same directory.

    A `Witness` proves more than a `Log`: if the last segment is gone, only a `Witness` can tell COMPACTED from OTHER.
    """
    witness, log = (before, before.log) if isinstance(before, Witness) else (None, before)
    if log is now:
        return Verdict(Change.GROWN, log.start_offset)
    if not _may_continue(log, now):
        return Verdict(Change.OTHER, now.end_offset)
    if not log.segments:
        return Verdict(Change.GROWN, now.start_offset)
    is_there = _is_still_there(log, witness, now)
    if is_there:
        return _as_of_its_segments(log, now)
    if is_there is None and witness is not None and _reaches(witness, now):
        return Verdict(Change.COMPACTED, log.end_offset)
    return Verdict(Change.OTHER, now.end_offset)


def place_behind(before: Log, now: Log) -> tuple[int, Start] | None:
    """The number of the segment, and the place in it, at which `now` goes on behind the end of `before`.

    None if the segment is gone. The place means nothing if `went_on` answers OTHER.
    """
    if before.tail is None or (segment := _namesake(before.segments[-1], now)) is None:
        return None
    return now.number_at(segment.base_offset), Start(before.tail.position, before.tail.end_offset)


def _may_continue(log: Log, now: Log) -> bool:
    if now.directory_inode != log.directory_inode or now.end_offset < log.end_offset:
        return False
    return now.start_offset >= log.start_offset or not _starts_behind_its_end(log)


def _witnesses(log: Log) -> tuple[Segment, ...]:
    """The segments that truncation would have changed, the last one first."""
    has_last = log.tail is not None and log.tail.last is not None
    return log.segments[-1:] if has_last else log.segments[:-3:-1]


def _is_still_there(log: Log, witness: Witness | None, now: Log) -> bool | None:
    """True if the log's end is still in `now`, False if it was cut, None if its witnesses are gone."""
    last = log.tail.last if log.tail is not None else None
    for segment in _witnesses(log):
        later = _namesake(segment, now)
        if later is None or later.listed["log"].inode != segment.listed["log"].inode:
            continue
        if last is not None:
            return _grew_at_once(log, now) or is_at_its_place(later.log(), last)
        if segment.next_base is not None:
            is_there = segment.listed["log"] == later.listed["log"]
        elif witness is not None:
            is_there = witness.held[segment] is not None
        else:
            is_there = len(log.segments) == 1  # nothing was read of an empty log
        if is_there:
            return True
    return None


def _grew_at_once(log: Log, now: Log) -> bool:
    """True if the partition itself found the end of `now` from that of `log`: it has looked at the last batch."""
    if log.tail is None or now.tail is None or log.segments[-1] is not now.segments[-1]:
        return False
    return now.tail.grew_from(log.tail)


def _namesake(segment: Segment, now: Log) -> Segment | None:
    """The segment of `now` with the same base offset."""
    later = now.segments[now.number_at(segment.base_offset)] if now.segments else None
    return later if later is not None and later.base_offset == segment.base_offset else None


def _as_of_its_segments(log: Log, now: Log) -> Verdict:
    """The verdict about a log whose end is still in `now`."""
    closed = len(log.segments) - 1
    same_from = log.start_offset
    if log.segments[:closed] != now.segments[:closed]:
        for segment in reversed(log.segments[:closed]):
            later = _namesake(segment, now)
            if later is not segment and (later is None or later.listed["log"] != segment.listed["log"]):
                assert segment.next_base is not None
                same_from = max(segment.next_base, now.start_offset)
                return Verdict(Change.COMPACTED, same_from)
    if now.start_offset != log.start_offset:
        return Verdict(Change.COMPACTED, now.start_offset)
    is_last = now.segments[-1].base_offset == log.segments[-1].base_offset
    return Verdict(Change.GROWN if is_last else Change.ROLLED, same_from)


def _reaches(witness: Witness, now: Log) -> bool:
    """True if the same topic's leader epoch lasted at least until the offset at which the log ended before."""
    log = witness.log
    if witness.epoch == _UNKNOWN:
        return now.start_offset >= log.end_offset
    if witness.topic_id not in (None, topic_id(now)):
        return False
    epochs = leader_epochs(now)
    later = [one.start_offset for one in epochs if one.epoch > witness.epoch]
    is_known = any(one.epoch == witness.epoch for one in epochs)
    return is_known and min(later, default=now.end_offset) >= log.end_offset


class Lineage:
    """One reader's place in the life of a log."""

    def __init__(self, log: Log) -> None:
        self._witness = Witness(log)

    def follow(self, log: Log) -> Verdict:
        """Go on with `log`, a later look at the same directory. Raise Vanished if it is another log, or was cut."""
        verdict = went_on(self._witness, log)
        if verdict.change is Change.OTHER:
            raise Vanished(f"{log.name.directory} was truncated or created again while it was read; open it again")
        if log is not self._witness.log:
            self._witness = Witness(log, self._witness)
        return verdict


def _starts_behind_its_end(log: Log) -> bool:
    """True if the checkpoint has a start that the log itself does not reach."""
    return log.tail is None or log.tail.end_offset < log.start_offset


def _hold(segment: Segment) -> DataFile | None:
    try:
        return segment.hold()
    except Denied:
        return None


def last_batch(log: Log) -> Batch | None:
    """The last batch of the log; None if it has none, or if it is unknown."""
    known = log.tail.last if log.tail is not None else None
    return known or _batch_at(log, log.end_offset - 1)


def _batch_at(log: Log, offset: int) -> Batch | None:
    """The batch that has the offset, or the next one; None if there is no such batch, or if it is unknown."""
    try:
        _, found = log.locate(offset)
    except NotFound:
        return None
    return found if isinstance(found, Batch) else None


def last_leader_epoch(log: Log) -> int:
    """The leader epoch of the log's last batch; -1 if it has none, or an older format."""
    last = last_batch(log)
    return _UNKNOWN if last is None else last.leader_epoch


def leader_epochs(log: Log) -> tuple[LeaderEpoch, ...]:
    """The leader epochs of the log's checkpoint, the oldest first; empty if it is missing or cannot be read."""
    try:
        return parse_leader_epochs(log.segments[-1].read_small_file(LEADER_EPOCHS))
    except (IndexError, NotFound, Denied, CorruptData):
        return ()


def topic_id(log: Log) -> str | None:
    """The id of the log's topic; None if it is not known: Kafka writes it since 2.8, and a moment after it made the
    directory."""
    try:
        return parse_partition_metadata(log.segments[-1].read_small_file(PARTITION_METADATA))
    except (IndexError, NotFound, Denied, DiskError, CorruptData):
        return None


class BatchMark(NamedTuple):
    """A batch as an identity remembers it. `cleaned`: compaction has passed over it, or may have.

    If compaction has removed the batch, `base_offset` is the one behind `last_offset`, and only `leader_epoch` counts.
    """

    base_offset: int
    last_offset: int
    leader_epoch: int
    max_timestamp: int  # [ms]
    crc: int
    cleaned: bool


@dataclass(frozen=True, slots=True)
class LogIdentity:
    """The identity of a log, in a form that outlives a process: for a reader that goes on another day. None for an id
    or a batch that it had not.

    A topic's id tells, where there is one (Kafka writes it since 2.8); and two batches do, the first and the last of
    what was read, as long as the log still has them. Compaction may rewrite a batch: it keeps first and last offset and
    leader epoch, and what is left of its records is not later than what was there. If a batch is gone, the checkpoint
    of leader epochs tells of a cut: no later epoch begins before the batch. Source: Cleaner.buildRetainedRecordsInto,
    MemoryRecords.filterTo.
    """

    topic_id: str | None = None
    first: BatchMark | None = None
    last: BatchMark | None = None

    def extended_by(self, later: "LogIdentity") -> "LogIdentity":
        """The identity of all that was read: of what this one stands for, and behind it what `later` stands for."""
        return LogIdentity(later.topic_id or self.topic_id, self.first or later.first, later.last or self.last)

    @classmethod
    def of(cls, log: Log, start: int, end: int) -> "LogIdentity":
        """The identity of the offsets [start, end) of a log; of their bytes only two headers are read."""
        return cls(topic_id(log), _mark(log, start), _mark(log, end - 1))

    @classmethod
    def before(cls, log: Log, end: int) -> "LogIdentity":
        """The identity of a log for a reader that has read up to `end`: the topic id, and the batch in front of `end`.
        If compaction has removed that batch, its leader epoch decides instead."""
        topic, last = topic_id(log), _mark(log, end - 1)
        if last is None or last.base_offset >= end:
            last = None if topic is None else _mark_without_batch(log, end)  # without an id, an older batch tells more
        return cls(topic, last=last)

    def difference(self, log: Log) -> str | None:
        """The reason why a log is not the known one, in words behind its name; None if nothing says so."""
        if self.is_another_topic(log):
            return f"was deleted and created again: its topic id was {self.topic_id} and is {topic_id(log)}"
        for mark in filter(None, (self.first, self.last)):
            if mark.last_offset >= log.end_offset:
                return f"ends at offset {log.end_offset} now, and reached to {mark.last_offset}: it was cut or replaced"
            if mark.last_offset >= log.start_offset and not _holds(log, mark):
                return f"has another batch at offset {mark.base_offset} than it had: it was cut or replaced"
            later = (each.start_offset for each in leader_epochs(log) if each.epoch > mark.leader_epoch >= 0)
            if (start := min(later, default=log.end_offset)) <= mark.last_offset:
                return f"was cut at offset {start}, where a later leader epoch begins, and has grown again since"
        return None

    def is_beginning(self, log: Log) -> bool:
        """True if a shorter log is the beginning of the known one: the same topic and first batch, and no later leader
        epoch than the known last batch has."""
        if self.last is None or last_leader_epoch(log) > self.last.leader_epoch:
            return False
        first = self.first if self.first is not None and self.first.last_offset < log.end_offset else None
        return LogIdentity(self.topic_id, first).difference(log) is None

    def is_another_topic(self, log: Log) -> bool:
        """True if the topic was deleted and created again: both ids are known, and they differ."""
        return self.topic_id is not None and topic_id(log) not in (None, self.topic_id)


def _mark(log: Log, offset: int) -> BatchMark | None:
    batch = _batch_at(log, offset)
    if batch is None:
        return None
    has_gaps = batch.count < batch.last_offset - batch.base_offset + 1
    cleaned = has_gaps or batch.is_wrapped or (batch.magic >= 2 and bool(batch.attributes & DELETE_HORIZON))
    return BatchMark(batch.base_offset, batch.last_offset, batch.leader_epoch, batch.max_timestamp, batch.crc, cleaned)


def _mark_without_batch(log: Log, end: int) -> BatchMark | None:
    """A mark of no batch, in front of `end`, with the leader epoch there. None if that is unknown."""
    epochs = [each.epoch for each in leader_epochs(log) if each.start_offset < end]
    return BatchMark(end, end - 1, max(epochs), -1, 0, True) if epochs else None


def _holds(log: Log, mark: BatchMark) -> bool:
    """True if the log has the batch, or a cleaned rest of it; also if it is unknown, or if the mark has no batch."""
    if mark.base_offset > mark.last_offset:
        return True
    now = _mark(log, mark.last_offset)
    if now is None or now.base_offset > mark.last_offset:
        return True  # damage; or nothing of it was kept
    if now == mark:
        return True
    is_later = now.max_timestamp > mark.max_timestamp and not mark.cleaned  # another replica may be less clean
    return (now.cleaned or mark.cleaned) and now[:3] == mark[:3] and not is_later
