"""The numbers of a segment, a partition or a topic: small, whatever their size, and made to be added up.

The keys that take the most bytes are kept, a bounded number: a key is known by a hash of 64 bits and shown by its first
bytes, and of each piece of a log only the heaviest are taken over. So the sums are lower bounds, and true for a key
that is heavy everywhere.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np

from kafkafs.errors import CorruptData
from kafkafs.format.key_index import key_hashes
from kafkafs.format.records import Records
from kafkafs.overview.contents import add_up
from kafkafs.tables.offsets import TopicPartition


@dataclass(slots=True)
class KeptBytes:
    """Bytes of segments by why they are still there, made to be added up."""

    active: int = 0
    """Bytes of segments that are written to."""
    future: int = 0
    """Bytes of closed segments whose newest record is in the future."""
    below_start: int = 0
    """Bytes of segments wholly below the log start."""
    untimed: int = 0
    """Bytes of segments without times: the age of the file counts."""
    waiting: int = 0
    """Bytes of all other segments: `retention.ms` counts from the newest record."""
    future_until_ms: int | None = None
    """The timestamp of the latest record in the future."""
    waits_since_ms: int | None = None
    """The smallest newest timestamp of the segments that wait: its segment is the next to be deleted."""

    def add(self, other: "KeptBytes") -> None:
        """Adds those of another segment."""
        add_up(
            self, other, ("active", "future", "below_start", "untimed", "waiting"), ("waits_since_ms",),
            ("future_until_ms",),
        )  # fmt: skip


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
        """The `count` heaviest keys, the heaviest first; among equals the smaller key."""
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
    """The sum of all figures."""
    total = Figures()
    for each in some:
        total.add(each)
    return total


def by_topic(figures: Mapping[TopicPartition, Figures]) -> dict[str, Figures]:
    """The sums of topics, by name."""
    every = groupby(sorted(figures.items()), lambda item: item[0].topic)
    return {topic: sum_of(each for _, each in some) for topic, some in every}
