"""The state of a partition's scan: its rules, and all that the scan has found so far."""

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition
from kafkafs.log.rebuilding import DEFAULT_INTERVAL
from kafkafs.log.segment import Segment
from kafkafs.log.transaction_events import Tracker
from kafkafs.revive.broker_notes import BrokerNotes
from kafkafs.revive.markers import written
from kafkafs.revive.tally import Loss, Tally

Corrupt = Literal["refuse", "cut", "skip"]


@dataclass(frozen=True, slots=True)
class Rules:
    """`until_ms`: the moment at which the partition ends, None for the log's end. `interval`: index.interval.bytes.
    `dense_from`: the offset that compaction has not passed, so a gap behind it is a loss. None if it is unknown."""

    corrupt: Corrupt = "refuse"
    until_ms: int | None = None
    interval: int = DEFAULT_INTERVAL
    dense_from: int | None = None

    def is_dense(self, offset: int) -> bool:
        """True if compaction has left no gap at that offset or behind it."""
        return self.dense_from is not None and offset >= self.dense_from


class ScanState:
    """The state of a partition's scan. `is_over`: nothing further is kept. `transactions`: those open at the end of
    what is kept. `ended_ms`: the time of each producer's last marker, if the partition ends at a moment."""

    def __init__(self, partition: Partition, log: Log, rules: Rules) -> None:
        self.partition, self.log, self.rules = partition, log, rules
        self.notes, self.segments = BrokerNotes(partition, log), log.visible_segments()
        self.tally, self.transactions = Tally(log.start_offset, log.start_offset), Tracker()
        self.is_over, self.is_damaged, self.ended_ms = False, False, dict[int, int]()
        self._damaged_up_to, self._log_end, self._now_ms = 0, log.end_offset, time.time_ns() // 1_000_000

    @property
    def next_offset(self) -> int:
        """The first offset behind all that is kept or damaged."""
        return max(self.tally.end_offset, self._damaged_up_to)

    def follow(self, run: BatchRun) -> None:
        """Count a run of batches that is kept."""
        tally = self.tally
        largest = int(run.rows["producer_id"].max())
        if largest >= 0:
            tally.producers.follow(run)
            tally.largest_producer_id = max(tally.largest_producer_id, largest)
            if self.rules.until_ms is not None:
                self.ended_ms |= written(run)
        tally.follow(run, self._now_ms)
        self.reach(run.last_offset + 1)

    def reach(self, end_offset: int) -> None:
        """Note that the log goes up to there."""
        if end_offset >= self.tally.end_offset:
            self.tally.end_offset, self.tally.is_below_start = end_offset, False

    def add_loss(self, first: int, last: int, reason: str) -> None:
        """Note offsets that are lost without damage."""
        self.tally.add_loss(Loss(first, last, reason, is_damage=False))

    def damage(self, first: int, last: int, reason: str) -> None:
        """Note offsets that are damaged. `cut` ends the partition before them."""
        if last < self.tally.start_offset:
            return
        if self.rules.corrupt == "cut":
            last, self.is_over = max(last, self._log_end - 1, self.notes.end - 1), True
            reason += ", and the partition ends before them"
        self.is_damaged, self._damaged_up_to = True, last + 1
        self.tally.add_loss(Loss(first, last, reason, is_damage=True))

    def lost_end(self) -> int:
        """Return the end that the broker recorded, and report what the log lacks up to there. This is damage if the
        broker stopped in order. A disk that was copied while its broker ran has newer checkpoints than logs."""
        end, recorded_end = self.next_offset, self.notes.end
        if recorded_end <= end:
            return end
        lost = self.damage if self.notes.stopped_in_order() else self.add_loss
        lost(end, recorded_end - 1, f"the log ends at {end}, and the broker recorded its end at {recorded_end}")
        return recorded_end

    def before_moment(self, run: BatchRun) -> BatchRun:
        """Return the batches before the first one with a later record than the moment."""
        if self.rules.until_ms is None:
            return run
        past = run.rows["max_timestamp"] > self.rules.until_ms
        if not past.any():
            return run
        self.is_over = True
        at = int(np.argmax(past))
        first = max(self.tally.end_offset, int(run.rows["base_offset"][at]))
        self.add_loss(first, self.log.end_offset - 1, "later than the moment that was asked for")
        return run._replace(rows=run.rows[:at])

    def possible(self, segment: Segment, run: BatchRun) -> BatchRun:
        """Return the run without a last batch whose offset cannot be true. No CRC covers that offset."""
        expected = max(self.next_offset, segment.base_offset)
        possible = self.notes.possible(segment, run, expected)
        if possible < len(run.rows):
            row = run.rows[possible]
            first = int(run.rows["last_offset"][possible - 1]) + 1 if possible else expected
            last = first + int(row["last_offset"] - row["base_offset"])
            self._log_end = last + 1
            self.damage(first, last, f"the batch at {row['position']} of {segment.log_name} says that it begins at"
                        f" offset {row['base_offset']}")  # fmt: skip
        return run._replace(rows=run.rows[:possible])
