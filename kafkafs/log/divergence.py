"""Find the place where two replicas of a partition diverge: the first offset at which both hold something, and not the
same.

Batches are compared by what their headers tell, which is all for those copied byte for byte. If the headers differ and
a cleaner has been at work, records are compared. Records that only one of the replicas holds are no difference then:
each broker cleans by itself. Segments, starts and ends of the two need not be the same; damaged batches are compared
with nothing, for they are another finding.

A follower appends its leader's batches byte for byte, leader epoch too (ReplicaManager, UnifiedLog.appendAsFollower);
what the cleaner of one broker rewrote keeps of each record that is left its offset, timestamp, key, value, headers and
leader epoch (MemoryRecords.filterTo).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kafkafs.format.batch import BATCH, Batches
from kafkafs.format.differences import ALONE, UNLIKE, marks, unlike
from kafkafs.format.records import Records, decode
from kafkafs.format.tables import Flags, Numbers
from kafkafs.log.batch_runs import BatchRun, Damage
from kafkafs.log.log import Log
from kafkafs.log.read_options import MAX_BATCH
from kafkafs.log.segment import ANY_OFFSET

HEADER = ("base_offset", "last_offset", "crc", "leader_epoch")


class Divergence(NamedTuple):
    """The place where two replicas diverge, and the leader epoch of each there. It is None if one holds nothing from
    there on."""

    offset: int
    epochs: tuple[int | None, int | None]


def first_divergence(one: Log, other: Log, start: int, end: int, *, cleaned: bool) -> Divergence | None:
    """The first difference at the offsets [start, end) that both logs reach.

    Without `cleaned` an offset that one of them leaves out is a difference, unless batches show that records were
    removed from them.
    """
    start = max(start, one.start_offset, other.start_offset)
    end = min(end, one.end_offset, other.end_offset)
    if start >= end:
        return None
    sides = _Side(one, start, end), _Side(other, start, end)
    while True:
        for side in sides:
            side.fill()
        limit = min(side.last for side in sides)
        if limit == ANY_OFFSET and not any(len(side.rows) for side in sides):
            return None
        cleaned = cleaned or any(side.is_sparse() for side in sides)
        found = _compared(sides, min(limit, end - 1), start, cleaned)
        if found is not None:
            return found
        for side in sides:
            side.pass_over(limit)


class _Side:
    """One replica, a run of batches at a time: those that are not compared yet."""

    def __init__(self, log: Log, start: int, end: int) -> None:
        self._items = log.walk(start, end)
        self._start, self._end = start, end
        self._damaged: list[tuple[int, int]] = []
        self._run: BatchRun | None = None
        self.rows: Batches = np.empty(0, BATCH)
        self._is_at_end = False

    @property
    def last(self) -> int:
        """The last offset that it is known for what is there."""
        return ANY_OFFSET if self._is_at_end else int(self.rows["last_offset"][-1])

    def fill(self) -> None:
        """Read on until there are rows to compare, or no more. Damage on the way to them is remembered."""
        while not len(self.rows) and not self._is_at_end:
            _, item = next(self._items, (None, None))
            if isinstance(item, Damage):
                self._damaged.append((item.base_offset, item.last_offset))
                continue
            if item is not None:  # a run may begin in front of the range
                self._run, self.rows = item, item.rows[np.searchsorted(item.rows["last_offset"], self._start) :]
            if item is None or int(self.rows["base_offset"][0]) >= self._end:
                self._is_at_end, self.rows = True, self.rows[:0]

    def up_to(self, limit: int) -> Batches:
        """The batches that begin at or before an offset."""
        return self.rows[: np.searchsorted(self.rows["base_offset"], limit, "right")]

    def pass_over(self, limit: int) -> None:
        """Drop the batches that end at or before an offset: they are done."""
        self.rows = self.rows[np.searchsorted(self.rows["last_offset"], limit, "right") :]
        self._damaged = [each for each in self._damaged if each[1] > limit]

    def is_sparse(self) -> bool:
        """True if a batch holds fewer records than offsets: something was removed from it."""
        widths = self.rows["last_offset"] - self.rows["base_offset"] + 1
        return bool(np.any((self.rows["magic"] >= 2) & (self.rows["count"] < widths)))

    def is_damaged(self, rows: Batches) -> Flags:
        """A mask of the rows of the other side that own offsets that are damaged here."""
        ranges = np.array(self._damaged, np.int64).reshape(-1, 2)
        return sharing_offsets(rows, ranges[:, 0], ranges[:, 1])

    def epoch_at(self, offset: int) -> int | None:
        """The leader epoch of the batch that a fetch at this offset gets; None if it is not known yet."""
        behind = self.rows[self.rows["last_offset"] >= offset]
        return int(behind["leader_epoch"][0]) if len(behind) else None

    def records(self, rows: Batches) -> Iterator[Records]:
        """Yield the records of some of its batches. Batches that cannot be unpacked, or exceed MAX_BATCH then, give
        none."""
        if self._run is not None:
            for piece in decode(self._run.data, self._run.position, rows, MAX_BATCH):
                if isinstance(piece, Records):
                    yield piece


def _compared(sides: tuple[_Side, _Side], limit: int, start: int, cleaned: bool) -> Divergence | None:
    """The first difference among the batches that begin at or before `limit`."""
    one, other = sides
    ones, others = one.up_to(limit), other.up_to(limit)
    odd, beside = unlike(ones, others, HEADER)
    ones, others = ones[odd], others[beside]
    ones, others = ones[~other.is_damaged(ones)], others[~one.is_damaged(others)]
    if not len(ones) and not len(others):
        return None
    if not cleaned:
        offset = min(int(rows["base_offset"][0]) for rows in (ones, others) if len(rows))
    else:
        found = _unlike_record(one, ones, other, others) if len(ones) and len(others) else None
        if found is None:
            return None
        offset = found
    offset = max(offset, start)
    return Divergence(offset, (one.epoch_at(offset), other.epoch_at(offset)))


def _unlike_record(one: _Side, ones: Batches, other: _Side, others: Batches) -> int | None:
    """The offset of the first record that both hold, and not alike."""
    mine = ones[sharing_offsets(ones, others["base_offset"], others["last_offset"])]
    theirs = others[sharing_offsets(others, ones["base_offset"], ones["last_offset"])]
    pieces, beside = one.records(mine), other.records(theirs)
    piece, counterpart = next(pieces, None), next(beside, None)
    while piece is not None and counterpart is not None:
        found = unlike_record(piece, mine, counterpart, theirs)
        if found is not None:
            return found
        if piece.rows["offset"][-1] <= counterpart.rows["offset"][-1]:
            piece = next(pieces, None)
        else:
            counterpart = next(beside, None)
    return None


def sharing_offsets(one: Batches, first: Numbers, last: object) -> Flags:
    """A mask of the rows that own an offset of one of the ranges [first, last]. The ranges are in order and do not
    overlap."""
    lasts = np.asarray(last, np.int64)
    if not len(first):
        return np.zeros(len(one), np.bool_)
    beside = np.searchsorted(lasts, one["base_offset"])  # the first range that ends at or behind the row's beginning
    found = beside < len(lasts)
    return found & (first[np.minimum(beside, len(lasts) - 1)] <= one["last_offset"])


def unlike_record(one: Records, one_batches: Batches, other: Records, other_batches: Batches) -> int | None:
    """Return the offset of the first record that both hold, and not alike. Records that only one holds do not count.

    The leader epoch counts too, because a follower copies it.
    """
    mine, theirs = marks(one, other)
    ours, beside = one.rows[mine != ALONE], other.rows[theirs != ALONE]
    epochs = one_batches["leader_epoch"][ours["batch"]] != other_batches["leader_epoch"][beside["batch"]]
    found = np.flatnonzero((mine[mine != ALONE] == UNLIKE) | epochs)
    return int(ours["offset"][found[0]]) if len(found) else None
