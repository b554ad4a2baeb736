"""The table of a look at closed segments, as numbers of 8 bytes."""

from typing import NamedTuple

STATX_SIZE = 256
NAME_SIZE = 64  # of a segment's file, as C has it


class ClosedSegmentRow(NamedTuple):
    """What is asked about one closed segment, and what is answered, see `kernels.closed_segments`."""

    base: int  # offset of the segment; its files are named after it
    next_base: int  # all offsets lie below
    log: int  # inodes, as the directory lists them
    offset_index: int
    time_index: int
    seen_size: int  # the log's size and time of change, in nanoseconds, when it was listed
    seen_time: int
    verdict: int  # answer: one of the three below
    largest: int  # answer, unless in doubt: the largest timestamp of its batches; -1 for none [ms]


SEGMENT_SLOT = ClosedSegmentRow(*range(len(ClosedSegmentRow._fields)))
SEGMENT_AT = ClosedSegmentRow(*range(0, 8 * len(ClosedSegmentRow._fields), 8))
SEGMENT_ROW = 8 * len(ClosedSegmentRow._fields)

IN_DOUBT, HEALTHY, NO_TIMES = range(3)
"""The verdicts: something takes a closer look; nothing does; all is well but that the time index is empty, though the
log has times."""

LOOK_ROOM = 512
"""Bytes before the buffer of such a look that it keeps its notes in."""
