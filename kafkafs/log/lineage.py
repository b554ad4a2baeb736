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

from kafkafs.disk.data_file import DataFile
from kafkafs.errors import CorruptData, Denied, DiskError, NotFound, Vanished
from kafkafs.format.batch import Batch
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
        """Go on with `log`, a later look at the same directory; Vanished if it is another log or lost something."""
        if log is self._log:
            return
        if not self._leads_to(log):
            raise Vanished(f"{log.name.directory} was truncated or created anew while it was read; open it again")
        self._take(log)

    def _take(self, log: Log) -> None:
        last = _last_batch(log)
        witnesses = log.segments[-1:] if last else log.segments[-2:]
        held = [(segment, _hold(segment)) for segment in reversed(witnesses)]
        epoch = last.leader_epoch if last else _epoch_before(log)
        self._log, self._last, self._witnesses, self._epoch = log, last, held, epoch

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


def _last_batch(log: Log) -> Batch | None:
    """The last batch of the last segment; None where that one is empty."""
    return log.tail.last if log.tail is not None else None


def _hold(segment: Segment) -> DataFile | None:
    try:
        return segment.hold()
    except Denied:
        return None


def _epoch_before(log: Log) -> int:
    """The leader epoch of the last batch before an empty segment, if that batch still is there."""
    try:
        _, found = locate(log, log.end_offset - 1)
    except NotFound:
        return _UNKNOWN
    return found.leader_epoch if isinstance(found, Batch) else _UNKNOWN


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
