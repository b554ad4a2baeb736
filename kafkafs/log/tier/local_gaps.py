"""Offsets that the disk has lost between two of its segments, and the log that a tier makes whole again.

The segments on a disk follow one another without holes, because a tiered log is not compacted. So the offsets between a
segment's last batch and the next segment's base are lost there, and the tier is asked for them like for those below the
disk's first segment. Bytes behind the last batch that are no batch are damage, which says so itself: no gap is there.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from kafkafs.errors import Denied, DiskError, NotFound, Vanished
from kafkafs.format.batch import LARGEST_HEADER
from kafkafs.log.segment import Segment
from kafkafs.log.tail import find_tail, last_offset_of
from kafkafs.log.tier.counting import Piece


class LocalGap(NamedTuple):
    """The offsets [start, stop), lost between two segments of the disk."""

    start: int
    stop: int


class OnDisk(NamedTuple):
    """The disk's part of the log: from `start` on, None if it has no segment, but for the gaps. `is_sure`: False if a
    segment could not be read at this look, so that there may be a gap behind it."""

    start: int | None
    gaps: tuple[LocalGap, ...] = ()
    is_sure: bool = True


def on_disk(local: Sequence[Segment]) -> OnDisk:
    """The part of the log that these segments are. Each closed log is looked at once."""
    ends = [(_end_offset(one, other.base_offset), other.base_offset) for one, other in pairwise(local)]
    gaps = tuple(LocalGap(end, base) for end, base in ends if end is not None and end < base)
    return OnDisk(local[0].base_offset if local else None, gaps, all(end is not None for end, _ in ends))


def _end_offset(segment: Segment, next_base: int) -> int | None:
    """The offset behind the last batch of a closed log; that of the next segment if damage follows. None if the log
    cannot be read now."""
    end = segment.known_end_offset
    if end is None:
        try:
            tail = find_tail(segment, None)
            rest = segment.log().read(tail.position, LARGEST_HEADER)
        except (Denied, DiskError, NotFound, Vanished):
            return None
        end = segment.known_end_offset = next_base if any(rest) else last_offset_of(tail) + 1
    return end


def without_overlaps(parts: Sequence[Sequence[Piece]]) -> list[list[Piece]]:
    """The pieces below the disk's part and in each gap, where an upload may reach over several of these. A piece that
    begins inside an earlier part takes over there."""
    found: list[list[Piece]] = []
    for part in parts:
        for earlier in found if part else ():
            first = part[0].upload.base_offset
            earlier[:] = [each for each in earlier if each.upload.base_offset < first]
            earlier[-1:] = [each._replace(stop=min(each.stop or first, first)) for each in earlier[-1:]]
        found.append([*part])
    return found


def whole_log(
    local: Sequence[Segment], gaps: Sequence[LocalGap], remote: Sequence[Sequence[Segment]], before: Sequence[Segment]
) -> tuple[Segment, ...]:
    """The log of the disk's segments and the remote ones: those below the disk's part, then those of each gap.

    A remote segment that begins inside one of the disk takes over there, so that no offset is twice. A segment that was
    cut in the same way in the log `before` is the same one.
    """
    if not gaps:
        return *remote[0], *local
    known = {each.base_offset: each for each in before if each.is_cut}
    found, taken = [*remote[0]], 0
    for gap, pieces in zip(gaps, remote[1:], strict=True):
        behind = next(number for number, each in enumerate(local) if each.base_offset == gap.stop)
        found += local[taken:behind]
        taken = behind
        first = min([gap.start, *(each.base_offset for each in pieces[:1])])
        while pieces and found and found[-1].base_offset >= first:
            found.pop()
        if pieces and found and found[-1].object is None:
            found[-1] = _cut(found[-1], first, known)
        found += pieces
    return *found, *local[taken:]


def _cut(segment: Segment, stop: int, known: Mapping[int, Segment]) -> Segment:
    same = known.get(segment.base_offset)
    is_same = same is not None and same.files is segment.files and same.next_base == stop
    return same if same is not None and is_same else Segment(segment.files, stop, is_cut=True)
