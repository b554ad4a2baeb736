"""A look at many closed segments, for their health: whole indexes, a log's end and headers. See `disk.closed_segments`.

A segment is HEALTHY where all of this holds: its three files are those that were listed, the log as it was then; each
index is whole and rises as Kafka's do; entries in the middle and at the end of the offset index lead to headers that
they can be about; from the batch that has the time index's last entry to the log's end all batches are sound and in
order; and that batch has the entry's timestamp, which no other one exceeds. Everything else is IN_DOUBT.

No address is formed from what is on disk before it is compared with what was read.
"""

from kafkafs.disk.native.kernels.files import (
    ABOUT_NANOSECONDS,
    ABOUT_SECONDS,
    ABOUT_SIZE,
    LOG,
    OFFSET_INDEX,
    TIME_INDEX,
    about_file,
    advise_file,
    close_file,
    open_segment_file,
    read_file,
)
from kafkafs.disk.native.layout import (
    HEALTHY,
    IN_DOUBT,
    LOOK_ROOM,
    NO_TIMES,
    SEGMENT_AT,
    SEGMENT_ROW,
)
from kafkafs.format.native.kernels.headers import (
    ends_before_it_begins,
    entry_size,
    last_offset,
    max_timestamp,
    verdict,
)
from kafkafs.format.native.kernels.machine import (
    called,
    inlined,
    load_i8,
    load_i32be,
    load_i64,
    load_i64be,
    load_u32,
    store_64,
)
from kafkafs.format.native.layout import V2, VALID

_RANDOM = 1  # POSIX_FADV_RANDOM
_LONG = 64 << 10  # from so many bytes on a read is to leave no page behind
_HEADER = V2.records
_OFFSET_WIDTH, _TIME_WIDTH = 8, 12
_PLACE, _ABOUT = 0, 16  # an iovec; what `statx` says, and a file's name


@inlined
def _open(notes: int, directory: int, base: int, kind: int, inode: int, flags: int) -> int:
    """A descriptor of one of a segment's files, and what there is about it in the notes; -1 where it is another."""
    file = open_segment_file(directory, base, kind, inode, notes + _ABOUT)
    if file >= 0 and flags < 0:  # see `page_cache.opened`
        advise_file(file, _RANDOM)
    return file


@inlined
def _fetch(notes: int, file: int, position: int, size: int, flags: int) -> int:
    """Whether all those bytes stand at the beginning of the buffer now. Negative `flags`: no long read."""
    if size >= _LONG and flags < 0:
        return 0
    store_64(notes + _PLACE, notes + LOOK_ROOM)
    store_64(notes + _PLACE + 8, size)
    got: int = read_file(file, notes + _PLACE, position, flags if size >= _LONG else 0)
    return 1 if got == size else 0


@called
def _read_index(notes: int, directory: int, row: int, kind: int, room: int, flags: int) -> int:
    """The size of one of a segment's indexes, which stands in the buffer now; -1 where it cannot be had."""
    inode = load_i64(row + (SEGMENT_AT.time_index if kind == TIME_INDEX else SEGMENT_AT.offset_index))
    file = _open(notes, directory, load_i64(row + SEGMENT_AT.base), kind, inode, flags)
    if file < 0:
        return -1
    size = load_i64(notes + _ABOUT + ABOUT_SIZE)
    if size > room or not (size == 0 or _fetch(notes, file, 0, size, flags)):
        size = -1
    close_file(file)
    return size


@inlined
def _times_rise(at: int, size: int) -> int:
    """Whether a time index is whole, without zeros behind it, its timestamps rising and its offsets not falling."""
    if size % _TIME_WIDTH != 0:
        return 0
    time, offset, end = -1, 0, at + size
    while at < end:
        if load_i64be(at) <= time or load_i32be(at + 8) < offset:
            return 0
        time, offset = load_i64be(at), load_i32be(at + 8)
        at += _TIME_WIDTH
    return 1 if size == 0 or time != 0 or offset != 0 else 0


@inlined
def _offsets_rise(at: int, size: int) -> int:
    """Whether an offset index is whole, without zeros behind it, its offsets and positions rising."""
    if size % _OFFSET_WIDTH != 0:
        return 0
    offset, position, end = -1, -1, at + size
    while at < end:
        if load_i32be(at) <= offset or load_i32be(at + 4) <= position:
            return 0
        offset, position = load_i32be(at), load_i32be(at + 4)
        at += _OFFSET_WIDTH
    return 1 if size == 0 or offset != 0 or position != 0 else 0


@inlined
def _floor_slot(at: int, slots: int, relative: int) -> int:
    """The last slot of the offset index whose offset is at or before `relative`; -1 without one."""
    low, high = 0, slots
    while low < high:
        middle = (low + high) // 2
        if load_i32be(at + middle * _OFFSET_WIDTH) <= relative:
            low = middle + 1
        else:
            high = middle
    return low - 1


@inlined
def _leads(notes: int, log: int, size: int, base: int, relative: int, position: int) -> int:
    """Whether a batch that ends with that offset, or before it, can begin at that position."""
    left = min(_HEADER, size - position)
    if left < _HEADER or not _fetch(notes, log, position, left, 0):
        return 0
    here = notes + LOOK_ROOM
    if entry_size(here, left) < 0 or ends_before_it_begins(here):
        return 0
    return 1 if base <= load_i64be(here) <= last_offset(here) <= base + relative else 0


@called
def _end_keeps(notes: int, size: int, first: int, row: int, relative: int, newest: int) -> int:
    """Whether the `size` bytes in the buffer, a log's end, are sound batches in order: the first of them with offsets
    up to `first` (-1: from the segment's base on), that of the offset `relative` the newest, as old as `newest`."""
    base, next_base = load_i64(row + SEGMENT_AT.base), load_i64(row + SEGMENT_AT.next_base)
    here, end, before, largest, met = notes + LOOK_ROOM, notes + LOOK_ROOM + size, base - 1, -1, 0
    if first >= 0 and (size <= _HEADER or last_offset(here) > base + first):
        return 0
    while here < end:
        length = entry_size(here, end - here)
        if length < 0 or length > end - here or ends_before_it_begins(here):
            return 0
        last, time = last_offset(here), max_timestamp(here)
        if (
            not before < load_i64be(here) <= last < next_base
            or verdict(here, length, load_i8(here + V2.magic)) != VALID
        ):
            return 0
        if not met and last >= base + relative:
            met = 1
            if time != newest:
                return 0
        largest, before, here = max(largest, time), last, here + length
    return 1 if met and largest == newest else 0


@inlined
def _is_as_listed(notes: int, row: int) -> int:
    """Whether the log has the size and the time of change that it was listed with."""
    about = notes + _ABOUT
    changed = load_i64(about + ABOUT_SECONDS) * 1_000_000_000 + load_u32(about + ABOUT_NANOSECONDS)
    same_size = load_i64(about + ABOUT_SIZE) == load_i64(row + SEGMENT_AT.seen_size)
    return 1 if same_size and changed == load_i64(row + SEGMENT_AT.seen_time) else 0


@called
def _newest_of_all(notes: int, size: int) -> tuple[int, int, int]:
    """(offset, timestamp) of the first of the newest batches in the buffer, and the first one's timestamp."""
    here, end, offset, newest, first = notes + LOOK_ROOM, notes + LOOK_ROOM + size, -1, -2, -1
    while here < end:
        length = entry_size(here, end - here)
        if length < 0 or length > end - here:
            break
        if newest == -2:
            first = max_timestamp(here)
        if max_timestamp(here) > newest:
            offset, newest = last_offset(here), max_timestamp(here)
        here += length
    return offset, newest, first


@called
def _look(notes: int, directory: int, row: int, room: int, flags: int) -> int:
    """The verdict on one segment; its largest timestamp stands in the row."""
    base, here = load_i64(row + SEGMENT_AT.base), notes + LOOK_ROOM
    size = _read_index(notes, directory, row, TIME_INDEX, room, flags)
    if size < 0 or not _times_rise(here, size):
        return IN_DOUBT
    newest, relative, is_empty = -1, 0, size == 0
    if not is_empty:
        newest, relative = load_i64be(here + size - _TIME_WIDTH), load_i32be(here + size - 4)
    size = _read_index(notes, directory, row, OFFSET_INDEX, room, flags)
    if size < 0 or not _offsets_rise(here, size):
        return IN_DOUBT
    slots, entry, position, last, last_at, middle, middle_at = size // _OFFSET_WIDTH, -1, 0, -1, 0, -1, 0
    if slots:
        last, last_at = load_i32be(here + size - 8), load_i32be(here + size - 4)
        middle = load_i32be(here + slots // 2 * _OFFSET_WIDTH)
        middle_at = load_i32be(here + slots // 2 * _OFFSET_WIDTH + 4)
        slot = _floor_slot(here, slots, relative)
        if slot >= 0 and not is_empty:
            entry, position = load_i32be(here + slot * _OFFSET_WIDTH), load_i32be(here + slot * _OFFSET_WIDTH + 4)
    log = _open(notes, directory, base, LOG, load_i64(row + SEGMENT_AT.log), flags)
    if log < 0:
        return IN_DOUBT
    end, answer = load_i64(row + SEGMENT_AT.seen_size), IN_DOUBT
    leads = 1 if _is_as_listed(notes, row) and position < end and end - position <= room else 0
    if leads and slots and position != last_at:  # else the log's end begins there
        leads = _leads(notes, log, end, base, last, last_at)
    if leads and slots and position != middle_at:
        leads = _leads(notes, log, end, base, middle, middle_at)
    if leads and _fetch(notes, log, position, end - position, flags):
        first = -1
        if is_empty:
            offset, newest, first = _newest_of_all(notes, end)
            relative = offset - base
        if _end_keeps(notes, end - position, entry, row, relative, newest):
            answer = NO_TIMES if first >= 0 else HEALTHY
    if about_file(log, notes + _ABOUT) != 0 or not _is_as_listed(notes, row):
        answer = IN_DOUBT
    close_file(log)
    store_64(row + SEGMENT_AT.largest, newest)
    return answer


def look_at_closed_segments(directory: int, rows: int, count: int, notes: int, room: int, flags: int) -> int:
    """Kernel: fills the answers of `count` rows of ClosedSegmentRow; how many are in doubt.

    The segments' files lie in the open `directory`. Behind LOOK_ROOM bytes of `notes` there is `room` for reads, of
    which long ones take `flags`; where these are negative there is no long one, and none ahead.
    """
    doubts = 0
    for number in range(count):
        row = rows + number * SEGMENT_ROW
        answer = _look(notes, directory, row, room, flags)
        store_64(row + SEGMENT_AT.verdict, answer)
        doubts += answer == IN_DOUBT
    return doubts
