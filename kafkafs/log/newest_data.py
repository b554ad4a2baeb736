"""The newest batch of a log's data, as headers tell.

Markers carry wall-clock times and do not count. If a tier lost a part that may hold the newest record, nobody knows
that record, and no other one counts in its place.
"""

from collections.abc import Sequence

from kafkafs.errors import Denied, DiskError, NotFound
from kafkafs.format.batch import Batches, is_control
from kafkafs.format.tables import chosen
from kafkafs.log.log import Log
from kafkafs.log.segment import Segment
from kafkafs.log.time_search import Newest, largest_timestamp, newest


def newest_data(log: Log, largest: Sequence[int | None] | None = None, lenient: bool = False) -> Newest | None:
    """The newest batch of data. `largest` is the largest timestamp of each segment's batches, None if it has none; as
    `Log.largest_in` has it, if they are not known.

    If a batch begins below the log start, its records may be older than its header states: then nobody knows without
    reading all of them. DiskError or NotFound if a tier lost what may be newer, unless `lenient`.
    """

    def visible(rows: Batches) -> Batches:
        return chosen(rows, ~is_control(rows) & (rows["last_offset"] >= log.start_offset) & (rows["count"] > 0))

    found: Newest | None = None
    segments = log.visible_segments()
    times = [*map(log.largest_in, segments)] if largest is None else largest[len(largest) - len(segments) :]
    if not lenient:
        _check_last(log, segments, times)
    known = [(time, segment) for time, segment in zip(times, segments, strict=True) if time is not None]
    for time, segment in sorted(known, key=lambda one: -one[0]):
        if found is not None and time <= found.timestamp:
            break
        try:
            other = newest(segment, log.walk_end(segment), visible, lenient)
        except (Denied, NotFound, DiskError):
            if segment.object is None or lenient:  # a gap
                continue
            raise
        found = max(filter(None, (found, other)), default=None)
    return found


def _check_last(log: Log, segments: Sequence[Segment], times: Sequence[int | None]) -> None:
    """Raise an error if a tier lost the last records with all that tells their times."""
    for segment, time in zip(reversed(segments), reversed(times), strict=True):
        if segment.object is None and not log.walk_end(segment):  # empty: the last records are in front of it
            continue
        if segment.object is not None and time is None:
            largest_timestamp(segment, log.walk_end(segment))
        return
