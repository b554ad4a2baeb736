"""A lookup in one call: index pages, the headers that they lead to, the batch behind. See `kafkafs.log.quick_lookup`.

What the indexes say is a place to begin and two promises, which the log must keep before anything is answered:

    entry      an offset that a batch ends with, the first one there or one behind it (offset index)
    landmark   an offset; the first batch to reach it has the largest timestamp so far, `landmark_time` (time index)

Both are _NO_LIMIT where there is none, or once it is kept. At the head of the loop holds:

- the room begins with the log's bytes from `position` on, `got` of them; the batch looked at begins `at` bytes behind;
- what was stepped over is in order, ends with the offset `before`, lies in the segment's offsets and was not wanted;
- all of it is sound, its checksum verified now or before, but for one: the first batch, where the index names it and no
  answer depends on it. The next one is sound and follows at its end, so a scan from the segment's start, which meets
  that first batch whole or damaged, comes to the same place;
- no batch before the landmark is newer than it.

The answer is the first batch behind that is wanted, sound, and not contradicted by the header that follows it; and the
file's size and time of change are compared last, behind all reads. Every other end is UNSURE: the careful way decides.
No read goes beyond the room, no address is formed from what is on disk before it is compared with what was read.
"""

from kafkafs.disk.native.kernels.files import ABOUT_NANOSECONDS, ABOUT_SECONDS, ABOUT_SIZE, about_file, read_file
from kafkafs.disk.native.kernels.record_index import indexed_record
from kafkafs.disk.native.kernels.verified import batch_key, is_verified, set_verified
from kafkafs.disk.native.layout import (
    ANY,
    AT,
    CHANGED,
    FOUND,
    IS_SOUND,
    NEED_ALL,
    NEED_RECORD,
    REACHES_TIME,
    RECORD_INDEX_INTERVAL,
    UNSURE,
)
from kafkafs.format.native.kernels.headers import ends_before_it_begins, entry_size, last_offset, max_timestamp, verdict
from kafkafs.format.native.kernels.machine import (
    called,
    copy_bytes,
    inlined,
    load_i8,
    load_i32be,
    load_i64,
    load_i64be,
    load_u32,
    store_64,
)
from kafkafs.format.native.layout import MESSAGE, V2, VALID

_HEADER = V2.records
_PAGE, _OFFSET_WIDTH, _TIME_WIDTH = 4096, 8, 12
_ENTRIES = AT.offset_entries - AT.offset_index  # in bytes behind an index's descriptor; the same of both indexes
_FIRST, _LAST = AT.offset_first - AT.offset_index, AT.offset_last - AT.offset_index
_FARTHEST_KEY = 1 << 41  # with so many pages no product of the two overflows
_FIRST_LOOK, _MODEST = 4096, 64 << 10
_FARTHEST = 4 << 20  # bytes behind the index entry: a longer walk takes the careful way
_NO_LIMIT = 2**63 - 1
_NO_SLOT, _LOST = -1, -2


@inlined
def _fetch(state: int, descriptor: int, position: int, size: int) -> int:
    """Whether all those bytes stand at the beginning of the room now."""
    return _fetch_to(state, load_i64(state + AT.room), descriptor, position, size)


@inlined
def _fetch_to(state: int, target: int, descriptor: int, position: int, size: int) -> int:
    store_64(state + AT.iovec, target)
    store_64(state + AT.iovec_size, size)
    got: int = read_file(descriptor, state + AT.iovec, position, load_i64(state + AT.flags))
    if got != size:
        store_64(state + AT.short, 1)
        return 0
    return 1


@inlined
def _key(at: int, width: int) -> int:
    """What an index entry is sorted by: an offset, or in the wider entries of a time index a timestamp."""
    return load_i64be(at) if width == _TIME_WIDTH else load_i32be(at)


@called
def _floor_entry(state: int, index: int, width: int, target: int) -> int:
    """The address of the last index entry at or before `target`; _NO_SLOT without one, _LOST in a bad or padded index.

    `index` is the address of the index's numbers. Interpolation search: the first guess takes the keys to be even, and
    one page beside it is tried before the rest is halved. Where the guess lacks what the last page begins with, that
    page is looked at first. (Where pages are halved from the start, in an index of 480 KB in memory, a lookup of an
    offset takes 9.1 us instead of 7.1, of a time 15.6 instead of 10.1.)
    """
    room, in_page = load_i64(state + AT.room), _PAGE // width
    descriptor, entries, last = load_i64(index), load_i64(index + _ENTRIES), load_i64(index + _LAST)
    low, high = 0, (entries - 1) // in_page
    end, page, tries = high, high, 0
    if last != ANY and target < last:
        page, tries = _interpolated(state, index, width, target, end), 1
    while entries > 0 and low <= high:
        count = min(in_page, entries - page * in_page)
        if not _fetch(state, descriptor, page * in_page * width, count * width):
            return _LOST
        first, last_at = _key(room, width), room + width * (count - 1)
        if page == end:
            store_64(index + _LAST, first)
            if _key(last_at, width) == 0 and load_i32be(last_at + width - 4) == 0:
                return _LOST
        if first > target:
            if page == low:
                return _NO_SLOT if page == 0 else _LOST
            high = page - 1
            tries += 1
            page = low + (high - low + 1) // 2
            if tries == 1:
                page = min(high, _interpolated(state, index, width, target, end))
            elif tries == 2:
                page = high
        elif page == high or target < _key(last_at, width):
            below, above = 0, count - 1
            while below < above:
                middle = (below + above + 1) // 2
                if _key(room + width * middle, width) <= target:
                    below = middle
                else:
                    above = middle - 1
            return room + width * below
        else:
            low = page
            tries += 1
            page = low + 1 if tries == 2 else low + (high - low + 1) // 2
    return _NO_SLOT if entries <= 0 else _LOST


@inlined
def _interpolated(state: int, index: int, width: int, target: int, pages: int) -> int:
    """The page that holds `target` if the keys are even up to that of the last page, with `pages` before it."""
    if load_i64(index + _FIRST) == ANY:
        if not _fetch(state, load_i64(index), 0, width):
            return 0
        store_64(index + _FIRST, _key(load_i64(state + AT.room), width))
    first, last = load_i64(index + _FIRST), load_i64(index + _LAST)
    if first < 0 or target <= first or last <= target or last - first > _FARTHEST_KEY:
        return 0
    return (target - first) * pages // (last - first)


@inlined
def _size_of(here: int, left: int) -> int:
    """The size of the entry at `here`; -1 unless `left` bytes show all of its header, and that it can be one."""
    size = entry_size(here, left)
    if size < 0:
        return -1
    magic = load_i8(here + V2.magic)
    needed = _HEADER if magic == 2 else MESSAGE.timestamp if magic == 0 else MESSAGE.timestamp + 8
    return -1 if left < needed or ends_before_it_begins(here) else size


@inlined
def _follows(here: int, size: int, left: int) -> int:
    """What the header behind the batch at `here`, of `size` bytes, tells: 1 that it follows in order, -1 that it does
    not, 0 that it is no header, or not among the `left` bytes."""
    if _size_of(here + size, left - size) < 0:
        return 0
    return 1 if load_i64be(here + size) > last_offset(here) else -1


@inlined
def _up_to(here: int, size: int, offset: int, timestamp: int) -> int:
    """How much of a batch of v2 to read for a record of that offset or time, if its records are even; some more."""
    base = load_i64be(here + V2.base_offset)
    passed, all_of = offset - base + 1, last_offset(here) - base + 1
    if timestamp != ANY:
        first = load_i64be(here + V2.base_timestamp)
        passed, all_of = timestamp - first + 1, max_timestamp(here) - first + 1
    if passed <= 0 or passed >= all_of or all_of > _FARTHEST_KEY:
        return size
    part = size * passed // all_of
    return min(size, part + part // 16 + _FIRST_LOOK)


@inlined
def _leads(state: int, key: int, number: int) -> int:
    """At which byte of the batch an indexed record stands, if before what is wanted; else 0."""
    record_at, before, newest = indexed_record(load_i64(state + AT.record_index), key, number)
    offset, timestamp = load_i64(state + AT.offset), load_i64(state + AT.timestamp)
    too_far = (offset != ANY and before >= offset) or (timestamp != ANY and newest >= timestamp)
    return 0 if too_far else record_at


@called
def _shortcut(state: int, here: int, size: int, position: int, part: int) -> int:
    """Of the large batch at `position`, its header at `here`: how much of it stands at the beginning of the room now,
    the header and what follows the last indexed record before the one that is wanted; 0 without one. `part` of the
    batch would have to be read otherwise."""
    room, log, table = load_i64(state + AT.room), load_i64(state + AT.log), load_i64(state + AT.record_index)
    key = batch_key(load_i64(state + AT.generation), position, REACHES_TIME)
    number = part // RECORD_INDEX_INTERVAL
    while number > 0 and not _leads(state, key, number):
        number -= 1
    while number > 0 and _leads(state, key, number + 1):
        number += 1
    if number == 0:
        return 0
    record_at, before, _ = indexed_record(table, key, number)
    behind, _, _ = indexed_record(table, key, number + 1)
    end = behind if behind > record_at else min(size, record_at + RECORD_INDEX_INTERVAL + _FIRST_LOOK)
    length = end - record_at
    if record_at <= 0 or length <= 0 or _HEADER + length > load_i64(state + AT.room_size):
        return 0
    copy_bytes(room, here, _HEADER)
    if not _fetch_to(state, room + _HEADER, log, position + record_at, length):
        return 0
    store_64(state + AT.before, before)
    return _HEADER + length


@inlined
def _start(state: int) -> tuple[int, int, int, int, int]:
    """What the indexes say: (whether they tell, the position to start from, entry, landmark, landmark_time)."""
    base_offset, timestamp = load_i64(state + AT.base), load_i64(state + AT.timestamp)
    start_offset, landmark, landmark_time = load_i64(state + AT.start_offset), _NO_LIMIT, 0
    if timestamp != ANY:
        slot = _floor_entry(state, state + AT.time_index, _TIME_WIDTH, timestamp - 1)
        if slot == _LOST:
            return 0, 0, 0, 0, 0
        if slot != _NO_SLOT and base_offset + load_i32be(slot + 8) > start_offset:
            start_offset = landmark = base_offset + load_i32be(slot + 8)
            landmark_time = load_i64be(slot)
    slot = _floor_entry(state, state + AT.offset_index, _OFFSET_WIDTH, start_offset - base_offset)
    if slot == _NO_SLOT:
        return 1, 0, _NO_LIMIT, landmark, landmark_time
    if slot == _LOST:
        return 0, 0, 0, 0, 0
    entry, position = base_offset + load_i32be(slot), load_i32be(slot + 4)
    return 1 if position > 0 and entry <= start_offset else 0, position, entry, landmark, landmark_time


@inlined
def _look(state: int, position: int, needed: int, farthest: int) -> int:
    """How many of the `needed` bytes of the log at `position` stand at the beginning of the room now, fewer only at the
    log's end; 0 where they cannot be had, or are too far away."""
    got = min(needed, load_i64(state + AT.end) - position)
    if got <= 0 or position > farthest or got > load_i64(state + AT.room_size):
        return 0
    return got if _fetch(state, load_i64(state + AT.log), position, got) else 0


@inlined
def _is_wanted(state: int, here: int) -> int:
    """Whether the header at `here` is of a batch that is asked for. For a time, one without records is not."""
    offset = load_i64(state + AT.offset)
    counts = offset != ANY or load_i8(here + V2.magic) < 2 or load_i32be(here + V2.record_count) > 0
    reaches = last_offset(here) >= offset and max_timestamp(here) >= load_i64(state + AT.timestamp)
    return 1 if reaches and counts else 0


@inlined
def _is_proven(state: int, position: int, found: int) -> int:
    """Whether enough was verified of the batch at `position` before: of one that is `found`, all that is needed."""
    need = load_i64(state + AT.need)
    if need == NEED_ALL:
        return 0
    fact = REACHES_TIME if found and (load_i64(state + AT.timestamp) != ANY or need == NEED_RECORD) else IS_SOUND
    return is_verified(load_i64(state + AT.verified), batch_key(load_i64(state + AT.generation), position, fact))


@inlined
def _is_as_seen(state: int) -> int:
    """Whether the log's size and time of change are those that it had when it was looked at."""
    about = state + AT.about
    if about_file(load_i64(state + AT.log), about) != 0:
        return 0
    changed = load_i64(about + ABOUT_SECONDS) * 1_000_000_000 + load_u32(about + ABOUT_NANOSECONDS)
    same_size = load_i64(about + ABOUT_SIZE) == load_i64(state + AT.seen_size)
    return 1 if same_size and changed == load_i64(state + AT.seen_time) else 0


@inlined
def _answer(state: int, position: int, at: int, proven: int) -> int:
    """The batch at byte `at` of the room is the one; `proven` bytes of it were read, 0 for all."""
    store_64(state + AT.proven, proven)
    store_64(state + AT.position, position + at)
    store_64(state + AT.at, at)
    return FOUND if _is_as_seen(state) else CHANGED


def quick_lookup(state: int) -> int:
    """Kernel: looks up what the table at `state` asks for (LookupTable).

    FOUND: the batch wanted stands at byte `at` of the room, whole and sound, and at `position` in the segment; of one
    that is `proven` so many bytes. CHANGED: the same, but the log is not as it was seen. UNSURE: a read failed or was
    short, something is not as it should be, or there is no such batch before the end.
    """
    room, end, offset = load_i64(state + AT.room), load_i64(state + AT.end), load_i64(state + AT.offset)
    sure, position, entry, landmark, landmark_time = _start(state)
    if not sure:
        return UNSURE
    farthest, before, first, skipped = position + _FARTHEST, load_i64(state + AT.base) - 1, 1, 0
    at, got, needed = 0, 0, _FIRST_LOOK
    store_64(state + AT.before, ANY)
    while True:
        if needed > 0:  # the room is to begin with the batch that stands at `at`
            position, at = position + at, 0
            got, needed = _look(state, position, needed, farthest), 0
            if got == 0:
                return UNSURE
        left, here, is_last = got - at, room + at, position + got >= end
        if left < _HEADER and not is_last:
            needed = _HEADER
            continue
        size = _size_of(here, left)
        if size < 0:
            return UNSURE
        base, last, newest = load_i64be(here + V2.base_offset), last_offset(here), max_timestamp(here)
        in_order = before < base <= last < load_i64(state + AT.next_base) and size <= end - position - at
        if not in_order or last > entry or (landmark != _NO_LIMIT and newest > landmark_time):
            return UNSURE
        found, passes = _is_wanted(state, here), last >= landmark
        if found and skipped and offset != ANY and base > offset:
            return UNSURE  # the batch that was not verified may have held it
        skips = first == 1 and entry in (_NO_LIMIT, last) and not found and not passes
        proven = 0 if skips else _is_proven(state, position + at, found)
        if proven and found and load_i64(state + AT.need) == NEED_RECORD:
            part = _up_to(here, size, offset, load_i64(state + AT.timestamp))
            if size > _MODEST and left < part:
                short = _shortcut(state, here, size, position + at, part)
                if short:
                    position, at, here, left, part = position + at, 0, room, short, 0
            if left < part:
                needed = part
                continue
        if not skips and not proven:
            if size + _HEADER > left and not is_last:
                needed = size + _HEADER
                continue
            if verdict(here, size, load_i8(here + V2.magic)) != VALID or (found and _follows(here, size, left) < 0):
                return UNSURE
            if left - size >= _HEADER and _follows(here, size, left) > 0:
                key = batch_key(load_i64(state + AT.generation), position + at, IS_SOUND)
                set_verified(load_i64(state + AT.verified), key)
        if last == entry:
            entry = _NO_LIMIT
        if passes:
            if newest != landmark_time:
                return UNSURE
            landmark = _NO_LIMIT
        if found:
            kept = landmark == _NO_LIMIT and entry == _NO_LIMIT
            return _answer(state, position, at, min(left, size) if proven else 0) if kept else UNSURE
        at, before, first, skipped = at + size, last, 0, 1 if skips else 0
        if got - at < _HEADER and not is_last:
            needed = size + size // 8 + _HEADER if size <= _MODEST else _HEADER
