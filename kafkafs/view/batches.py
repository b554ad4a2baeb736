"""`.batches.jsonl`: a line for each batch, its header, its place and whether its CRC holds. Nothing is left out."""

from collections.abc import Iterator, Mapping
from functools import partial

from kafkafs.format.batch import rows_of, walk
from kafkafs.format.jsonl import batch_lines, unreadable_line
from kafkafs.format.tables import copied
from kafkafs.log.log import Log
from kafkafs.log.look import Look
from kafkafs.log.places import RangeTarget
from kafkafs.log.segment import Damage, Segment
from kafkafs.view.partition_view import PartitionView, PointAnswer, PointView
from kafkafs.view.range_file import Make, RangeFile
from kafkafs.view.raw import RawPoint
from kafkafs.view.streams import Pieces

_WINDOW = 1 << 20
_LONGEST = 64 << 20
"""Bytes of damage that are looked at together: a batch that claims more is not believed."""


def batches_between(log: Log, start: int, end: int) -> Pieces:
    """The lines of all batches that overlap the offsets [start, end), damaged ones among them."""
    for segment, item in log.walk(start, end, largest=0):
        if isinstance(item, Damage):
            yield from ((None, line) for line in damage_lines(segment, item))
            yield item.last_offset + 1, b""
            continue
        rows = segment.overlapping(item.rows, start, end)
        if len(rows):
            yield from ((None, piece) for piece in batch_lines(segment.log_name, rows))
            yield int(rows["last_offset"][-1]) + 1, b""


def damage_lines(segment: Segment, damage: Damage) -> Iterator[bytes]:
    """The lines of bytes that are no valid batch: headers as far as they can be read, then one line for the rest.

    They are read a little at a time: a closed segment of noise is a gigabyte.
    """
    position, size = damage.position, _WINDOW
    while position < damage.end:
        data = segment.read(position, min(size, damage.end - position))
        walked = walk(data, position, verify=False)
        if len(walked.rows):
            rows = copied(walked.rows)
            rows["valid"] = 0
            yield from (bytes(piece) for piece in batch_lines(segment.log_name, rows))
            position, size = position + walked.at, _WINDOW
        elif size < len(data) + walked.missing <= min(_LONGEST, damage.end - position):
            size = len(data) + walked.missing
        else:
            yield unreadable_line(segment.log_name, position, damage.end - position)
            return


class BatchesPoint(PointView):
    """The line of the batch that a point leads to; where it leads to damage, all lines of that."""

    def _find(self, look: Look) -> PointAnswer:
        segment, found = self._target.batch(look)
        if isinstance(found, Damage):
            return PointAnswer(segment, -1, b"".join(damage_lines(segment, found)))
        line = b"".join(batch_lines(segment.log_name, rows_of(found, is_valid=True)))
        return PointAnswer(segment, found.max_timestamp, line)

    def xattrs(self) -> Mapping[str, bytes]:
        """The extended attributes of the raw batch: see `RawPoint`."""
        return RawPoint(self._view, self._target).xattrs()


class BatchesRange(RangeFile):
    """The lines of all batches that overlap a range. Damage has lines, and does not end it."""

    isolated = False

    def __init__(self, view: PartitionView, target: RangeTarget) -> None:
        super().__init__(view, target, "batches")

    def _end(self, look: Look) -> int:
        return look.log.end_offset

    def _made(self, look: Look, end: int) -> tuple[object, Make]:
        return None, partial(batches_between, look.log, end=end)
