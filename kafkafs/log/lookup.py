"""Lookups: the record or batch at an offset or a time. The one module that knows of two ways to find it.

The quick way (`quick_lookup`) is asked first; where it cannot tell, the careful one is (`careful_lookup`), which always
can. Both give the same answers: `tests/log/test_quick_lookup.py` holds them against each other.
"""

from kafkafs.format.batch import Batch
from kafkafs.log import quick_lookup
from kafkafs.log.batch_runs import Damage
from kafkafs.log.careful_lookup import CarefulLookup, Late, LocatedBatch, Record, locate_by
from kafkafs.log.log import Log
from kafkafs.log.offset_search import first_reaching
from kafkafs.log.segment import Segment


def find_batch(segment: Segment, offset: int, log_end: int) -> Batch | Damage | None:
    """The segment's first batch whose last offset is at or after `offset`, or the damage that owns it; None behind the
    last. Kafka calls it translateOffset."""
    found = quick_lookup.batch_reaching(segment, offset, log_end)
    return first_reaching(segment, offset, log_end) if found is None else found


def locate(log: Log, offset: int) -> LocatedBatch:
    """The first batch whose last offset is at or after `offset`, as a fetch answers, or the damage that owns it.

    NotFound outside [log start, log end).
    """
    return locate_by(find_batch, log, offset)


class Lookup(CarefulLookup):
    """The same answers; of each log and segment the quick way is asked first."""

    def locate(self, offset: int) -> LocatedBatch:
        """As the function."""
        return locate(self.log, offset)

    def _first(self, offset: int) -> Record:
        found = None if self.visible.overlaps.at(offset) else quick_lookup.record_reaching(self.visible, offset)
        if found is None:
            return super()._first(offset)
        segment, batch, record = found
        return Record(record, batch, segment)

    def batch_at(self, timestamp: int) -> tuple[Segment, Batch] | None:
        """As `CarefulLookup.batch_at`."""
        segment = next(self.log.segments_reaching(timestamp), None)
        if segment is not None and self.visible.overlaps.of(segment):
            return super().batch_at(timestamp)
        batch = None if segment is None else quick_lookup.late_batch(self.visible, segment, timestamp)
        return super().batch_at(timestamp) if segment is None or batch is None else (segment, batch)

    def _at_in(self, segment: Segment, timestamp: int) -> Late | None:
        if self.visible.overlaps.of(segment):
            return super()._at_in(segment, timestamp)
        found = quick_lookup.late_record(self.visible, segment, timestamp)
        return super()._at_in(segment, timestamp) if found is None else Late(segment, *found)
