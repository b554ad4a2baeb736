"""The batches of a log that reach into the offsets of later ones (see `overlaps`).

To find them takes decoding, once, and only in segments that give reason to: a header that states more records than
offsets, at the segment's start or wherever else of it was read, or a batch that was found to reach too far.
"""

import numpy as np

from kafkafs.disk.blocking import may_block
from kafkafs.errors import Denied, DiskError
from kafkafs.format.batch import data_batches, is_overfull, parse_batch, rows_of, walk
from kafkafs.format.memory import Memory
from kafkafs.format.records import Refusal, decode, stored_limit
from kafkafs.log.batch_runs import FIRST_READ, BatchRun, Start
from kafkafs.log.log import Log
from kafkafs.log.overlaps import NONE, KnownOverlaps, Overlaps, overlaps_of
from kafkafs.log.segment import Segment

_FEW, _NAMED = 16, 5
"""Segments that may be looked at for `problems`, and batches that are named there."""


class LogOverlaps:
    """The overlaps of one log, for all that decode it."""

    def __init__(self, log: Log, limit: int, memory: Memory) -> None:
        """`limit` and `memory`: see `decode`."""
        self._log, self._limit, self._memory = log, limit, memory

    def of(self, segment: Segment) -> Overlaps:
        """The overlaps that matter to a segment's batches: its own, and those that reach into it from the segment
        before."""
        return self.at(segment.base_offset)

    def at(self, offset: int) -> Overlaps:
        """The overlaps that matter to the segment in which the offset is."""
        segments = self._log.segments
        if not segments:
            return NONE
        number = self._log.number_at(offset)
        segment, earlier = segments[number], segments[number - 1] if number else None
        own, before = self._of(segment), NONE
        if earlier is not None and (segment.is_doubtful or earlier.is_doubtful):
            before = self._of(earlier)
        if own is NONE and before is NONE:
            return NONE
        if before.reach < segment.base_offset:
            return own.since(self._log.start_offset)
        both = (np.concatenate(columns) for columns in zip(before[:-1], own[:-1], strict=True))
        return overlaps_of(*both).since(self._log.start_offset)

    def start_of(self, offset: int) -> int:
        """At which offset to begin reading batches, so that all come that have `offset` or more."""
        found = self.at(offset)
        return offset if found is NONE else found.start_of(offset)

    @property
    def end_offset(self) -> int:
        """The log end, or one past the last record where the last batches hold more."""
        return max([self._log.end_offset, *(self.of(last).reach + 1 for last in self._log.segments[-1:])])

    def problems(self) -> list[str]:
        """Sentences for people: the first of the batches, and how many there are; of segments that gave reason to look
        by now, and of a few that were not looked at."""
        segments = self._log.visible_segments()
        asked = [each for each in segments if each.is_doubtful or (each.is_doubtful is None and len(segments) <= _FEW)]
        found = [
            f"{segment.log_name}: the batch at position {position} claims the offsets {base} to {last} and holds"
            f" records up to {held}; each offset is shown once, from the first batch that has it"
            for segment in asked
            for position, base, last, held, _ in zip(*self._of(segment), strict=True)
        ]
        return [*found[:_NAMED], *([f"{len(found) - _NAMED} more batches do so"] if len(found) > _NAMED else [])]

    def _of(self, segment: Segment) -> Overlaps:
        try:
            if segment.is_doubtful is None:
                if segment.object is not None:  # its first bytes are a request: its reader checks them
                    return NONE
                first = segment.log().read(0, min(FIRST_READ, self._log.walk_end(segment)))
                segment.is_doubtful = _begins_doubtfully(first)
            if not segment.is_doubtful:
                return NONE
            known, end = segment.overlaps, self._log.walk_end(segment)
            if known is None or known.end < end:
                known = segment.overlaps = self._found(
                    segment, end, known or KnownOverlaps(0, segment.base_offset, NONE)
                )
            return known.overlaps
        except (Denied, DiskError):  # a reader of the segment itself gets the error
            return NONE

    def _found(self, segment: Segment, end: int, known: KnownOverlaps) -> KnownOverlaps:
        """All up to `end`: of a log that has grown, what is known and what has come since."""
        may_block()
        found: dict[int, tuple[int, int, int]] = {}  # by position: of a batch in several pieces the last one counts
        next_offset = known.next_offset
        for item in segment.walk(Start(known.end, next_offset), end, largest=stored_limit(self._limit)):
            next_offset = item.last_offset + 1
            if not isinstance(item, BatchRun):
                continue
            rows = data_batches(item.rows)
            for piece in decode(item.data, item.position, rows, self._limit, self._memory):
                if not isinstance(piece, Refusal) and piece.reaches_beyond(rows):
                    row = rows[piece.rows["batch"][-1]]
                    offsets = int(row["base_offset"]), int(row["last_offset"]), int(piece.rows["offset"][-1])
                    found[int(row["position"])] = offsets
        new = np.array([(position, *offsets) for position, offsets in found.items()], np.int64).reshape(-1, 4).T
        both = (np.concatenate(columns) for columns in zip(known.overlaps[:-1], new, strict=True))
        return KnownOverlaps(end, next_offset, overlaps_of(*both))


def _begins_doubtfully(data: bytes) -> bool:
    """True if one of the headers in a log's first bytes states more records than it has offsets."""
    first, rows = parse_batch(data, 0, 0), walk(data, 0, verify=False).rows
    return is_overfull(rows if len(rows) or first is None else rows_of(first, is_valid=True))
