"""Whether a log still is the one that a reader began with: for readers that go on with what a log gets next.

Offsets and positions do not tell. After a truncation other records take the same offsets, and a topic that was deleted
and created again has the same name. What tells is a witness, a file that truncation would have cut or taken away: the
last segment, while its last batch stands where it stood. One that has just begun and is empty tells by being there,
since truncation to below its base offset deletes it, and so does the closed one before it by being as it was. Where
compaction or retention took them away, topic id and leader epochs tell, as they tell followers: of the same topic, an
epoch that reaches as far as it did lost nothing. One that the checkpoint has forgotten, since the log starts behind it
now, proves nothing: a broker would let its own followers go on, here that is another log. Nothing tells of a log that
was cut to below its start, as long as the checkpoint has yet to learn of it: what comes up there until it does, its
readers miss.
Source: UnifiedLog.truncateTo, LeaderEpochFileCache.endOffsetFor.
"""

from dataclasses import dataclass
from typing import NamedTuple

from kafkafs.disk.data_file import DataFile
from kafkafs.errors import CorruptData, Denied, DiskError, NotFound, Vanished
from kafkafs.format.batch import DELETE_HORIZON, Batch
from kafkafs.format.checkpoints import LeaderEpoch, parse_leader_epochs, parse_partition_metadata
from kafkafs.format.names import LEADER_EPOCHS, PARTITION_METADATA
from kafkafs.log.log import Log
from kafkafs.log.lookup import locate
from kafkafs.log.segment import Segment, is_at_its_place

_UNKNOWN = -1


class Lineage:
    """One reader's place in the life of a log. Holds the witnesses' files open, so that their inodes stay theirs."""

    def __init__(self, log: Log) -> None:
        self._topic_id = topic_id(log)
        self._take(log)

    def follow(self, log: Log) -> None:
        """Goes on with `log`, a later look at the same directory; Vanished if it is another log or lost something."""
        if log is self._log:
            return
        if not self._leads_to(log):
            raise Vanished(f"{log.name.directory} was truncated or created anew while it was read; open it again")
        self._take(log)

    def _take(self, log: Log) -> None:
        last = log.tail.last if log.tail is not None else None
        witnesses = log.segments[-1:] if last else log.segments[-2:]
        held = [(segment, _hold(segment)) for segment in reversed(witnesses)]
        self._log, self._last, self._witnesses, self._epoch = log, last, held, last_leader_epoch(log)

    def _leads_to(self, log: Log) -> bool:
        before = self._log
        if log.directory_inode != before.directory_inode or log.end_offset < before.end_offset:
            return False
        if log.start_offset < before.start_offset and _starts_behind_its_end(before):
            return False
        if not before.segments:
            return True
        there = {segment.base_offset: segment for segment in log.segments}
        for witness, held in self._witnesses:
            segment = there.get(witness.base_offset)
            if segment is not None and segment.listed["log"].inode == witness.listed["log"].inode:
                if self._last is not None:
                    return is_at_its_place(segment.log(), self._last)
                if held if witness.next_base is None else witness.listed["log"] == segment.listed["log"]:
                    return True
        if self._epoch == _UNKNOWN:
            return log.start_offset >= before.end_offset
        return self._reaches(log)

    def _reaches(self, log: Log) -> bool:
        """Whether the same topic's leader epoch lasted at least until the offset at which the log ended before."""
        if self._topic_id not in (None, topic_id(log)):
            return False
        epochs = leader_epochs(log)
        later = [one.start_offset for one in epochs if one.epoch > self._epoch]
        is_known = any(one.epoch == self._epoch for one in epochs)
        return is_known and min(later, default=log.end_offset) >= self._log.end_offset


def _starts_behind_its_end(log: Log) -> bool:
    """Whether the checkpoint tells a start that the log itself does not reach."""
    return log.tail is None or log.tail.end_offset < log.start_offset


def _hold(segment: Segment) -> DataFile | None:
    try:
        return segment.hold()
    except Denied:
        return None


def last_leader_epoch(log: Log) -> int:
    """The leader epoch of the log's last batch; -1 where it has none, or an older format."""
    if log.tail is not None and log.tail.last is not None:
        return log.tail.last.leader_epoch
    try:
        _, last = locate(log, log.end_offset - 1)
    except NotFound:
        return _UNKNOWN
    return last.leader_epoch if isinstance(last, Batch) else _UNKNOWN


def leader_epochs(log: Log) -> tuple[LeaderEpoch, ...]:
    """What the log's checkpoint tells of them, the oldest first; nothing where it is missing or cannot be read."""
    try:
        return parse_leader_epochs(log.segments[-1].read_beside(LEADER_EPOCHS))
    except (IndexError, NotFound, Denied, CorruptData):
        return ()


def topic_id(log: Log) -> str | None:
    """The id of the log's topic; None where it is not known: Kafka writes it since 2.8, and a moment after it made the
    directory."""
    try:
        return parse_partition_metadata(log.segments[-1].read_beside(PARTITION_METADATA))
    except (IndexError, NotFound, Denied, DiskError, CorruptData):
        return None


class BatchMark(NamedTuple):
    """What is remembered of a batch. `cleaned`: that compaction has passed over it, or may have."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    max_timestamp: int  # [ms]
    crc: int
    cleaned: bool


@dataclass(frozen=True, slots=True)
class LogIdentity:
    """Which log something was read of, in a form that outlives a process: for who goes on another day with what was
    read before. None for an id or a batch that it had not.

    A topic's id tells, where there is one (Kafka writes it since 2.8); and two batches do, the first and the last of
    what was read, as long as the log still has them. Compaction may rewrite a batch: it keeps first and last offset and
    leader epoch, and what is left of its records is not later than what was there. Where a batch is gone, the
    checkpoint of leader epochs tells of a cut: no later epoch begins before it.
    Source: Cleaner.buildRetainedRecordsInto, MemoryRecords.filterTo.
    """

    topic_id: str | None = None
    first: BatchMark | None = None
    last: BatchMark | None = None

    def went_on(self, later: "LogIdentity") -> "LogIdentity":
        """That of all that was read, where `later` is that of what was read last."""
        return LogIdentity(later.topic_id or self.topic_id, self.first or later.first, later.last or self.last)


def identity(log: Log, start: int, end: int) -> LogIdentity:
    """That of the offsets [start, end) of a log; of their bytes only two headers are read."""
    return LogIdentity(topic_id(log), _mark(log, start), _mark(log, end - 1))


def difference(known: LogIdentity, log: Log) -> str | None:
    """Why a log is not the one that is known, in words behind its name; None where nothing says so."""
    now = topic_id(log)
    if known.topic_id is not None and now is not None and known.topic_id != now:
        return f"was deleted and made anew: its topic id was {known.topic_id} and is {now}"
    for mark in filter(None, (known.first, known.last)):
        if mark.last_offset >= log.end_offset:
            return f"ends at offset {log.end_offset} now, and reached to {mark.last_offset}: it was cut, or made anew"
        if mark.last_offset >= log.start_offset and not _holds(log, mark):
            return f"has another batch at offset {mark.base_offset} than it had: it was cut, or made anew"
        later = (each.start_offset for each in leader_epochs(log) if each.epoch > mark.leader_epoch >= 0)
        if (start := min(later, default=log.end_offset)) <= mark.last_offset:
            return f"was cut at offset {start}, where a later leader epoch begins, and has grown anew since"
    return None


def _mark(log: Log, offset: int) -> BatchMark | None:
    """The batch that has the offset, or the next one; None where there is none, or it cannot be told."""
    try:
        _, found = locate(log, offset)
    except NotFound:
        return None
    return _mark_of(found) if isinstance(found, Batch) else None


def _mark_of(batch: Batch) -> BatchMark:
    has_gaps = batch.count < batch.last_offset - batch.base_offset + 1
    cleaned = has_gaps or batch.is_wrapped or (batch.magic >= 2 and bool(batch.attributes & DELETE_HORIZON))
    return BatchMark(batch.base_offset, batch.last_offset, batch.leader_epoch, batch.max_timestamp, batch.crc, cleaned)


def _holds(log: Log, mark: BatchMark) -> bool:
    """Whether the log has the batch, or what a cleaner may have left of it; so, too, where that cannot be told."""
    now = _mark(log, mark.last_offset)
    if now is None or now.base_offset > mark.last_offset:
        return True  # damage; or nothing of it was kept
    if now == mark:
        return True
    is_later = now.max_timestamp > mark.max_timestamp and not mark.cleaned  # another replica may be less clean
    return (now.cleaned or mark.cleaned) and now[:3] == mark[:3] and not is_later
