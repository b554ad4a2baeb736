"""From header to header to the batch that a lookup wants, checked on the way. See `kafkafs.log.glance`."""

from kafkafs.format.native.kernels.headers import smallest, verdict
from kafkafs.format.native.kernels.machine import inlined, load_i8, load_i32be, load_i64, load_i64be, store_64
from kafkafs.format.native.layout import (
    GLANCE_AT,
    GLANCE_BEFORE,
    GLANCE_END,
    GLANCE_ENTRY,
    GLANCE_FIRST,
    GLANCE_FOUND,
    GLANCE_GOT,
    GLANCE_LANDMARK,
    GLANCE_LANDMARK_TIME,
    GLANCE_MORE,
    GLANCE_NEEDED,
    GLANCE_NEXT_BASE,
    GLANCE_OFFSET,
    GLANCE_POSITION,
    GLANCE_SKIPPED,
    GLANCE_TIMESTAMP,
    GLANCE_UNSURE,
    VALID,
)

_FRAME, _HEADER = 17, 61
_MODEST = 64 << 10
_ANY, _NO_LIMIT = -(2**63), 2**63 - 1


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
def _more(state: int, position: int, needed: int) -> int:
    store_64(state + GLANCE_POSITION, position)
    store_64(state + GLANCE_NEEDED, needed)
    return GLANCE_MORE


def glance(data: int, state: int) -> int:
    """Kernel: steps over the entries in `data` as the table of GLANCE_ numbers at `state` says.

    FOUND: the batch wanted lies at byte AT, and is sound. MORE: to be called again with NEEDED bytes from POSITION on.
    UNSURE: something is not as it should be, or there is no such batch before the end.
    """
    position, end = load_i64(state + GLANCE_POSITION), load_i64(state + GLANCE_END)
    got, before = load_i64(state + GLANCE_GOT), load_i64(state + GLANCE_BEFORE)
    offset, timestamp = load_i64(state + GLANCE_OFFSET), load_i64(state + GLANCE_TIMESTAMP)
    entry, landmark = load_i64(state + GLANCE_ENTRY), load_i64(state + GLANCE_LANDMARK)
    first, skipped, at = load_i64(state + GLANCE_FIRST), load_i64(state + GLANCE_SKIPPED), 0
    while True:
        left, here = got - at, data + at
        if left < _HEADER and position + got < end:
            return _more(state, position + at, _HEADER)
        size = _size_of(here, left)
        if size < 0:
            return GLANCE_UNSURE
        base, last = load_i64be(here), _last_offset(here)
        if not before < base <= last or last >= load_i64(state + GLANCE_NEXT_BASE) or size > end - position - at:
            return GLANCE_UNSURE
        skips = first and entry in (_NO_LIMIT, last)
        if entry != _NO_LIMIT:
            if last > entry:
                return GLANCE_UNSURE
            if last == entry:
                entry = _NO_LIMIT
        counts = offset != _ANY or load_i8(here + 16) < 2 or load_i32be(here + 57) > 0
        found = last >= offset and _max_timestamp(here) >= timestamp and counts
        if found and skipped and offset != _ANY and base > offset:
            return GLANCE_UNSURE
        passes = last >= landmark
        if landmark != _NO_LIMIT and _max_timestamp(here) > load_i64(state + GLANCE_LANDMARK_TIME):
            return GLANCE_UNSURE
        skips = skips and not found and not passes
        if not skips:
            if size + _HEADER > left and position + got < end:
                return _more(state, position + at, size + _HEADER)
            if verdict(here, size, load_i8(here + 16)) != VALID:
                return GLANCE_UNSURE
        if passes:
            if _max_timestamp(here) != load_i64(state + GLANCE_LANDMARK_TIME):
                return GLANCE_UNSURE
            landmark = _NO_LIMIT
            store_64(state + GLANCE_LANDMARK, landmark)
        if found:
            if landmark != _NO_LIMIT or entry != _NO_LIMIT:
                return GLANCE_UNSURE
            behind = got - at - size
            if _size_of(here + size, behind) >= 0 and load_i64be(here + size) <= last:
                return GLANCE_UNSURE
            store_64(state + GLANCE_AT, at)
            return GLANCE_FOUND
        at, before, first, skipped = at + size, last, 0, 1 if skips else 0
        store_64(state + GLANCE_ENTRY, entry)
        store_64(state + GLANCE_BEFORE, before)
        store_64(state + GLANCE_FIRST, first)
        store_64(state + GLANCE_SKIPPED, skipped)
        if got - at < _HEADER and position + got < end:
            needed = size + size // 8 + _HEADER if size <= _MODEST else _HEADER
            return _more(state, position + at, needed)
