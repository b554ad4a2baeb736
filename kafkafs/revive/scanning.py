"""One partition, read once from its log start to its end: the kept parts of each segment, and the counts of all.

    scan = PartitionScan(partition, log, Rules("skip"))
    for segment in scan.segments(): ...     `KeptSegment`s
    scan.tally                              how far it came: offsets, records, epochs, producers, losses

Only whole, valid batches are kept. Damage ends the partition (`cut`) or is left out, as compaction would leave it out
(`skip`). Under `refuse`, the scan goes on, so that all damage can be named. Offsets below the log start are not
missing. A partition as of a moment ends before the first batch with a later record. `mending` fills damage from other
replicas. `lost_ends` writes the ends of transactions and of groups again that were lost with damaged records.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from kafkafs.disk.data_file import BUFFER_SIZE
from kafkafs.errors import DiskError, NotFound, Unanswered, Vanished
from kafkafs.format.producer_snapshot import ProducerState
from kafkafs.log.batch_runs import LONGEST_READ, Damage, Start
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition
from kafkafs.log.producer_snapshots import open_among
from kafkafs.log.producers import ProducerStates
from kafkafs.log.segment import Segment
from kafkafs.log.tiered import tiered_start
from kafkafs.revive.broker_notes import with_brokers_aborts
from kafkafs.revive.compacted_gaps import CompactedGap, Proof, proof_on_disk
from kafkafs.revive.kept_parts import Kept, KeptParts, KeptSegment, keep_nothing
from kafkafs.revive.lost_ends import GroupEndsBetween, LostEnds
from kafkafs.revive.markers import AskCoordinators, no_coordinator
from kafkafs.revive.mending import Mending
from kafkafs.revive.other_replicas import Replica
from kafkafs.revive.scan_state import Rules, ScanState
from kafkafs.revive.tally import Loss

_GONE = "no segment has them"


class PartitionScan:
    """One pass over a partition, from its log start to its end. `gaps` are those that compaction may have left."""

    def __init__(
        self,
        partition: Partition,
        log: Log,
        rules: Rules,
        is_over: AskCoordinators = no_coordinator,
        replicas: Sequence[Replica] = (),
        group_ends: GroupEndsBetween = lambda _, __: (),
    ) -> None:
        """Sources beside the log are coordinators (`is_over`), other `replicas`, and the lost ends of groups."""
        self.log, self._state = log, ScanState(partition, log, rules)
        self.tally, self.gaps = self._state.tally, list[CompactedGap]()
        self._kept: Kept = keep_nothing
        self._ends = LostEnds(self._state, is_over, group_ends)
        self._mending = Mending(self._state, replicas, self._ends)

    @property
    def rules(self) -> Rules:
        """The rules that were given."""
        return self._state.rules

    @property
    def refused(self) -> list[Loss]:
        """Damage that may not be passed over."""
        return [each for each in self.tally.losses if each.is_damage] if self._state.rules.corrupt == "refuse" else []

    def segments(
        self, kept: Kept = keep_nothing, before_reading: Callable[[Segment], None] = lambda _: None
    ) -> Iterator[KeptSegment]:
        """Yield the kept parts, segment by segment, once. A segment in the middle of which nothing is kept is left out.
        `kept` gets all bytes that are kept, `before_reading` each segment before."""
        self._kept = kept
        tally, state, segments = self.tally, self._state, self._state.segments
        start = tiered_start(self.log, state.partition.root)
        if start is not None:
            why = "they are in a remote tier alone, and in none that --tiered names"
            state.add_loss(start, self.log.start_offset - 1, why)
        if not segments:
            self._mending.skip_lost_offsets(state.lost_end())
        for part in self._refilled_beginning():
            tally.size, tally.segments = tally.size + part.size, tally.segments + 1
            yield part
        for segment, behind in zip(segments, [*segments[1:], None], strict=False):
            if state.is_over:
                break
            known = state.notes.producers_at(segment.base_offset)
            if known is not None:
                tally.producers = ProducerStates(known)
                state.transactions.open = open_among(known)
            is_last, is_first = segment is segments[-1], segment is segments[0]
            for part in self._read(self._parts(segment, segment.base_offset, known), behind, before_reading):
                # an empty one stands where the log begins, which is the earliest offset, and where it ends
                if part.pieces or (is_first and not state.is_over and part.is_own) or is_last:
                    tally.size += part.size
                    tally.remote_size += part.size if segment.object is not None else 0
                    tally.segments += 1
                    yield part
            if is_last and not state.is_over:
                state.reach(segment.base_offset)
        self._finish()

    def _refilled_beginning(self) -> Iterator[KeptSegment]:
        """Return the batches of others for segments that are gone before the first one."""
        tally, state, start = self.tally, self._state, self.log.start_offset
        first = state.notes.start
        if first is None:  # else a loss even if it was compacted, which leaves a segment where the log begins
            return
        parts = self._parts(state.segments[0], first)
        tally.start_offset = tally.end_offset = first
        for further in self._mending.fill(first, start, partial(state.add_loss, reason=_GONE), parts):
            yield self._finished(parts)
            parts = further
        if state.is_over:
            self._ends.write_at_end(parts)
        if parts.pieces:
            yield self._finished(parts)
        else:
            tally.start_offset = tally.end_offset = start

    def _read(
        self, parts: KeptParts, behind: Segment | None, before_reading: Callable[[Segment], None]
    ) -> Iterator[KeptSegment]:
        """Yield the kept parts of a segment, and of what another replica has between it and the next one, `behind`."""
        state, segment, end, damage = self._state, parts.segment, 0 if behind is None else behind.base_offset, ""
        try:
            before_reading(segment)
            self._take(parts)
        except (DiskError, NotFound, Vanished) as error:
            if isinstance(error, Unanswered) or (isinstance(error, Vanished) and segment.object is None):
                raise
            end, damage = self.log.end_offset if segment.next_base is None else segment.next_base, str(error)
        else:
            # a topic may have been compacted before it was tiered: an object of the recorded size lacks nothing
            if segment.object is not None and not segment.files.is_measured:
                damage = "no object of the tier has them"
        if damage:
            first, lost = 0, partial(state.damage, reason=damage)
        else:
            first, reason = self._proof_of_loss(segment, end)
            lost = partial(state.add_loss, reason=reason)
        for further in self._mending.fill(max(state.next_offset, segment.base_offset, first), end, lost, parts):
            yield self._finished(parts)
            parts = further
        is_last = segment is state.segments[-1]
        recorded_end = state.lost_end() if is_last and not state.is_over else 0
        if is_last or state.is_over:
            self._ends.write_at_end(parts)
        self._mending.skip_lost_offsets(recorded_end, parts)
        yield self._finished(parts)

    def _proof_of_loss(self, segment: Segment, end: int) -> Proof:
        """Return the offset from which on a gap behind a segment is a loss, and why; compaction may have left the gap
        before that. The offset is `end` if nothing proves a loss."""
        state, dense_from = self._state, self._state.rules.dense_from
        proof = Proof(end if dense_from is None else min(end, dense_from), _GONE)
        gap = CompactedGap(max(state.next_offset, segment.base_offset), proof.first)
        if gap.first < gap.end and not state.is_over:
            on_disk = proof_on_disk(state.partition, segment, gap) if segment.object is None else None
            proof = proof if on_disk is None else on_disk
            self.gaps.append(gap._replace(end=proof.first))
        return proof

    def _take(self, parts: KeptParts) -> None:
        """Keep the valid batches of a segment, up to the moment or the damage that ends the partition."""
        state, segment = self._state, parts.segment
        end = self.log.walk_end(segment)
        first_read = end if end <= BUFFER_SIZE else LONGEST_READ  # not a small rest by itself
        for item in segment.walk(Start(0, segment.base_offset, first_read=first_read, is_long=True), end):
            if isinstance(item, Damage):
                self._mending.mend(item, parts)
            else:
                run = state.before_moment(state.possible(segment, item))
                if len(run.rows):
                    parts.add(run)
                    state.follow(run)
            if state.is_over:
                return

    def _parts(self, segment: Segment, base_offset: int, known: tuple[ProducerState, ...] | None = None) -> KeptParts:
        state = self._state
        return KeptParts(segment, base_offset, state.rules.interval, state.transactions, self._kept, known)

    def _finished(self, parts: KeptParts) -> KeptSegment:
        kept = parts.finish()
        if not kept.is_own or not self._state.is_damaged:
            return kept
        index = with_brokers_aborts(kept.segment, kept.indexes.transaction_index, self.tally.end_offset)
        return replace(kept, indexes=replace(kept.indexes, transaction_index=index))

    def _finish(self) -> None:
        """Take what the broker recorded of the end, as far as it fits."""
        tally = self.tally
        known = self._state.notes.producers_at(tally.end_offset)
        if known is not None:
            tally.producers = ProducerStates(map(self._ended, known))
        known_epochs = [each for each in self._state.notes.epochs() if each.start_offset <= tally.end_offset]
        last = known_epochs[-1].epoch if known_epochs else -1
        tally.epochs = [*known_epochs, *(each for each in tally.epochs if each.epoch > last)]

    def _ended(self, known: ProducerState) -> ProducerState:
        """Return the state without a transaction that was open there, if the scan wrote its end again."""
        first = known.transaction_first_offset
        is_ended = any(each.producer_id == known.producer_id and 0 <= first < each.offset for each in self.tally.ended)
        return replace(known, transaction_first_offset=-1) if is_ended else known
