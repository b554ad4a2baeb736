"""A lookup in one call: index pages, the header that they lead to, the batch behind. See `kafkafs.log.glance`.

The one kernel that reads files, from descriptors that are open: what it saves is the way back to Python between reads.
"""

from kafkafs.format.native.kernels.headers import smallest, verdict
from kafkafs.format.native.kernels.known import is_known, known_key, make_known
from kafkafs.format.native.kernels.machine import (
    ABOUT_NANOSECONDS,
    ABOUT_SECONDS,
    ABOUT_SIZE,
    about_file,
    called,
    copy_bytes,
    inlined,
    load_i8,
    load_i32be,
    load_i64,
    load_i64be,
    load_u32,
    read_file,
    store_64,
)
from kafkafs.format.native.kernels.waypoints import waypoint
from kafkafs.format.native.layout import (
    GLANCE_ABOUT,
    GLANCE_ANY,
    GLANCE_AT,
    GLANCE_BASE,
    GLANCE_BEFORE,
    GLANCE_CHANGED,
    GLANCE_END,
    GLANCE_FLAGS,
    GLANCE_FOUND,
    GLANCE_GENERATION,
    GLANCE_INDEX,
    GLANCE_KNOWN,
    GLANCE_LOG,
    GLANCE_NEED,
    GLANCE_NEXT_BASE,
    GLANCE_OFFSET,
    GLANCE_PLACE,
    GLANCE_PLACE_SIZE,
    GLANCE_POSITION,
    GLANCE_PROVEN,
    GLANCE_ROOM,
    GLANCE_ROOM_SIZE,
    GLANCE_SEEN_SIZE,
    GLANCE_SEEN_TIME,
    GLANCE_SHORT,
    GLANCE_SOUGHT,
    GLANCE_TIMES,
    GLANCE_TIMESTAMP,
    GLANCE_UNSURE,
    GLANCE_WAYPOINTS,
    KNOWN_SOUND,
    KNOWN_TIMES,
    NEED_ALL,
    NEED_RECORD,
    VALID,
    WAYPOINT_EVERY,
)

_FRAME, _HEADER = 17, 61
_PAGE, _OFFSET_WIDTH, _TIME_WIDTH = 4096, 8, 12
_ENTRIES, _FIRST, _LAST = 8, 16, 24  # of an index's numbers, behind its descriptor
_FARTHEST_KEY = 1 << 41  # with so many pages no product of the two overflows
_FIRST_LOOK, _MODEST = 4096, 64 << 10
_FARTHEST = 4 << 20  # bytes behind the index entry: who has to go on for longer takes the careful way
_NO_LIMIT = 2**63 - 1
_NO_SLOT, _LOST = -1, -2


@inlined
def _fetch(state: int, descriptor: int, position: int, size: int) -> int:
    """Whether all those bytes stand at the beginning of the room now."""
    return _fetch_to(state, load_i64(state + GLANCE_ROOM), descriptor, position, size)


@inlined
def _fetch_to(state: int, place: int, descriptor: int, position: int, size: int) -> int:
    store_64(state + GLANCE_PLACE, place)
    store_64(state + GLANCE_PLACE_SIZE, size)
    got: int = read_file(descriptor, state + GLANCE_PLACE, position, load_i64(state + GLANCE_FLAGS))
    if got != size:
        store_64(state + GLANCE_SHORT, 1)
        return 0
    return 1


@inlined
def _key(at: int, width: int) -> int:
    """What an index entry is sorted by: an offset, or in the wider entries of a time index a timestamp."""
    return load_i64be(at) if width == _TIME_WIDTH else load_i32be(at)


@called
def _floor_entry(state: int, index: int, width: int, target: int) -> int:
    """The address of the last index entry at or before `target`; _NO_SLOT without one, _LOST in a bad or padded index.

    `index` is the address of the index's numbers. The first guess takes the keys to be even, and one page beside it is
    tried before the rest is halved. Where the guess lacks what the last page begins with, that page is looked at first.
    """
    room, in_page = load_i64(state + GLANCE_ROOM), _PAGE // width
    descriptor, entries, last = load_i64(index), load_i64(index + _ENTRIES), load_i64(index + _LAST)
    low, high = 0, (entries - 1) // in_page
    end, page, tries = high, high, 0
    if last != GLANCE_ANY and target < last:
        page, tries = _even(state, index, width, target, end), 1
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
                page = min(high, _even(state, index, width, target, end))
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
def _even(state: int, index: int, width: int, target: int, pages: int) -> int:
    """The page that holds `target` if the keys are even up to that of the last page, with `pages` before it."""
    if load_i64(index + _FIRST) == GLANCE_ANY:
        if not _fetch(state, load_i64(index), 0, width):
            return 0
        store_64(index + _FIRST, _key(load_i64(state + GLANCE_ROOM), width))
    first, last = load_i64(index + _FIRST), load_i64(index + _LAST)
    if first < 0 or target <= first or last <= target or last - first > _FARTHEST_KEY:
        return 0
    return (target - first) * pages // (last - first)


@inlined
def _header_size(magic: int) -> int:
    return 18 if magic == 0 else 26 if magic == 1 else _HEADER


@inlined
def _size_of(here: int, left: int) -> int:
    """The size of the entry at `here`, as far as `left` bytes show that it can be one; else -1."""
    if left <= _FRAME:
        return -1
    size, magic = load_i32be(here + 8) + 12, load_i8(here + 16)
    if magic < 0 or magic > 2 or load_i64be(here) < 0 or size < smallest(magic) or left < _header_size(magic):
        return -1
    if magic == 2 and load_i32be(here + 23) < 0:
        return -1
    return size


@inlined
def _last_offset(here: int) -> int:
    return load_i64be(here) + load_i32be(here + 23) if load_i8(here + 16) == 2 else load_i64be(here)


@inlined
def _max_timestamp(here: int) -> int:
    magic = load_i8(here + 16)
    return load_i64be(here + 35) if magic == 2 else load_i64be(here + 18) if magic == 1 else -1


@inlined
def _up_to(here: int, size: int, base: int, last: int, offset: int, timestamp: int) -> int:
    """How much of a batch of v2 to read for a record of that offset or time, if its records are even; some more."""
    passed, all_of = offset - base + 1, last - base + 1
    if timestamp != GLANCE_ANY:
        first = load_i64be(here + 27)
        passed, all_of = timestamp - first + 1, load_i64be(here + 35) - first + 1
    if passed <= 0 or passed >= all_of or all_of > _FARTHEST_KEY:
        return size
    part = size * passed // all_of
    return min(size, part + part // 16 + _FIRST_LOOK)


@inlined
def _leads(state: int, key: int, number: int) -> int:
    """The place in the batch of a waypoint that stands before what is wanted; 0 without one."""
    place, before, newest = waypoint(load_i64(state + GLANCE_WAYPOINTS), key, number)
    offset, timestamp = load_i64(state + GLANCE_OFFSET), load_i64(state + GLANCE_TIMESTAMP)
    too_far = (offset != GLANCE_ANY and before >= offset) or (timestamp != GLANCE_ANY and newest >= timestamp)
    return 0 if too_far else place


@called
def _shortcut(state: int, here: int, size: int, position: int, part: int) -> int:
    """Of the large batch at `position`, its header at `here`: how much of it stands at the beginning of the room now,
    the header and what follows the last waypoint before the record that is wanted; 0 without one. `part` of the batch
    would have to be read otherwise."""
    room, log = load_i64(state + GLANCE_ROOM), load_i64(state + GLANCE_LOG)
    key = known_key(load_i64(state + GLANCE_GENERATION), position, KNOWN_TIMES)
    number = part // WAYPOINT_EVERY
    while number > 0 and not _leads(state, key, number):
        number -= 1
    while number > 0 and _leads(state, key, number + 1):
        number += 1
    if number == 0:
        return 0
    place, before, _ = waypoint(load_i64(state + GLANCE_WAYPOINTS), key, number)
    behind, _, _ = waypoint(load_i64(state + GLANCE_WAYPOINTS), key, number + 1)
    length = (behind if behind > place else min(size, place + WAYPOINT_EVERY + _FIRST_LOOK)) - place
    if place <= 0 or length <= 0 or _HEADER + length > load_i64(state + GLANCE_ROOM_SIZE):
        return 0
    copy_bytes(room, here, _HEADER)
    if not _fetch_to(state, room + _HEADER, log, position + place, length):
        return 0
    store_64(state + GLANCE_BEFORE, before)
    return _HEADER + length


@inlined
def _start(state: int) -> tuple[int, int, int, int, int]:
    """What the indexes say: (whether they tell, the position to start from, an offset that a batch ends with, the first
    one there or one behind it, an offset, the largest timestamp of the first batch to reach that one)."""
    base_offset, timestamp = load_i64(state + GLANCE_BASE), load_i64(state + GLANCE_TIMESTAMP)
    sought, landmark, landmark_time = load_i64(state + GLANCE_SOUGHT), _NO_LIMIT, 0
    if timestamp != GLANCE_ANY:
        hint = _floor_entry(state, state + GLANCE_TIMES, _TIME_WIDTH, timestamp - 1)
        if hint == _LOST:
            return 0, 0, 0, 0, 0
        if hint != _NO_SLOT and base_offset + load_i32be(hint + 8) > sought:
            sought = landmark = base_offset + load_i32be(hint + 8)
            landmark_time = load_i64be(hint)
    hint = _floor_entry(state, state + GLANCE_INDEX, _OFFSET_WIDTH, sought - base_offset)
    if hint == _NO_SLOT:
        return 1, 0, _NO_LIMIT, landmark, landmark_time
    if hint == _LOST:
        return 0, 0, 0, 0, 0
    entry, position = base_offset + load_i32be(hint), load_i32be(hint + 4)
    return 1 if position > 0 and entry <= sought else 0, position, entry, landmark, landmark_time


@inlined
def _is_as_seen(state: int) -> int:
    about = state + GLANCE_ABOUT
    if about_file(load_i64(state + GLANCE_LOG), about) != 0:
        return 0
    changed = load_i64(about + ABOUT_SECONDS) * 1_000_000_000 + load_u32(about + ABOUT_NANOSECONDS)
    same_size = load_i64(about + ABOUT_SIZE) == load_i64(state + GLANCE_SEEN_SIZE)
    return 1 if same_size and changed == load_i64(state + GLANCE_SEEN_TIME) else 0


def glance(state: int) -> int:
    """Kernel: looks up what the table of GLANCE_ numbers at `state` asks for.

    FOUND: the batch wanted stands at byte AT of the room, whole and sound, and at POSITION in the segment; of one that
    is PROVEN so many bytes. CHANGED: the same, but the log is not as it was SEEN. UNSURE: a read failed or was short,
    something is not as it should be, or there is no such batch before the end.
    """
    need, known, generation = (
        load_i64(state + GLANCE_NEED), load_i64(state + GLANCE_KNOWN), load_i64(state + GLANCE_GENERATION)
    )  # fmt: skip
    room, end, log = load_i64(state + GLANCE_ROOM), load_i64(state + GLANCE_END), load_i64(state + GLANCE_LOG)
    base_offset, next_base = load_i64(state + GLANCE_BASE), load_i64(state + GLANCE_NEXT_BASE)
    offset, timestamp = load_i64(state + GLANCE_OFFSET), load_i64(state + GLANCE_TIMESTAMP)
    sure, position, entry, landmark, landmark_time = _start(state)
    if not sure:
        return GLANCE_UNSURE
    farthest, before, first, skipped = position + _FARTHEST, base_offset - 1, 1, 0
    at, got, needed = 0, 0, _FIRST_LOOK
    store_64(state + GLANCE_BEFORE, GLANCE_ANY)
    while True:
        if needed > 0:  # the room is to begin with the entry that stands at `at`
            position, at = position + at, 0
            got = min(needed, end - position)
            if position >= end or position > farthest or got > load_i64(state + GLANCE_ROOM_SIZE):
                return GLANCE_UNSURE
            if not _fetch(state, log, position, got):
                return GLANCE_UNSURE
            needed = 0
        left, here, is_last = got - at, room + at, position + got >= end
        if left < _HEADER and not is_last:
            needed = _HEADER
            continue
        size = _size_of(here, left)
        if size < 0:
            return GLANCE_UNSURE
        base, last = load_i64be(here), _last_offset(here)
        if not before < base <= last or last >= next_base or size > end - position - at or last > entry:
            return GLANCE_UNSURE
        skips = first and entry in (_NO_LIMIT, last)
        counts = offset != GLANCE_ANY or load_i8(here + 16) < 2 or load_i32be(here + 57) > 0
        found = last >= offset and _max_timestamp(here) >= timestamp and counts
        passes = last >= landmark
        if landmark != _NO_LIMIT and _max_timestamp(here) > landmark_time:
            return GLANCE_UNSURE
        if found and skipped and offset != GLANCE_ANY and base > offset:
            return GLANCE_UNSURE
        skips = skips and not found and not passes
        proven = 0
        if need != NEED_ALL and not skips:
            kind = KNOWN_TIMES if found and (timestamp != GLANCE_ANY or need == NEED_RECORD) else KNOWN_SOUND
            proven = is_known(known, known_key(generation, position + at, kind))
            if proven and found and need == NEED_RECORD:
                part = _up_to(here, size, base, last, offset, timestamp)
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
            if verdict(here, size, load_i8(here + 16)) != VALID:
                return GLANCE_UNSURE
            if left - size >= _HEADER and _size_of(here + size, left - size) >= 0 and load_i64be(here + size) > last:
                make_known(known, known_key(generation, position + at, KNOWN_SOUND))
        if last == entry:
            entry = _NO_LIMIT
        if passes:
            if _max_timestamp(here) != landmark_time:
                return GLANCE_UNSURE
            landmark = _NO_LIMIT
        if found:
            if landmark != _NO_LIMIT or entry != _NO_LIMIT:
                return GLANCE_UNSURE
            if not proven and _size_of(here + size, left - size) >= 0 and load_i64be(here + size) <= last:
                return GLANCE_UNSURE
            store_64(state + GLANCE_PROVEN, min(left, size) if proven else 0)
            store_64(state + GLANCE_POSITION, position + at)
            store_64(state + GLANCE_AT, at)
            return GLANCE_FOUND if _is_as_seen(state) else GLANCE_CHANGED
        at, before, first, skipped = at + size, last, 0, 1 if skips else 0
        if got - at < _HEADER and not is_last:
            needed = size + size // 8 + _HEADER if size <= _MODEST else _HEADER
