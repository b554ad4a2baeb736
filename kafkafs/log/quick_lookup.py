"""The quick way of a lookup: a few microseconds, for the usual case of a healthy log with true indexes.

One kernel reads the index pages, steps over headers and checks the batch that is wanted (see `quick_table`); a second
one takes a single record out of it. Whatever is unusual is left to the careful way (`offset_search`, `time_search`,
`visible`): each function here answers as that would, or None where only it can tell. `lookup` asks both in turn.
"""

from collections.abc import Callable
from typing import TypeVar

from kafkafs.disk.native.layout import ANY, NEED_ALL, NEED_HEADER, NEED_RECORD
from kafkafs.errors import KafkafsError, TooLarge
from kafkafs.format.batch import Batch
from kafkafs.format.columns import Records
from kafkafs.log.indexes import UNREADABLE
from kafkafs.log.quick_table import QuickBatch, QuickTable
from kafkafs.log.segment import Segment
from kafkafs.log.visible import Visible

Taken = TypeVar("Taken")


def batch_reaching(segment: Segment, offset: int, log_end: int) -> Batch | None:
    """The first batch whose last offset is at or after `offset`."""
    found = _find(segment, offset, log_end, offset=offset, need=NEED_HEADER)
    return None if found is None else found.batch


def record_reaching(visible: Visible, offset: int) -> tuple[Segment, Batch, Records] | None:
    """The first visible record at or behind `offset`, which lies in the log."""
    segment = next(visible.log.readable_from(offset), None)
    if segment is None:
        return None
    log_end = visible.log.walk_end(segment)

    def take(found: QuickBatch) -> Records | None:
        """The record, looked for in what is read of the batch; None where that cannot tell."""
        record = _peek(visible, found, offset, ANY)
        if record is None and not found.proven:
            record = visible.first_record(segment, found.batch_run(), 0, offset)
        return record

    taken = _take(visible, segment, lambda need: _find(segment, offset, log_end, offset=offset, need=need), take)
    return None if taken is None else (segment, *taken)


def late_batch(visible: Visible, segment: Segment, timestamp: int) -> Batch | None:
    """The segment's batch with its first visible record at or after `timestamp`."""
    found = _find_late(visible, segment, timestamp, NEED_HEADER)
    if found is None or found.batch.base_offset < visible.log.start_offset or not visible.shows(segment, found.batch):
        return None
    # what is proven of it: its records reach the largest timestamp that its header states
    has_one = found.proven > 0 or isinstance(_late_in(visible, segment, found, timestamp), Records)
    return found.batch if has_one else None


def late_record(visible: Visible, segment: Segment, timestamp: int) -> tuple[Batch, Records | TooLarge] | None:
    """The segment's first visible record at or after `timestamp`, and its batch; TooLarge where that may have it, and
    would take too much memory."""
    return _take(
        visible,
        segment,
        lambda need: _find_late(visible, segment, timestamp, need),
        lambda found: _late_in(visible, segment, found, timestamp),
    )


def _take(
    visible: Visible,
    segment: Segment,
    find: Callable[[int], QuickBatch | None],
    take: Callable[[QuickBatch], Taken | None],
) -> tuple[Batch, Taken] | None:
    """A batch all of which is visible, and what is taken from it.

    What was read of a batch that is proven may end before the record: then all of it is read.
    """
    for need in (NEED_RECORD, NEED_ALL):
        found = find(need)
        if found is None or not visible.shows(segment, found.batch):
            return None
        taken = take(found)
        if taken is not None:
            return found.batch, taken
        if not found.proven:
            return None
    return None


def _late_in(visible: Visible, segment: Segment, found: QuickBatch, timestamp: int) -> Records | TooLarge | None:
    """The batch's first visible record at or after `timestamp`, as far as the batch was read."""
    record: Records | KafkafsError | None = _peek(visible, found, visible.log.start_offset, timestamp)
    if record is None and not found.proven:
        record = visible.late_record(segment, found.batch_run(), 0, timestamp)
    return record if isinstance(record, Records | TooLarge) else None


def _peek(visible: Visible, found: QuickBatch, offset: int, timestamp: int) -> Records | None:
    """The batch's first record with neither a smaller offset nor timestamp, where one look at the batch gives it.

    Of a batch that may be too large `decode` has to say so.
    """
    return None if found.batch.size > visible.options.max_batch else found.record(offset, timestamp)


def _find_late(visible: Visible, segment: Segment, timestamp: int, need: int) -> QuickBatch | None:
    log_end = visible.log.walk_end(segment)
    return _find(segment, visible.log.start_offset, log_end, timestamp=timestamp, need=need)


def _find(
    segment: Segment, start_offset: int, log_end: int, offset: int = ANY, timestamp: int = ANY, need: int = NEED_ALL
) -> QuickBatch | None:
    """The first batch that is wanted, see `QuickTable.find`. Vanished where the log was cut meanwhile."""
    generation, offset_index = segment.generation, segment.indexes.offset_index
    table = segment.quick
    if table is None or not table.is_of(generation, log_end, offset_index):
        seen = segment.seen
        base, next_base = segment.base_offset, segment.next_base
        table = segment.quick = QuickTable(generation, base, next_base, seen, log_end, offset_index)
    files, kinds = segment.files, segment.listed
    log, time_file = files.open("log"), None
    try:
        offset_file = files.open("index") if "index" in kinds else None
        if timestamp != ANY:
            table.set_time_index(segment.indexes.time_index)
            time_file = files.open("timeindex") if "timeindex" in kinds else None
    except UNREADABLE:
        return None
    found = table.find(log, offset_file, time_file, start_offset, offset, timestamp, need)
    if found is not None and found.changed:
        if found.proven:  # that was before the log changed: only all of the batch, read anew, tells now
            return _find(segment, start_offset, log_end, offset, timestamp, NEED_ALL)
        segment.check(log)
    return found
