"""The numbers of one segment, by looking at all of its records.

And why a broker keeps the segment, as far as the disk shows: it goes when the newest of its records, the ends of
transactions among them, is older than `retention.ms`; so one from the future keeps all of it. The segment that is
written to stays, and what is below the log start goes at the broker's next look, whatever its age. Sources:
UnifiedLog.deleteRetentionMsBreachedSegments, deleteLogStartOffsetBreachedSegments.
"""

import time
from collections import Counter

import numpy as np

from kafkafs.errors import DiskError, Unanswered
from kafkafs.format import kernels
from kafkafs.format.batch import CODEC, CODECS, Batches, data_batches, is_control, is_transactional
from kafkafs.format.control import ControlType
from kafkafs.format.records import Records, Refusal, decode
from kafkafs.format.tables import Numbers, chosen
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.read_options import MAX_BATCH
from kafkafs.log.segment import ANY_OFFSET, Segment
from kafkafs.log.transaction_events import marker_types
from kafkafs.spark.profile.figures import LAGS_MS, MOST_BUCKETS, SKETCH_BITS, TIME_STEPS_S, Codec, Figures, KeptBytes
from kafkafs.spark.segment_units import SegmentLook


def why_kept(look: SegmentLook, newest_ms: int, now_ms: int) -> KeptBytes:
    """Tell why a broker keeps one segment. `newest_ms`: of its newest record, negative if no record has a time."""
    next_base, size = look.segment.next_base, look.size
    if next_base is None:
        return KeptBytes(active=size)
    if next_base <= look.log.start_offset:
        return KeptBytes(below_start=size)
    if newest_ms < 0:
        return KeptBytes(untimed=size)
    if newest_ms > now_ms:
        return KeptBytes(future=size, future_until_ms=newest_ms)
    return KeptBytes(waiting=size, waits_since_ms=newest_ms)


def measure(look: SegmentLook) -> Figures:
    """The numbers of a whole segment. Damaged batches are counted and passed over; where nothing more of it can be
    read, what came before still counts. Records below the log start count only as bytes."""
    found = Figures(size=look.size, index_size=_index_size(look.segment), segments=1)
    start, next_base = look.log.start_offset, look.segment.next_base
    meter = _Meter(found, start)
    is_below = next_base is not None and next_base <= start
    try:
        for run in () if is_below else look.runs():
            if isinstance(run, BatchRun):
                meter.add(run)
            elif run.last_offset >= start:
                found.damaged += 1
    except Unanswered:
        raise
    except DiskError:
        found.damaged += 1
    found.sketch = meter.registers.tobytes()
    found.kept = why_kept(look, meter.newest_ms, time.time_ns() // 1_000_000)
    return found


def _index_size(segment: Segment) -> int:
    """Bytes of the indexes; a growing one is padded, and counts as far as it is filled."""
    found = 0
    for index in (segment.indexes.offset_index, segment.indexes.time_index):
        found += index.entries * index.entry_size
    return found


class _Meter:
    def __init__(self, found: Figures, start: int) -> None:
        """`start`: the log start offset."""
        self._start = start
        self.registers = np.zeros(1 << SKETCH_BITS, np.uint8)
        self._found = found
        self._latest = self.newest_ms = -1

    def add(self, item: BatchRun) -> None:
        """A run of batches and their records. The age of a segment is that of all its records."""
        self.newest_ms = max(self.newest_ms, int(item.rows["max_timestamp"].max(initial=-1)))
        item = item._replace(rows=chosen(item.rows, item.rows["last_offset"] >= self._start))
        found, control = self._found, is_control(item.rows)
        found.batches += len(item.rows)
        _count_powers(found.batch_sizes, item.rows["size"])
        found.markers += int(control.sum())
        found.aborts += int((marker_types(item, chosen(item.rows, control)) == ControlType.ABORT).sum())
        rows = data_batches(item.rows)
        self._codecs(rows)
        for piece in decode(item.data, item.position, rows, MAX_BATCH):
            if isinstance(piece, Refusal):
                found.damaged += 1
            elif len(kept := piece.between(self._start, ANY_OFFSET)):
                self._records(kept, rows)

    def _codecs(self, rows: Batches) -> None:
        numbers = rows["attributes"] & CODEC
        for number in np.unique(numbers).tolist():
            mine = rows["size"][numbers == number]
            codec = self._codec(number)
            codec.batches += len(mine)
            codec.stored += int(mine.sum())

    def _codec(self, number: int) -> Codec:
        return self._found.codecs.setdefault(CODECS[number] if number < len(CODECS) else str(number), Codec())

    def _records(self, piece: Records, batches: Batches) -> None:
        found, rows = self._found, piece.rows
        keys, values = rows["key_size"].astype(np.int64), rows["value_size"].astype(np.int64)
        sizes = np.maximum(keys, 0) + np.maximum(values, 0) + rows["headers_size"]
        attributes = batches["attributes"][rows["batch"]]
        found.records += len(rows)
        found.null_keys += int((keys < 0).sum())
        found.tombstones += int(((values < 0) & (keys >= 0)).sum())
        found.transactional += int(is_transactional(batches)[rows["batch"]].sum())
        _count_powers(found.record_sizes, sizes)
        for number in np.unique(attributes & CODEC).tolist():
            mine = attributes & CODEC == number
            codec = self._codec(number)
            codec.records += int(mine.sum())
            codec.content += int(sizes[mine].sum())
        table = np.ascontiguousarray(rows)
        kernels.sketch_keys(table, len(table), piece.data, self.registers, SKETCH_BITS)
        found.top_keys.add_records(piece, sizes)
        self._times(rows["timestamp"], sizes)

    def _times(self, times: Numbers, sizes: Numbers) -> None:
        found = self._found
        timed = times >= 0
        found.untimed += int((~timed).sum())
        times, sizes = times[timed], sizes[timed]
        if not len(times):
            return
        highest = np.maximum(np.maximum.accumulate(times), self._latest)
        self._latest = int(highest[-1])
        lag = np.bincount(np.searchsorted(LAGS_MS, highest - times), minlength=len(LAGS_MS) + 1)
        found.lags = [one + int(two) for one, two in zip(found.lags, lag, strict=True)]
        low, high = int(times.min()), int(times.max())
        found.first_ms = low if found.first_ms is None else min(found.first_ms, low)
        found.last_ms = high if found.last_ms is None else max(found.last_ms, high)
        step = found.step_s
        while (steps := np.unique(times // (step * 1000))).size > MOST_BUCKETS and step < TIME_STEPS_S[-1]:
            step = TIME_STEPS_S[TIME_STEPS_S.index(step) + 1]
        place = np.searchsorted(steps, times // (step * 1000))
        counts, bytes_ = np.bincount(place), np.bincount(place, sizes)
        volume = {int(at): (int(n), int(size)) for at, n, size in zip(steps, counts, bytes_, strict=True)}
        found.add_volume(volume, step)


def _count_powers(counter: Counter[int], sizes: Numbers) -> None:
    """Counts each size under the number of bits that it needs."""
    bits = np.frexp(np.maximum(sizes, 0).astype(np.float64))[1]
    for power, count in zip(*np.unique(bits, return_counts=True), strict=True):
        counter[int(power)] += int(count)
