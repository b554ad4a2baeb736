"""The result of a partition's scan: how far it came, what it keeps, and what it does not."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kafkafs.format.batch import Batches, batch_bytes, data_batches, is_control, is_wrapped
from kafkafs.format.checkpoints import LeaderEpoch
from kafkafs.format.records import Refusal, decode
from kafkafs.format.tables import chosen
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.producers import ProducerStates
from kafkafs.log.read_options import MAX_BATCH
from kafkafs.revive.markers import Marker
from kafkafs.revive.other_replicas import Borrowing

_MOST_LOSSES = 100


@dataclass(frozen=True, slots=True)
class Loss:
    """Offsets that are not revived, the first and the last, and why: the disk's damage, or what was asked for."""

    first: int
    last: int
    reason: str
    is_damage: bool


class GroupEnd(NamedTuple):
    """A lost end of groups, or of their members: keys without a value, from an offset on."""

    offset: int
    keys: tuple[bytes, ...]
    groups: tuple[str, ...]

    def batch(self, epoch: int) -> bytes:
        """A batch of tombstones, appended by the leader of that epoch."""
        return batch_bytes([(key, None) for key in self.keys], self.offset, timestamp=-1, leader_epoch=epoch)


@dataclass(slots=True)
class Tally:
    """The findings of a scan so far. `losses` are the first ones; `lost` counts all.

    `end_offset`: the offset that the next record gets. If the log ends before its start, as if all were deleted, that
    is the start; then `is_below_start`, and nothing of what was kept is to be seen. `is_beyond`: the last offsets are
    lost, and the next record is behind them all the same. `ended`, `ended_groups`: the ends that the scan wrote again.
    `borrowed`: what was damaged and another replica has. `newest`: the largest timestamp of a record that is not in
    the future.
    """

    start_offset: int
    end_offset: int
    is_below_start: bool = True
    is_beyond: bool = False
    largest_producer_id: int = -1
    records: int = 0
    size: int = 0
    remote_size: int = 0
    segments: int = 0
    epochs: list[LeaderEpoch] = field(default_factory=list)
    producers: ProducerStates = field(default_factory=ProducerStates)
    losses: list[Loss] = field(default_factory=list)
    lost: int = 0
    newest: int = -1
    ended: list[Marker] = field(default_factory=list)
    ended_groups: list[GroupEnd] = field(default_factory=list)
    borrowed: list[Borrowing] = field(default_factory=list)

    @property
    def epoch(self) -> int:
        """The leader's that appended last; 0 if none is known."""
        return self.epochs[-1].epoch if self.epochs else 0

    def follow_epochs(self, rows: Batches) -> None:
        """Count kept batches: the leaders' epochs that begin with them."""
        before = self.epochs[-1].epoch if self.epochs else -1
        if rows["leader_epoch"].max() <= before:
            return
        epochs = np.where(rows["magic"] >= 2, rows["leader_epoch"], -1)
        highest = np.maximum(np.maximum.accumulate(epochs), before)
        for row in np.flatnonzero(np.diff(highest, prepend=before) > 0).tolist():
            self.epochs.append(LeaderEpoch(int(highest[row]), int(rows["base_offset"][row])))

    def follow(self, run: BatchRun, now_ms: int) -> None:
        """Count kept batches: their epochs, their records, and the newest record that is not in the future."""
        self.follow_epochs(run.rows)
        self.records += count_records(run, self.start_offset)
        if run.rows["max_timestamp"].max() > self.newest:
            times = data_batches(run.rows)["max_timestamp"]
            self.newest = max(self.newest, int(times[times <= now_ms].max(initial=-1)))

    def add_loss(self, loss: Loss) -> None:
        """One more thing that is not revived."""
        self.lost += 1
        if len(self.losses) < _MOST_LOSSES:
            self.losses.append(loss)


def count_records(run: BatchRun, start: int) -> int:
    """The number of records of a run from offset `start` on, without the records that brokers write for themselves."""
    rows = run.rows
    if rows["base_offset"][0] >= start and not rows["attributes"].any() and rows["magic"].min() >= 2:
        return int(rows["count"].sum())  # most are like that
    rows = chosen(rows, (rows["last_offset"] >= start) & ~is_control(rows))
    unclear = is_wrapped(rows) | (rows["base_offset"] < start)  # a header does not tell the count of these
    count = int(rows["count"][~unclear].sum())
    for piece in decode(run.data, run.position, chosen(rows, unclear), MAX_BATCH) if unclear.any() else ():
        if not isinstance(piece, Refusal):
            count += int((piece.rows["offset"] >= start).sum())
    return count
