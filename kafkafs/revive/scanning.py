"""One partition, read once from its log start to its end: what is kept of each segment, and what it all tells.

    scan = PartitionScan(partition, log, corrupt, until_ms, interval, is_over)
    for segment in scan.segments(): ...     `KeptSegment`s
    scan.tally                              how far it came: offsets, records, epochs, producers, losses

Only whole, valid batches are kept. Damage ends the partition (`cut`) or is left out, as compaction would leave it out
(`skip`); under `refuse` the scan goes on, so that all of it can be named. Offsets below the log start are not missing.
A partition as of a moment ends before the first batch with a later record. Ends of transactions that are lost with what
is damaged are written anew, see `markers`, and of groups, see `group_ends`.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from kafkafs.errors import DiskError, NotFound, Unanswered, Vanished
from kafkafs.format.batch import batch_bytes
from kafkafs.format.producer_snapshot import ProducerState
from kafkafs.log.batch_runs import LONGEST_READ, BatchRun, Damage, Start
from kafkafs.log.log import Log
from kafkafs.log.outcomes import Tracker
from kafkafs.log.partition import Partition
from kafkafs.log.producer_snapshots import open_among, producers_at
from kafkafs.log.producers import ProducerStates
from kafkafs.log.rebuilding import LARGEST_RELATIVE
from kafkafs.log.segment import Segment
from kafkafs.log.tiered import tiered_start
from kafkafs.revive.broker_notes import BrokerNotes, aborts, has_rest, with_brokers_aborts
from kafkafs.revive.kept_parts import KeptParts, KeptSegment
from kafkafs.revive.markers import (
    AskCoordinators,
    IsOver,
    Marker,
    ended_by,
    lost_behind,
    lost_between,
    marker_bytes,
    next_events,
    nobody_knows,
    written,
)
from kafkafs.revive.other_replicas import Borrowing, Missing, OtherBatches, Replica, batches_of_others
from kafkafs.revive.tally import GroupEnd, Loss, Tally

TellOffsets = Callable[[int, int], None]  # the first and the last
Corrupt = Literal["refuse", "cut", "skip"]
_GONE = "no segment has them"


class PartitionScan:
    """See the module."""

    def __init__(
        self,
        partition: Partition,
        log: Log,
        corrupt: Corrupt,
        until_ms: int | None,
        interval: int,
        is_over: AskCoordinators = nobody_knows,
        others: Sequence[Replica] = (),
        *,
        is_dense: bool = False,
    ) -> None:
        """`until_ms`: the moment, None for the end. `interval`: index.interval.bytes. `is_over`: as coordinators know
        at the end. `others`: replicas that may have what is damaged or gone. `is_dense`: nothing was compacted.
        May be set: `before_reading`, called with each segment, `kept`, with the base offset of each new one and bytes
        of it, and `group_ends_between`, which knows what was lost between two offsets of the ends of groups."""
        self.log, self._others, self._is_dense = log, others, is_dense
        self.before_reading: Callable[[Segment], None] = lambda _: None
        self.kept: Callable[[int, bytes | memoryview], None] = lambda _, __: None
        self.group_ends_between: Callable[[int, int], Sequence[GroupEnd]] = lambda _, __: ()
        self._is_unknown, self._known_over = is_over, is_over if until_ms is None else nobody_knows
        self._partition, self._corrupt, self._until_ms, self._interval = partition, corrupt, until_ms, interval
        self.tally = Tally(log.start_offset, log.start_offset)
        self._segments = log.visible_segments()
        self._noted = BrokerNotes(partition, log)
        self._is_over, self._is_damaged, self._now_ms = False, False, time.time_ns() // 1_000_000
        self._damaged_up_to, self._log_end, self._ended_ms = 0, log.end_offset, dict[int, int]()

    def segments(self) -> Iterator[KeptSegment]:
        """Yield the kept parts, segment by segment. One between of which nothing is kept is left out."""
        tally, transactions = self.tally, Tracker()
        self._tell_what_is_elsewhere()
        if not self._segments:
            self._go_beyond(self._lost_end())
        for kept in self._lost_beginning(transactions):
            tally.size, tally.segments = tally.size + kept.size, tally.segments + 1
            yield kept
        for segment, behind in zip(self._segments, [*self._segments[1:], None], strict=False):
            if self._is_over:
                break
            known = producers_at(self._partition, segment.base_offset)
            if known is not None:
                tally.producers = ProducerStates(known)
                transactions.open = open_among(known)
            is_last, is_first = segment is self._segments[-1], segment is self._segments[0]
            for kept in self._keep(segment, behind, known, transactions):
                # an empty one stands where the log begins, which is the earliest offset, and where it ends
                if kept.pieces or (is_first and not self._is_over and kept.is_own) or is_last:
                    tally.size += kept.size
                    tally.remote_size += kept.size if segment.object is not None else 0
                    tally.segments += 1
                    yield kept
            if is_last and not self._is_over:
                self._reach(segment.base_offset)
        self._finish()

    def _tell_what_is_elsewhere(self) -> None:
        """Offsets that a broker has moved away, and that were not brought back."""
        start = tiered_start(self.log, self._partition.root)
        if start is not None:
            why = "they are in a remote tier alone, and in none that --tiered names"
            self._lose(start, self.log.start_offset - 1, why)

    def _lost_beginning(self, transactions: Tracker) -> Iterator[KeptSegment]:
        """Return the batches of others for segments that are gone before the first one."""
        tally, start, first = self.tally, self.log.start_offset, self._noted.start if self._is_dense else None
        if first is None:
            return
        segment, keeping = self._segments[0], self._keeping(first, transactions)
        tally.start_offset = tally.end_offset = first
        for further in self._between(first, start, partial(self._lose, reason=_GONE), segment, transactions, keeping):
            yield self._finished(keeping, segment, None)
            keeping = further
        if self._is_over:
            self._end_behind(segment, transactions, keeping)
        if keeping.pieces:
            yield self._finished(keeping, segment, None)
        else:
            tally.start_offset = tally.end_offset = start

    def _keep(
        self, segment: Segment, behind: Segment | None, known: tuple[ProducerState, ...] | None, transactions: Tracker
    ) -> Iterator[KeptSegment]:
        """`behind` is the next segment, `known` what a broker noted of producers where this one begins. More than one
        where another replica has what lies between."""
        keeping = self._keeping(segment.base_offset, transactions)
        gap, reason, is_damage = 0 if behind is None else behind.base_offset, _GONE, False
        try:
            self.before_reading(segment)
            end = self.log.walk_end(segment)
            for item in segment.walk(Start(0, segment.base_offset, first_read=LONGEST_READ), end):
                if isinstance(item, Damage):
                    self._mend(item, segment, transactions, keeping)
                    if self._is_over:
                        break
                    continue
                run = self._up_to_the_moment(self._that_can_be(segment, item))
                if len(run.rows):
                    keeping.take(run)
                    self._follow(run)
                if self._is_over:
                    break
        except (DiskError, NotFound, Vanished) as error:
            if isinstance(error, Unanswered) or (isinstance(error, Vanished) and segment.object is None):
                raise
            gap = self.log.end_offset if segment.next_base is None else segment.next_base
            reason, is_damage = str(error), True
        else:
            # nothing is ever compacted that goes into a tier: offsets that are missing there were in an object
            if segment.object is not None:
                reason, is_damage = "no object of the tier has them", True
        if is_damage or self._is_dense:
            first = max(self.tally.end_offset, self._damaged_up_to, segment.base_offset)
            lost = partial(self._damage if is_damage else self._lose, reason=reason)
            for further in self._between(first, gap, lost, segment, transactions, keeping):
                yield self._finished(keeping, segment, known)
                keeping = further
        is_last = segment is self._segments[-1]
        noted_end = self._lost_end() if is_last and not self._is_over else 0
        if is_last or self._is_over:
            self._end_behind(segment, transactions, keeping)
        self._go_beyond(noted_end, keeping)
        yield self._finished(keeping, segment, known)

    def _keeping(self, base_offset: int, transactions: Tracker) -> KeptParts:
        return KeptParts(base_offset, self._interval, transactions, partial(self.kept, base_offset))

    def _finished(self, keeping: KeptParts, segment: Segment, known: tuple[ProducerState, ...] | None) -> KeptSegment:
        kept = KeptSegment(keeping.base_offset, segment, tuple(keeping.pieces), keeping.finish(), known)
        if not kept.is_own:
            return replace(kept, producers=None)
        if not self._is_damaged:
            return kept
        told = with_brokers_aborts(segment, kept.indexes.transaction_index, self.tally.end_offset)
        return replace(kept, indexes=replace(kept.indexes, transaction_index=told))

    def _mend(self, damage: Damage, segment: Segment, transactions: Tracker, keeping: KeptParts) -> None:
        """Batches of other replicas fill the damaged offsets. Offsets that no replica has are lost. Garbage between
        batches whose offsets follow one another is no loss."""
        for each in self._elsewhere(damage.base_offset, damage.last_offset):
            if isinstance(each, OtherBatches):
                self._borrow(each, keeping)
            else:
                self._damage(each.first, each.last, f"{damage.size} bytes at {damage.position} of {segment.log_name}"
                             " are no valid batch")  # fmt: skip
                behind = segment.walk(Start(damage.end, damage.last_offset + 1), self.log.walk_end(segment))
                self._end_between(each, behind, segment, transactions, keeping)
            if self._is_over:
                return

    def _between(
        self, first: int, end: int, lost: TellOffsets, segment: Segment, transactions: Tracker, keeping: KeptParts
    ) -> Iterator[KeptParts]:
        """Offsets from `first` on, up to `end`, of which the log has nothing: what others have stands behind what is
        kept of the segment, or in segments of its own, each given when it begins. `lost` is told what none has."""
        file = None
        for each in self._elsewhere(first, end - 1):
            if isinstance(each, OtherBatches):
                if keeping.pieces and each.file is not file:
                    keeping = self._keeping(int(each.run.rows["base_offset"][0]), transactions)
                    yield keeping
                file = each.file
                self._borrow(each, keeping)
            else:
                lost(each.first, each.last)
                self._end_between(each, (), segment, transactions, keeping)
            if self._is_over:
                return

    def _elsewhere(self, first: int, last: int) -> Iterator[OtherBatches | Missing]:
        if self._is_over or last < max(first, self.tally.start_offset):
            return iter(())
        return batches_of_others(first, last, self._others, self._noted.epochs(), is_dense=self._is_dense)

    def _borrow(self, found: OtherBatches, keeping: KeptParts) -> None:
        run = self._up_to_the_moment(found.run)
        if len(run.rows):
            keeping.take(run, found.file)
            self._follow(run)
            self.tally.borrowed.append(Borrowing(int(run.rows["base_offset"][0]), run.last_offset, found.place))

    def _end_between(
        self,
        lost: Missing,
        behind: Iterable[BatchRun | Damage],
        segment: Segment,
        transactions: Tracker,
        keeping: KeptParts,
    ) -> None:
        """Writes the ends of transactions anew that were among these offsets, which no replica has."""
        if self._is_over:
            return
        last, begun = min(lost.last, keeping.base_offset + LARGEST_RELATIVE - 1), transactions.open
        known, following = self._is_over_at(segment, lost.first), next_events(behind, {*begun})
        noted = [*aborts(segment), *self._noted.aborts_without_log(lost.first, last)]
        ended = lost_between(lost.first, last, begun, noted, following, known)
        self._end([*ended, *self.group_ends_between(lost.first, last)], keeping)

    def _end_behind(self, segment: Segment, transactions: Tracker, keeping: KeptParts) -> None:
        """The same, behind all that is kept, where damage or the moment made that the end."""
        end = self.tally.end_offset
        if transactions.open and self._until_ms is not None and (self._is_over or not self._is_damaged):
            about = self._sound_behind(end), self._is_unknown, self._ended_ms
            self._end(ended_by(self._until_ms, end, transactions.open, *about), keeping)
            return
        if not transactions.open or not (self._is_damaged or has_rest(self.log, segment)):
            return
        rest = self._segments[self._segments.index(segment) :]
        noted = [each for some in rest for each in aborts(some)]
        by_then, following = self._is_over_at(segment, end), next_events(self._sound_behind(end), {*transactions.open})
        for producer_id, event in [*following.items()]:
            if segment.next_base is not None and event.offset >= segment.next_base and by_then(producer_id):
                del following[producer_id]  # it is about a later one
        known = (lambda each: by_then(each) or self._known_over(each)) if self._is_over else by_then
        self._end(lost_behind(end, transactions.open, noted, following, known), keeping)

    def _sound_behind(self, offset: int) -> Iterator[BatchRun | Damage]:
        """Yield the readable items of the log from there on."""
        with suppress(DiskError, NotFound):
            for _, item in self.log.walk(offset, self.log.end_offset):
                if isinstance(item, BatchRun):  # which may begin before
                    item = item._replace(rows=item.rows[item.rows["base_offset"] >= offset])
                yield item

    def _end(self, lacking: Sequence[Marker | GroupEnd], keeping: KeptParts) -> None:
        tally = self.tally
        for each in sorted(lacking, key=lambda each: each.offset):
            if isinstance(each, GroupEnd):
                self._follow(keeping.make(each.batch(tally.epoch)))
                tally.ended_groups.append(each)
            else:
                known = tally.producers.states.get(each.producer_id)
                self._follow(keeping.make(marker_bytes(each, known, tally.epoch)))
                tally.ended.append(each)

    def _is_over_at(self, segment: Segment, offset: int) -> IsOver:
        """True if all transactions that were open before `offset` are over, by the broker's snapshot at the segment's
        end, or by the coordinators."""
        noted = producers_at(self._partition, self.log.end_offset if segment.next_base is None else segment.next_base)
        if noted is None or self._until_ms is not None:
            return self._known_over if segment.next_base is None else nobody_knows
        begun = open_among(noted)
        return lambda producer_id: begun.get(producer_id, offset) >= offset

    def _go_beyond(self, noted_end: int, keeping: KeptParts | None = None) -> None:
        """Offsets that are lost at the end are not given out again, where the others are to stay. A batch without
        records, as compaction leaves one, leads consumers over them: without, none would ever come to the end."""
        if noted_end <= self.tally.end_offset or self._corrupt != "skip":
            return
        first = max(self.tally.end_offset, keeping.base_offset if keeping is not None else 0)
        if keeping is not None and first < noted_end < keeping.base_offset + LARGEST_RELATIVE:
            empty = batch_bytes([], first, timestamp=-1, leader_epoch=self.tally.epoch, last_offset=noted_end - 1)
            self._follow(keeping.make(empty))
        else:
            self.tally.end_offset, self.tally.is_beyond = noted_end, True

    def _lost_end(self) -> int:
        """The end that the broker noted where the log does not reach it: damage, if it stopped in order. A disk that
        was copied while it ran has newer notes than logs. Else the log's own."""
        end, noted = max(self.tally.end_offset, self._damaged_up_to), self._noted.end
        if noted <= end:
            return end
        reason = f"the log ends at {end}, and the broker noted that it ended at {noted}"
        lost = self._damage if self._noted.stopped_in_order() else self._lose
        lost(end, noted - 1, reason)
        return noted

    def _follow(self, run: BatchRun) -> None:
        """A run of batches is kept."""
        tally = self.tally
        largest = int(run.rows["producer_id"].max())
        if largest >= 0:
            tally.producers.follow(run)
            tally.largest_producer_id = max(tally.largest_producer_id, largest)
            if self._until_ms is not None:
                self._ended_ms |= written(run)
        tally.follow(run, self._now_ms)
        self._reach(run.last_offset + 1)

    def _reach(self, end_offset: int) -> None:
        """The log goes up to there."""
        if end_offset >= self.tally.end_offset:
            self.tally.end_offset, self.tally.is_below_start = end_offset, False

    @property
    def refused(self) -> list[Loss]:
        """Damage that may not be passed over."""
        return [each for each in self.tally.losses if each.is_damage] if self._corrupt == "refuse" else []

    def _up_to_the_moment(self, run: BatchRun) -> BatchRun:
        if self._until_ms is None:
            return run
        past = run.rows["max_timestamp"] > self._until_ms
        if not past.any():
            return run
        self._is_over = True
        at = int(np.argmax(past))
        first = max(self.tally.end_offset, int(run.rows["base_offset"][at]))
        self._lose(first, self.log.end_offset - 1, "later than the moment that was asked for")
        return run._replace(rows=run.rows[:at])

    def _that_can_be(self, segment: Segment, run: BatchRun) -> BatchRun:
        """Without the batch at its end that has an offset where none can be: no CRC is about it."""
        expected = max(self.tally.end_offset, self._damaged_up_to, segment.base_offset)
        possible = self._noted.possible(segment, run, expected)
        if possible < len(run.rows):
            row = run.rows[possible]
            first = int(run.rows["last_offset"][possible - 1]) + 1 if possible else expected
            last = first + int(row["last_offset"] - row["base_offset"])
            self._log_end = last + 1
            self._damage(first, last, f"the batch at {row['position']} of {segment.log_name} says that it begins at"
                         f" offset {row['base_offset']}")  # fmt: skip
        return run._replace(rows=run.rows[:possible])

    def _lose(self, first: int, last: int, reason: str) -> None:
        self.tally.lose(Loss(first, last, reason, is_damage=False))

    def _damage(self, first: int, last: int, reason: str) -> None:
        if last < self.tally.start_offset:
            return
        if self._corrupt == "cut":
            last, self._is_over = max(last, self._log_end - 1, self._noted.end - 1), True
            reason += ", and the partition ends before them"
        self._is_damaged, self._damaged_up_to = True, last + 1
        self.tally.lose(Loss(first, last, reason, is_damage=True))

    def _finish(self) -> None:
        """The end is known now: what the broker noted of it, as far as it fits."""
        tally = self.tally
        known = producers_at(self._partition, tally.end_offset)
        if known is not None:
            tally.producers = ProducerStates(map(self._ended, known))
        noted = [each for each in self._noted.epochs() if each.start_offset <= tally.end_offset]
        last = noted[-1].epoch if noted else -1
        tally.epochs = [*noted, *(each for each in tally.epochs if each.epoch > last)]

    def _ended(self, known: ProducerState) -> ProducerState:
        """Without the transaction that was open there, and whose end was written anew before."""
        first = known.transaction_first_offset
        is_ended = any(each.producer_id == known.producer_id and 0 <= first < each.offset for each in self.tally.ended)
        return replace(known, transaction_first_offset=-1) if is_ended else known
