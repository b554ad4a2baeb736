"""The tables of the quick lookup, as numbers of 8 bytes: what a lookup is asked, what it answers, what it remembers.

Each field is named once, in a tuple of names: a kernel takes its place in bytes (`AT.offset`), Python its number in an
array (`SLOT.offset`). numba makes constants of both.
"""

from typing import NamedTuple

ANY = -(2**63)
"""Instead of an offset or a timestamp: none is asked for, or it is not known."""


class LookupTable(NamedTuple):
    """The table of one lookup, see `kernels.quick_lookup`."""

    log: int  # descriptor
    offset_index: int  # descriptor; how many entries it has; what its first and its last page begin with, where that
    offset_entries: int  # is known: it is noted for the next lookup
    offset_first: int
    offset_last: int
    time_index: int  # the same of the time index
    time_entries: int
    time_first: int
    time_last: int
    flags: int  # of each read
    room: int  # address and size of the buffer to read into
    room_size: int
    start_offset: int  # the offset from which on a batch may be wanted
    base: int  # offset of the segment: all offsets lie at or behind it
    next_base: int  # all offsets lie below
    end: int  # position at which the log ends
    seen_size: int  # the log's size and time of change, in nanoseconds, when it was looked at
    seen_time: int
    offset: int  # of the batch wanted: its last offset is at or after this one
    timestamp: int  # and its largest timestamp at or after this one [ms]
    need: int  # what is needed of a batch that was verified before: one of NEED_
    generation: int  # what the segment's batches are known by in the two tables that follow
    verified: int  # address of the table of batches that were found sound, see `kernels.verified`
    record_index: int  # address of the table of records inside of large ones, see `kernels.record_index`
    proven: int  # answer: where the batch was verified before, how many bytes of it were read; else 0
    before: int  # answer: where its first records were left out, the offset of the last of those; else ANY
    position: int  # answer: of the batch, in the segment
    at: int  # answer: of the batch, in the buffer
    short: int  # answer: whether a read failed, or brought less than was asked for
    iovec: int  # address and size, for `preadv2`
    iovec_size: int
    about: int  # what `statx` says of the log: STATX_SIZE bytes from here on


SLOT = LookupTable(*range(len(LookupTable._fields)))
AT = LookupTable(*range(0, 8 * len(LookupTable._fields), 8))
STATX_SIZE = 256
NAME_SIZE = 64  # of a segment's file, as C has it
LOOKUP_SLOTS = SLOT.about + STATX_SIZE // 8

UNSURE, FOUND, CHANGED = range(3)
"""What a lookup ends with."""

NEED_ALL, NEED_HEADER, NEED_RECORD = range(3)
"""What is read of a batch that was verified before: all of it, its header, or up to about the record that is wanted."""

IS_SOUND, REACHES_TIME = range(2)
"""What is verified: a batch's checksum holds and another follows; also, its records reach its largest timestamp."""

VERIFIED_BITS = 15
RECORD_INDEX_BITS = 16
"""The tables have two to the power of so many slots."""

RECORD_INDEX_ROW = 32
RECORD_INDEX_INTERVAL = 16 << 10
"""Bytes of a batch for which there is one entry."""

HASH_FACTOR = 0x9E3779B97F4A7C15 - 2**64

NO_RECORD, ONE_RECORD = range(2)
"""What a search for one record of a batch ends with."""


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
