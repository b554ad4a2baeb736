"""The batches of other replicas for offsets that are damaged or gone in the chosen replica.

Replicas hold the same batches at the same offsets, as far as they were appended under the same leader epochs. So a
batch of another replica counts if its epoch is the one that the broker recorded for its offset.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kafkafs.disk.data_file import DataFile
from kafkafs.errors import UNREADABLE
from kafkafs.format.batch import Batches
from kafkafs.format.checkpoints import LeaderEpoch
from kafkafs.format.tables import Flags, chosen
from kafkafs.log.batch_runs import BatchRun, Damage
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.partition import Partition


@dataclass(frozen=True, slots=True)
class Replica:
    """The replica that counts: its partition's directory and the data directory that has it. If no disk has it,
    `tier` has it, and the data directory is any. `others`: those on other disks, which may have what is damaged
    here."""

    directory: DataDirectory
    partition: Partition
    tier: str | None = None
    others: tuple["Replica", ...] = ()

    @property
    def place(self) -> str:
        """The path of the replica."""
        return self.tier or str(self.directory.path / self.partition.name.directory)


class OtherBatches(NamedTuple):
    """Batches of another replica, and the file they stand in."""

    place: str
    file: DataFile
    run: BatchRun


class Borrowing(NamedTuple):
    """Offsets that were taken from another replica, the first and the last, and where that is."""

    first: int
    last: int
    place: str


class Missing(NamedTuple):
    """Offsets that no other replica has, the first and the last."""

    first: int
    last: int


def batches_of_other_replicas(
    first: int, last: int, others: Sequence[Replica], epochs: Sequence[LeaderEpoch], *, is_dense: bool = False
) -> Iterator[OtherBatches | Missing]:
    """Return the batches of others for the offsets `first` to `last`, and the offsets that none has, in order.
    `epochs`: as the broker of the replica that counts recorded them. `is_dense`: nothing was compacted, so another
    replica may have what one lacks."""
    if first > last:
        return
    if not others or not epochs:
        yield Missing(first, last)
        return
    other, at = others[0], first
    further = partial(batches_of_other_replicas, others=others[1:], epochs=epochs, is_dense=is_dense)
    try:
        log = other.partition.log()
        if not is_dense and (log.start_offset > first or log.end_offset <= last):
            yield from further(first, last)
            return
        for segment, item in log.walk(first, last + 1):
            begin, end = max(at, _first_offset(item)), min(last, item.last_offset)
            if is_dense:
                yield from further(at, begin - 1)
            if isinstance(item, Damage):
                yield from further(begin, end)
            else:
                rows = _between(item.rows, begin, last)
                whole = (int(rows["base_offset"][0]), int(rows["last_offset"][-1])) if len(rows) else (end + 1, end)
                yield from further(begin, whole[0] - 1)  # a batch goes over the border: none of it counts
                fit = _fit(rows, epochs)
                for start, stop in pairwise([0, *np.flatnonzero(np.diff(fit)) + 1, len(rows)] if len(rows) else ()):
                    some = rows[start:stop]
                    if fit[start]:
                        yield OtherBatches(other.place, segment.log(), item._replace(rows=some))
                    else:
                        yield from further(int(some["base_offset"][0]), int(some["last_offset"][-1]))
                yield from further(whole[1] + 1, end)
            at = end + 1
        if is_dense:
            yield from further(at, last)
    except UNREADABLE:
        yield from further(at, last)


def _first_offset(item: BatchRun | Damage) -> int:
    return item.base_offset if isinstance(item, Damage) else int(item.rows["base_offset"][0])


def _between(rows: Batches, first: int, last: int) -> Batches:
    """The batches wholly between the offsets; they are back to back."""
    return chosen(rows, (rows["base_offset"] >= first) & (rows["last_offset"] <= last))


def _fit(rows: Batches, epochs: Sequence[LeaderEpoch]) -> Flags:
    """A mask of the batches that were appended under the epochs of their offsets. If the log starts inside a batch, the
    broker's epoch entry for that batch begins at the log start."""
    begins = np.array([each.start_offset for each in epochs])
    known = np.array([-1, *(each.epoch for each in epochs)])
    offsets = np.minimum(rows["last_offset"], np.maximum(rows["base_offset"], begins[0]))
    expected = known[np.searchsorted(begins, offsets, side="right")]
    fit: Flags = (rows["magic"] < 2) | (rows["leader_epoch"] == expected)
    return fit
