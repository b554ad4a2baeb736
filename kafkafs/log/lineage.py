"""Whether a log still is the one that a reader began with: for readers that go on with what a log gets next.

Offsets and positions do not tell. After a truncation other records take the same offsets, and a topic that was deleted
and created again has the same name. What tells is a witness: the last batch that was there. While it stands where it
stood, everything before it is unchanged, for truncation cuts off a suffix. Where compaction or retention took its file
away, the leader epochs tell as they tell followers: an epoch that reaches as far as it did lost nothing.
Source: LeaderEpochFileCache.endOffsetFor.
"""

from kafkafs.errors import CorruptData, NotFound, Vanished
from kafkafs.format.checkpoints import parse_leader_epochs
from kafkafs.log.log import Log
from kafkafs.log.segment import Segment, is_at_its_place


class Lineage:
    """One reader's place in the life of a log. Holds the witness's file open."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._held = _hold(log)
        self._epoch = _epoch(log, -1)

    def follow(self, log: Log) -> None:
        """Go on with `log`, a later look at the same directory; Vanished if it is another log or lost something."""
        if log is self._log:
            return
        if not self._leads_to(log):
            raise Vanished(f"{log.name.directory} was truncated or created anew while it was read; open it again")
        self._log, self._held = log, _hold(log)
        self._epoch = _epoch(log, self._epoch)

    def _leads_to(self, log: Log) -> bool:
        before = self._log
        if log.directory_inode != before.directory_inode or log.end_offset < before.end_offset:
            return False
        witness = _witness(before)
        if witness is None:
            return True
        for segment in log.segments:
            if segment.base_offset == witness.base_offset:
                if segment.files["log"].inode != witness.files["log"].inode:
                    break
                return self._stands(witness, segment)
        if log.segments and log.segments[0].base_offset >= before.end_offset:
            return True
        return self._epoch >= 0 and _epoch_reaches(self._epoch, before.end_offset, log)

    def _stands(self, witness: Segment, segment: Segment) -> bool:
        tail = self._log.tail
        if witness is self._log.segments[-1] and tail is not None and tail.last is not None:
            return is_at_its_place(segment.log(), tail.last)
        return witness.files["log"] == segment.files["log"]


def _witness(log: Log) -> Segment | None:
    """The last segment that holds anything; None in an empty log."""
    if log.tail is not None and log.tail.last is not None:
        return log.segments[-1]
    return log.segments[-2] if len(log.segments) > 1 else None


def _hold(log: Log) -> object:
    witness = _witness(log)
    return witness.hold() if witness is not None else None


def _epoch(log: Log, otherwise: int) -> int:
    """The leader epoch of the log's last batch; a segment that has just begun has none yet."""
    return log.tail.last.leader_epoch if log.tail is not None and log.tail.last is not None else otherwise


def _epoch_reaches(epoch: int, end_offset: int, log: Log) -> bool:
    """Whether a leader epoch lasted at least until the offset at which the log ended before."""
    try:
        epochs = parse_leader_epochs(log.segments[-1].read_beside("leader-epoch-checkpoint"))
    except (NotFound, CorruptData):
        return False
    later = [one.start_offset for one in epochs if one.epoch > epoch]
    return bool(epochs) and min(later, default=log.end_offset) >= end_offset
