"""Damaged and missing offsets of the chosen replica: filled with batches of other replicas, or counted as lost."""

from collections.abc import Callable, Iterator, Sequence

from kafkafs.format.batch import batch_bytes
from kafkafs.log.batch_runs import Damage, Start
from kafkafs.log.rebuilding import LARGEST_RELATIVE
from kafkafs.revive.kept_parts import KeptParts
from kafkafs.revive.lost_ends import LostEnds
from kafkafs.revive.other_replicas import Borrowing, Missing, OtherBatches, Replica, batches_of_other_replicas
from kafkafs.revive.scan_state import ScanState

TellOffsets = Callable[[int, int], None]
"""Called with the first and the last offset."""


class Mending:
    """Fills the gaps of one log. `replicas` are the other replicas that may have the damaged or missing offsets."""

    def __init__(self, state: ScanState, replicas: Sequence[Replica], ends: LostEnds) -> None:
        self._state, self._replicas, self._ends = state, replicas, ends

    def mend(self, damage: Damage, parts: KeptParts) -> None:
        """Fill the damaged offsets, or count them as lost. Garbage between batches whose offsets follow one another is
        no loss."""
        state, segment = self._state, parts.segment
        for each in self._find(damage.base_offset, damage.last_offset):
            if isinstance(each, OtherBatches):
                self._borrow(each, parts)
            else:
                state.damage(each.first, each.last, f"{damage.size} bytes at {damage.position} of {segment.log_name}"
                             " are not a valid batch")  # fmt: skip
                behind = segment.walk(Start(damage.end, damage.last_offset + 1), state.log.walk_end(segment))
                self._ends.write_between(each, behind, parts)
            if state.is_over:
                return

    def fill(self, first: int, end: int, lost: TellOffsets, parts: KeptParts) -> Iterator[KeptParts]:
        """Fill offsets from `first` up to `end`, which the log does not have. The batches of another replica go behind
        the segment's parts, or into new parts, which are yielded as they begin. `lost` gets the other offsets."""
        file = None
        for each in self._find(first, end - 1):
            if isinstance(each, OtherBatches):
                if parts.pieces and each.file is not file:
                    parts = parts.begin_segment(int(each.run.rows["base_offset"][0]))
                    yield parts
                file = each.file
                self._borrow(each, parts)
            else:
                lost(each.first, each.last)
                self._ends.write_between(each, (), parts)
            if self._state.is_over:
                return

    def skip_lost_offsets(self, recorded_end: int, parts: KeptParts | None = None) -> None:
        """Do not give out again the offsets that are lost at the end, if damage is skipped. A batch without records, as
        compaction leaves one, leads consumers over them. Without that batch no consumer would come to the end."""
        tally = self._state.tally
        if recorded_end <= tally.end_offset or self._state.rules.corrupt != "skip":
            return
        first = max(tally.end_offset, parts.base_offset if parts is not None else 0)
        if parts is not None and first < recorded_end < parts.base_offset + LARGEST_RELATIVE:
            empty = batch_bytes([], first, timestamp=-1, leader_epoch=tally.epoch, last_offset=recorded_end - 1)
            self._state.follow(parts.make(empty))
        else:
            tally.end_offset, tally.is_beyond = recorded_end, True

    def _find(self, first: int, last: int) -> Iterator[OtherBatches | Missing]:
        state = self._state
        if state.is_over or last < max(first, state.tally.start_offset):
            return iter(())
        return batches_of_other_replicas(
            first, last, self._replicas, state.notes.epochs(), is_dense=state.rules.is_dense(first)
        )

    def _borrow(self, found: OtherBatches, parts: KeptParts) -> None:
        run = self._state.before_moment(found.run)
        if len(run.rows):
            parts.add(run, found.file)
            self._state.follow(run)
            borrowing = Borrowing(int(run.rows["base_offset"][0]), run.last_offset, found.place)
            self._state.tally.borrowed.append(borrowing)
