"""The numbers of one segment: small, whatever the segment's size, and made to be added up.

The keys that take the most bytes are kept, a bounded number: a key is known by a hash of 64 bits and shown by its first
bytes, and of each piece of a log only the heaviest are taken over. So the sums are lower bounds, and true for a key
that is heavy everywhere. And why a broker keeps the segment, as far as the disk shows: it goes when the newest of its
records, the ends of transactions among them, is older than `retention.ms`; so one from the future keeps all of it. The
segment that is written to stays, and what is below the log start goes at the broker's next look, whatever its age.
Sources: UnifiedLog.deleteRetentionMsBreachedSegments, deleteLogStartOffsetBreachedSegments.
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np

from kafkafs.errors import CorruptData, DiskError, Unanswered
from kafkafs.format import kernels
from kafkafs.format.batch import CODEC, CODECS, Batches, data_batches, is_control, is_transactional
from kafkafs.format.control import ControlType
from kafkafs.format.key_index import key_hashes
from kafkafs.format.records import Records, Refusal, decode
from kafkafs.format.tables import Numbers, chosen
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.outcomes import marker_types
from kafkafs.log.read_options import MAX_BATCH
from kafkafs.log.segment import ANY_OFFSET, Segment
from kafkafs.overview.contents import add_up
from kafkafs.spark.segment_units import SegmentLook
from kafkafs.tables.offsets import TopicPartition


@dataclass(slots=True)
class KeptBytes:
    """Bytes of segments by why they are still there, made to be added up."""

    active: int = 0
    """Of segments that are written to."""
    future: int = 0
    """Of closed ones whose newest record is in the future."""
    below_start: int = 0
    """Of those wholly below the log start."""
    untimed: int = 0
    """Of those without times: the age of the file counts."""
    waiting: int = 0
    """Of all others: `retention.ms` counts from the newest record."""
    future_until_ms: int | None = None
    """The latest of the future records."""
    waits_since_ms: int | None = None
    """Of the segments that wait the smallest newest timestamp: this one is the next to go."""

    def add(self, other: "KeptBytes") -> None:
        """Adds those of another segment."""
        add_up(
            self, other, ("active", "future", "below_start", "untimed", "waiting"), ("waits_since_ms",),
            ("future_until_ms",),
        )  # fmt: skip


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


KEPT_KEYS = 512
_SHOWN = 64
_SEED = bytes(16)


class HeavyKey(NamedTuple):
    """A key's first bytes, how many records it has, and their bytes."""

    shown: bytes
    records: int
    size: int


class TopKeys:
    """The heaviest keys so far, by hash."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[int, HeavyKey] = {}

    def heaviest(self, count: int) -> list[HeavyKey]:
        """So many at most, the heaviest first; of equals the smaller key."""
        return sorted(self._found.values(), key=lambda each: (-each.size, each.shown))[:count]

    def add(self, other: "TopKeys") -> None:
        """Adds those of another segment."""
        for hashed, key in other._found.items():
            self._put(hashed, key)
        self._prune()

    def add_records(self, piece: Records, sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        """Adds a piece of a log; `sizes` are its records' bytes."""
        try:
            hashes = key_hashes(piece, _SEED)[1]
        except CorruptData:  # offsets that are too far apart for the kernel, as in no real piece
            return
        if not len(hashes):
            return
        keyed = np.flatnonzero(piece.rows["key_size"] >= 0)
        found, first, which = np.unique(hashes, return_index=True, return_inverse=True)
        records, summed = np.bincount(which), np.bincount(which, sizes[keyed])
        for at in np.argsort(-summed, kind="stable")[:KEPT_KEYS].tolist():
            shown = bytes(piece.key(int(keyed[first[at]])) or b"")[:_SHOWN]
            self._put(int(found[at]), HeavyKey(shown, int(records[at]), int(summed[at])))
        self._prune()

    def _put(self, hashed: int, key: HeavyKey) -> None:
        known = self._found.get(hashed)
        if known is not None:
            key = HeavyKey(known.shown, known.records + key.records, known.size + key.size)
        self._found[hashed] = key

    def _prune(self) -> None:
        if len(self._found) > 2 * KEPT_KEYS:
            ranked = sorted(self._found.items(), key=lambda item: -item[1].size)
            self._found = dict(ranked[:KEPT_KEYS])


SKETCH_BITS = 12
MOST_BUCKETS = 1000
TIME_STEPS_S = (1, 10, 60, 600, 3600, 21600, 86400, 604800, 2592000, 31536000)
LAGS_MS = (0, 1_000, 10_000, 60_000, 600_000, 3_600_000, 86_400_000)
"""Borders between kinds of lag: in order, up to a second behind the latest so far, up to ten, ..."""


Volume = Mapping[int, tuple[int, int]]
"""Step of time -> records, bytes."""


def volume_of(parts: Iterable[tuple[int, tuple[int, int]]]) -> Volume:
    """Add up records and bytes by their step."""
    found: dict[int, tuple[int, int]] = {}
    for step, (records, size) in parts:
        before = found.get(step, (0, 0))
        found[step] = before[0] + records, before[1] + size
    return found


@dataclass(slots=True)
class Codec:
    """The content of one codec: bytes of batches on disk, and of keys, values and headers in them."""

    batches: int = 0
    records: int = 0
    stored: int = 0
    content: int = 0

    def add(self, other: "Codec") -> None:
        """Adds what another segment holds of it."""
        add_up(self, other, ("batches", "records", "stored", "content"))


@dataclass(slots=True)
class Figures:
    """Counts of records and batches. Histograms count by the power of two that a size stays below."""

    size: int = 0
    index_size: int = 0
    segments: int = 0
    batches: int = 0
    records: int = 0
    damaged: int = 0
    codecs: dict[str, Codec] = field(default_factory=dict)
    record_sizes: Counter[int] = field(default_factory=Counter)
    batch_sizes: Counter[int] = field(default_factory=Counter)
    step_s: int = TIME_STEPS_S[0]
    volume: Volume = field(default_factory=dict)
    lags: list[int] = field(default_factory=lambda: [0] * (len(LAGS_MS) + 1))
    untimed: int = 0
    null_keys: int = 0
    tombstones: int = 0
    transactional: int = 0
    markers: int = 0
    aborts: int = 0
    first_ms: int | None = None
    last_ms: int | None = None
    sketch: bytes = bytes(1 << SKETCH_BITS)
    top_keys: TopKeys = field(default_factory=TopKeys)
    kept: KeptBytes = field(default_factory=KeptBytes)

    def add(self, other: "Figures") -> None:
        """Adds the numbers of another segment."""
        add_up(
            self, other, ("size", "index_size", "segments", "batches", "records", "damaged", "untimed", "null_keys",
            "tombstones", "transactional", "markers", "aborts", "record_sizes", "batch_sizes"),
            ("first_ms",), ("last_ms",),
        )  # fmt: skip
        for name, codec in other.codecs.items():
            self.codecs.setdefault(name, Codec()).add(codec)
        self.add_volume(other.volume, other.step_s)
        self.lags = [one + two for one, two in zip(self.lags, other.lags, strict=True)]
        merged = np.maximum(np.frombuffer(self.sketch, np.uint8), np.frombuffer(other.sketch, np.uint8))
        self.sketch = merged.tobytes()
        self.top_keys.add(other.top_keys)
        self.kept.add(other.kept)

    def add_volume(self, volume: Volume, step_s: int) -> None:
        """Adds up in the coarser of the two steps, and in a coarser one still where there are too many."""
        step = max(self.step_s, step_s)
        parts = (self.step_s, self.volume), (step_s, volume)
        found = volume_of((number * old // step, each) for old, part in parts for number, each in part.items())
        self.step_s, self.volume = step, found
        if found and len(found) > MOST_BUCKETS and step < TIME_STEPS_S[-1]:
            self.add_volume({}, TIME_STEPS_S[TIME_STEPS_S.index(step) + 1])

    def volume_in(self, step_s: int) -> Volume:
        """The volume in coarser steps."""
        other = Figures(step_s=step_s)
        other.add_volume(self.volume, self.step_s)
        return other.volume

    @property
    def keys(self) -> int:
        """How many different keys there are, to about two in a hundred."""
        registers = np.frombuffer(self.sketch, np.uint8)
        count = len(registers)
        estimate = 0.7213 / (1 + 1.079 / count) * count * count / float(np.sum(2.0 ** -registers.astype(np.float64)))
        empty = int(np.count_nonzero(registers == 0))
        if estimate <= 2.5 * count and empty:
            estimate = count * float(np.log(count / empty))
        return round(estimate)


def sum_of(some: Iterable[Figures]) -> Figures:
    """All of them together."""
    total = Figures()
    for each in some:
        total.add(each)
    return total


def by_topic(figures: Mapping[TopicPartition, Figures]) -> dict[str, Figures]:
    """The sums of topics, by name."""
    every = groupby(sorted(figures.items()), lambda item: item[0].topic)
    return {topic: sum_of(each for _, each in some) for topic, some in every}


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
