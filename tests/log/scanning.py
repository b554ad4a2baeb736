"""The model of lookups: a log, read once from its start without any index, and every question a search in a list.

It shares with `kafkafs.log.lookup` how batches are walked, decoded and shown, which have tests of their own; indexes,
places to begin at, and what is remembered are not in it.
"""

from typing import NamedTuple

from kafkafs.errors import CorruptData, KafkafsError, NotFound, TooLarge
from kafkafs.format.batch import Batch, batch_at
from kafkafs.format.records import Records, Refusal, decode
from kafkafs.log.batch_runs import BatchRun, Damage, Start
from kafkafs.log.log import Log
from kafkafs.log.outcomes import OpenTransactions
from kafkafs.log.read_options import Isolation, ReadOptions
from kafkafs.log.segment import Segment
from kafkafs.log.visible import Visible


class Row(NamedTuple):
    """One record."""

    offset: int
    timestamp: int
    contents: object


class Item(NamedTuple):
    """A batch or damage; of a batch that is shown its visible records, or the type of the error instead."""

    segment: Segment
    found: Batch | Damage
    rows: tuple[Row, ...]
    error: type[KafkafsError] | None
    is_unknown: bool = False  # damage hides whether it was committed


class Scan:
    """A log as one isolation level shows it."""

    def __init__(self, log: Log, isolation: Isolation = "read_uncommitted") -> None:
        self.log = log
        visible = Visible(log, ReadOptions(isolation=isolation), OpenTransactions())
        self.end = visible.end
        self.items: list[Item] = []
        for segment in log.visible_segments():
            for item in segment.walk(Start(0, segment.base_offset), log.walk_end(segment)):
                if isinstance(item, Damage):
                    self.items.append(Item(segment, item, (), None))
                    continue
                for row in range(len(item.rows)):
                    batch = batch_at(item.rows, row)
                    try:
                        is_shown = _is_shown(visible, segment, batch)
                    except CorruptData:
                        self.items.append(Item(segment, batch, (), CorruptData, is_unknown=True))
                        continue
                    rows, error = self._decoded(item, row) if is_shown else ((), None)
                    self.items.append(Item(segment, batch, rows, error))

    def _decoded(self, run: BatchRun, row: int) -> tuple[tuple[Row, ...], type[KafkafsError] | None]:
        rows: list[Row] = []
        for piece in decode(run.data, run.position, run.rows[row : row + 1], ReadOptions().max_batch):
            if isinstance(piece, Refusal):
                return (), type(piece.error)
            kept = piece.between(self.log.start_offset, self.end)
            offsets, times = (kept.rows[name].tolist() for name in ("offset", "timestamp"))
            rows += [
                Row(offset, time, contents(kept, at))
                for at, (offset, time) in enumerate(zip(offsets, times, strict=True))
            ]
        return tuple(rows), None

    def locate(self, offset: int) -> object:
        """The base offset of the segment, and the batch or damage; an error's type."""
        if not self.log.start_offset <= offset < self.log.end_offset:
            return NotFound
        found = next((item for item in self.items if item.found.last_offset >= offset), None)
        return NotFound if found is None else (found.segment.base_offset, found.found)

    def first(self, offset: int) -> object:
        """Offset, timestamp and contents of a record; an error's type."""
        for item in self.items:
            if item.found.last_offset < offset:
                continue
            if isinstance(item.found, Damage) and item.found.base_offset < self.end:
                return CorruptData
            if item.error is not None:
                return item.error
            for row in item.rows:
                if row.offset >= offset:
                    return row
        return NotFound

    def at_time(self, timestamp: int) -> object:
        """A record, its batch and the base offset of its segment; None where there is none; an error's type."""
        for item in self.items:
            if not isinstance(item.found, Batch) or item.found.max_timestamp < timestamp or not item.found.count:
                continue
            if item.error is TooLarge or item.is_unknown:
                return item.error
            for row in item.rows:
                if row.timestamp >= timestamp:
                    return row, item.found, item.segment.base_offset
        return None

    def batch_at(self, timestamp: int) -> object:
        """The batch of that record and the base offset of its segment."""
        found = self.at_time(timestamp)
        return found[2:0:-1] if isinstance(found, tuple) else found


def _is_shown(visible: Visible, segment: Segment, batch: Batch) -> bool:
    start, end = max(batch.base_offset, visible.log.start_offset), min(batch.last_offset + 1, visible.end)
    return start < end and any(
        isinstance(item, BatchRun) and batch.position in item.rows["position"].tolist()
        for at, item in visible.batches(start, end)
        if at.base_offset == segment.base_offset
    )


def contents(columns: Records, at: int = 0) -> object:
    """All of a record but its offset and timestamp."""
    key, value = columns.key(at), columns.value(at)
    return None if key is None else bytes(key), None if value is None else bytes(value), columns.headers(at)
