"""The largest timestamp of a log's data, where headers tell it.

Markers carry wall-clock times and do not count. A batch that the log start cuts may have its largest below it: then
nobody knows without reading all records.
"""

from collections.abc import Sequence

from kafkafs.errors import Denied, DiskError, NotFound
from kafkafs.format.batch import Batches, is_control
from kafkafs.log.log import Log
from kafkafs.log.segment import Segment
from kafkafs.log.time_search import Newest, largest_timestamp, newest


def newest_data(log: Log, largest: Sequence[int | None]) -> Newest | None:
    """The newest batch of data; `largest` is the largest timestamp of each segment's batches, None where it has none.

    Where it begins below the log start, its records may be older than its header states.
    """

    def visible(rows: Batches) -> Batches:
        """Batches of data, not emptied by compaction, that reach the log start."""
        return rows[~is_control(rows) & (rows["last_offset"] >= log.start_offset) & (rows["count"] > 0)]

    found: Newest | None = None
    visible_segments = log.visible_segments()
    times = largest[len(largest) - len(visible_segments) :]
    with_times = [(time, segment) for time, segment in zip(times, visible_segments, strict=True) if time is not None]
    for time, segment in sorted(with_times, key=lambda one: -one[0]):
        if found is not None and time <= found.timestamp:
            break
        try:
            other = newest(segment, log.walk_end(segment), visible)
        except (Denied, NotFound, DiskError):  # a gap
            continue
        found = max(filter(None, (found, other)), default=None)
    return found


def largest_timestamps(log: Log) -> list[int | None]:
    """Of each segment's batches, markers too; None where none has one, or it cannot be known."""
    return [_largest(log, segment) for segment in log.segments]


def _largest(log: Log, segment: Segment) -> int | None:
    try:
        found = largest_timestamp(segment, log.walk_end(segment))
    except (Denied, NotFound, DiskError):
        return None
    return found if found >= 0 else None
