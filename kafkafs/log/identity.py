"""Which log it is, in a form that outlives a process: for who goes on another day with what was read of a log before.

Offsets do not tell: a topic that was deleted and made anew has the same name and the same offsets. Its id tells, where
there is one (Kafka writes it since 2.8); and two batches do, the first and the last of what was read, as long as the
log still has them. Compaction may rewrite a batch: it keeps first and last offset and leader epoch, and what is left of
its records is not later than what was there. Where a batch is gone, the checkpoint of leader epochs tells of a cut: no
later epoch begins before it. A reader in one process has files to hold, see `lineage`.
Source: Cleaner.buildRetainedRecordsInto, MemoryRecords.filterTo.
"""

from dataclasses import dataclass
from typing import NamedTuple

from kafkafs.errors import NotFound
from kafkafs.format.batch import Batch
from kafkafs.log.lineage import leader_epochs, topic_id
from kafkafs.log.log import Log
from kafkafs.log.lookup import locate

_DELETE_HORIZON = 0x40
"""The bit of a batch's attributes that the cleaner sets where it has met tombstones. Source: DefaultRecordBatch."""


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
    """Which log something was read of: None for an id or a batch that it had not."""

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
    cleaned = has_gaps or batch.is_wrapped or (batch.magic >= 2 and bool(batch.attributes & _DELETE_HORIZON))
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
