"""Ends of transactions and of groups that a scan lost are written again: `markers` and `group_ends` find them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from kafkafs.errors import DiskError, NotFound
from kafkafs.log.batch_runs import BatchRun, Damage
from kafkafs.log.producer_snapshots import open_among
from kafkafs.log.rebuilding import LARGEST_RELATIVE
from kafkafs.log.segment import Segment
from kafkafs.revive.broker_notes import aborts, has_rest
from kafkafs.revive.kept_parts import KeptParts
from kafkafs.revive.markers import (
    AskCoordinators,
    IsOver,
    Marker,
    ended_by,
    lost_behind,
    lost_between,
    marker_bytes,
    next_events,
    no_coordinator,
)
from kafkafs.revive.other_replicas import Missing
from kafkafs.revive.scan_state import ScanState
from kafkafs.revive.tally import GroupEnd

GroupEndsBetween = Callable[[int, int], Sequence[GroupEnd]]


class LostEnds:
    """The lost ends of one partition. `is_over`: the coordinators' answer, at the log's end."""

    def __init__(self, state: ScanState, is_over: AskCoordinators, group_ends: GroupEndsBetween) -> None:
        self._state, self._group_ends = state, group_ends
        self._is_unknown, self._known_over = is_over, is_over if state.rules.until_ms is None else no_coordinator

    def write_between(self, lost: Missing, behind: Iterable[BatchRun | Damage], parts: KeptParts) -> None:
        """Write the ends that were among these offsets. `behind`: the readable rest of the segment."""
        state = self._state
        if state.is_over:
            return
        last, begun = min(lost.last, parts.base_offset + LARGEST_RELATIVE - 1), state.transactions.open
        known, following = self._is_over_at(parts.segment, lost.first), next_events(behind, {*begun})
        aborted = [*aborts(parts.segment), *state.notes.aborts_without_log(lost.first, last)]
        ended = lost_between(lost.first, last, begun, aborted, following, known)
        self._write([*ended, *self._group_ends(lost.first, last)], parts)

    def write_at_end(self, parts: KeptParts) -> None:
        """Write the ends of transactions behind all that is kept, if damage or the moment made that the end."""
        state, segment = self._state, parts.segment
        end, begun, until_ms = state.tally.end_offset, state.transactions.open, state.rules.until_ms
        if begun and until_ms is not None and (state.is_over or not state.is_damaged):
            about = self._valid_items_from(end), self._is_unknown, state.ended_ms
            self._write(ended_by(until_ms, end, begun, *about), parts)
            return
        if not begun or not (state.is_damaged or has_rest(state.log, segment)):
            return
        rest = state.segments[state.segments.index(segment) :]
        aborted = [each for some in rest for each in aborts(some)]
        by_then, following = self._is_over_at(segment, end), next_events(self._valid_items_from(end), {*begun})
        for producer_id, event in [*following.items()]:
            if segment.next_base is not None and event.offset >= segment.next_base and by_then(producer_id):
                del following[producer_id]  # it is about a later one
        known = (lambda each: by_then(each) or self._known_over(each)) if state.is_over else by_then
        self._write(lost_behind(end, begun, aborted, following, known), parts)

    def _valid_items_from(self, offset: int) -> Iterator[BatchRun | Damage]:
        """Yield the readable items of the log from there on."""
        log = self._state.log
        with suppress(DiskError, NotFound):
            for _, item in log.walk(offset, log.end_offset):
                if isinstance(item, BatchRun):  # a run may begin before `offset`
                    item = item._replace(rows=item.rows[item.rows["base_offset"] >= offset])
                yield item

    def _write(self, ends: Sequence[Marker | GroupEnd], parts: KeptParts) -> None:
        tally = self._state.tally
        for each in sorted(ends, key=lambda each: each.offset):
            if isinstance(each, GroupEnd):
                self._state.follow(parts.make(each.batch(tally.epoch)))
                tally.ended_groups.append(each)
            else:
                known = tally.producers.states.get(each.producer_id)
                self._state.follow(parts.make(marker_bytes(each, known, tally.epoch)))
                tally.ended.append(each)

    def _is_over_at(self, segment: Segment, offset: int) -> IsOver:
        """True if all transactions that were open before `offset` are over, by the broker's snapshot at the segment's
        end, or by the coordinators."""
        state, is_last = self._state, segment.next_base is None
        producers = state.notes.producers_at(state.log.end_offset if segment.next_base is None else segment.next_base)
        if producers is None or state.rules.until_ms is not None:
            return self._known_over if is_last else no_coordinator
        begun = open_among(producers)
        return lambda producer_id: begun.get(producer_id, offset) >= offset
