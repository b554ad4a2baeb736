"""Markers that damaged bytes of a log may hide."""

from typing import NamedTuple

from kafkafs.format.batch import HEADER_V2, parse_batch
from kafkafs.log.batch_runs import Damage
from kafkafs.log.segment import Segment


class HiddenMarkers(NamedTuple):
    """Damaged bytes in which transactions may have ended."""

    place: str
    last_offset: int
    producers: frozenset[int] | None
    """The producers whose markers may be here; None if they may be anybody's."""

    def may_be_of(self, producer: int) -> bool:
        """True if a marker of that producer may be there."""
        return self.producers is None or producer in self.producers


def hidden_markers(segment: Segment, damage: Damage) -> HiddenMarkers | None:
    """Return what the damage may hide; None if no marker is in it.

    Damaged bytes that are framed as batches up to the next sound one are those batches, and only their contents are
    damaged: their headers tell whose markers they are.
    """
    if damage.last_offset < damage.base_offset or (producers := _by_headers(segment, damage)) == frozenset():
        return None
    place = f"{damage.size} damaged bytes at position {damage.position} of {segment.log_name}"
    return HiddenMarkers(place, damage.last_offset, producers)


def _by_headers(segment: Segment, damage: Damage) -> frozenset[int] | None:
    """The producers of the markers, by the headers; None if these do not fit their neighbours."""
    file, position, offset, found = segment.log(), damage.position, damage.base_offset, set[int]()
    while position < damage.end:
        batch = parse_batch(file.read(position, HEADER_V2.size), 0, position)
        if batch is None or batch.end > damage.end:
            return None
        if not offset <= batch.base_offset <= batch.last_offset <= damage.last_offset:
            return None
        if batch.is_control:
            found.add(batch.producer_id)
        position, offset = batch.end, batch.last_offset + 1
    return frozenset(found)
