"""Avro's binary encoding as JSON text, by a program that a schema was compiled to (format.schemas.avro_program).

A small machine: an instruction writes its literal (punctuation, field names) and then, of the payload, one value. What
is open (blocks of arrays and maps, named types) stands on a stack of AVRO_DEPTH frames. It ends whatever the payload
is: each step takes input or gives output, and both are bounded.
"""

from kafkafs.format.native.kernels.calendar import put_date, put_time, put_timestamp
from kafkafs.format.native.kernels.decimals import DECIMAL_BYTES, DECIMAL_SCALE, put_decimal
from kafkafs.format.native.kernels.doubles import put_double
from kafkafs.format.native.kernels.machine import (
    called,
    copy_16,
    double_of,
    inlined,
    load_i32,
    load_i64,
    load_u8,
    load_u32,
    narrow_double,
    put,
    store_8,
    store_64,
    widen_float,
)
from kafkafs.format.native.kernels.numbers import put_number
from kafkafs.format.native.kernels.text import put_base64, put_text
from kafkafs.format.native.kernels.varint import varlong
from kafkafs.format.native.layout import (
    AVRO_ARRAY,
    AVRO_BAD_BOOL,
    AVRO_BAD_CHOICE,
    AVRO_BAD_COUNT,
    AVRO_BAD_DECIMAL,
    AVRO_BAD_LENGTH,
    AVRO_BAD_NUMBER,
    AVRO_BAD_TEXT,
    AVRO_BAD_TIME,
    AVRO_BIG_DECIMAL,
    AVRO_BITS,
    AVRO_BOOL,
    AVRO_BYTES,
    AVRO_CALL,
    AVRO_CUT,
    AVRO_DATE,
    AVRO_DECIMAL,
    AVRO_DEPTH,
    AVRO_DOUBLE,
    AVRO_DURATION,
    AVRO_END,
    AVRO_ENTRIES,
    AVRO_ENUM,
    AVRO_FIXED,
    AVRO_FIXED_DECIMAL,
    AVRO_FLOAT,
    AVRO_FRAME,
    AVRO_INT,
    AVRO_ITEMS,
    AVRO_JUMP,
    AVRO_LEFTOVER,
    AVRO_LITERAL,
    AVRO_LONG,
    AVRO_MAP,
    AVRO_NEXT,
    AVRO_NO_COLUMN,
    AVRO_NO_ROOM,
    AVRO_REFUSE,
    AVRO_RETURN,
    AVRO_STRING,
    AVRO_TIMESTAMP,
    AVRO_TOO_DEEP,
    AVRO_UNION,
    AVRO_UUID,
    CODE_A,
    CODE_B,
    CODE_LITERAL,
    CODE_LITERAL_SIZE,
    CODE_OP,
    CODE_WORDS,
)

_SPARE = 96  # bytes; more than a number, a date or a word takes, and the reach of a store behind the end
_INT_LIMIT = 1 << 31
_FRAMES = AVRO_DEPTH * AVRO_FRAME
_INSTRUCTION = 8 * CODE_WORDS


@inlined
def _unit(digits: int) -> int:
    return 1_000 if digits == 3 else 1_000_000 if digits == 6 else 1_000_000_000


@inlined
def _put_decimal_text(to: int, at: int, size: int, scale: int, room_end: int, scratch: int) -> int:
    """A decimal in quotes: the address behind it; why not, where it is negative."""
    if size > DECIMAL_BYTES or scale > DECIMAL_SCALE or scale < -DECIMAL_SCALE:
        return AVRO_BAD_DECIMAL
    if room_end - to < 3 * size + abs(scale) + _SPARE:
        return AVRO_NO_ROOM
    return put(put_decimal(put(to, '"'), at, size, scale, scratch), '"')


@called
def _put_big_decimal(to: int, at: int, size: int, room_end: int, scratch: int) -> int:
    """`big-decimal`: bytes that hold the unscaled value with its length, and then the scale."""
    end = at + size
    length, value_at = varlong(at, end)
    if value_at == 0 or length < 0 or length > end - value_at:
        return AVRO_BAD_DECIMAL
    scale, behind = varlong(value_at + length, end)
    if behind != end:
        return AVRO_BAD_DECIMAL
    return _put_decimal_text(to, value_at, length, scale, room_end, scratch)


@called
def _put_uuid(to: int, at: int) -> int:
    to = put(to, '"')
    for index in range(16):
        if index in (4, 6, 8, 10):
            to = put(to, "-")
        value = load_u8(at + index)
        high, low = value >> 4, value & 15
        store_8(to, high + (48 if high < 10 else 87))
        store_8(to + 1, low + (48 if low < 10 else 87))
        to += 2
    return put(to, '"')


@called
def _put_duration(to: int, at: int) -> int:
    """Months, days and milliseconds, 32 bits each, the low byte first, as an ISO 8601 duration."""
    to = put(put_number(put(to, '"P'), load_u32(at)), "M")
    to = put(put_number(to, load_u32(at + 4)), "DT")
    milliseconds = load_u32(at + 8)
    to = put(put_number(to, milliseconds // 1000), ".")
    for unit in (100, 10, 1):
        store_8(to, 48 + milliseconds // unit % 10)
        to += 1
    return put(to, 'S"')


@called
def _put_number_type(op: int, to: int, value: int, a: int, b: int) -> int:
    """What is a variable-length integer and not written as one: the address behind it; why not, where negative."""
    to = put(to, '"')
    if op == AVRO_DATE:
        if value < -_INT_LIMIT or value >= _INT_LIMIT:
            return AVRO_BAD_NUMBER
        return put(put_date(to, value), '"')
    unit = _unit(a)
    if op == AVRO_TIMESTAMP:
        to = put_timestamp(to, value, a, unit)
        return put(to, 'Z"') if b else put(to, '"')
    if value < 0 or value >= 86_400 * unit:
        return AVRO_BAD_TIME
    return put(put_time(to, value, a, unit), '"')


@called
def _put_bytes(op: int, to: int, at: int, size: int, a: int, room_end: int, scratch: int) -> int:
    """What takes `size` bytes at `at`: the address behind it; why not, where it is negative."""
    if op in (AVRO_DECIMAL, AVRO_FIXED_DECIMAL):
        return _put_decimal_text(to, at, size, a, room_end, scratch)
    if op == AVRO_BIG_DECIMAL:
        return _put_big_decimal(to, at, size, room_end, scratch)
    if op == AVRO_UUID:
        return _put_uuid(to, at)
    if op == AVRO_DURATION:
        return _put_duration(to, at)
    if room_end - to < size + size // 2 + _SPARE:
        return AVRO_NO_ROOM
    return put(put_base64(put(to, '"'), at, size), '"')


@inlined
def _put_string(to: int, at: int, size: int, room_end: int, limit: int) -> int:
    """A string in quotes: the address behind it; why not, where it is negative."""
    if room_end - to < 6 * size + _SPARE:
        return AVRO_NO_ROOM
    behind = put_text(put(to, '"'), at, size, limit)
    return AVRO_BAD_TEXT if behind == 0 else put(behind, '"')


@inlined
def _put_numeric(op: int, a: int, b: int, to: int, value: int) -> int:
    """What is a variable-length integer: the address behind it; why not, where it is negative."""
    if op == AVRO_LONG:
        return put_number(to, value)
    if op == AVRO_INT:
        return AVRO_BAD_NUMBER if value < -_INT_LIMIT or value >= _INT_LIMIT else put_number(to, value)
    return _put_number_type(op, to, value, a, b)


@inlined
def _put_symbol(to: int, room_end: int, pool: int, entry: int) -> int:
    literal, size = pool + load_i32(entry), load_i32(entry + 4)
    if size < 0:  # a symbol that its reader does not have
        return AVRO_BAD_CHOICE
    if room_end - to < size + _SPARE:
        return AVRO_NO_ROOM
    for step in range(0, size, 16):
        copy_16(to + step, literal + step)
    return to + size


@inlined
def _put_plain(op: int, to: int, at: int, end: int) -> tuple[int, int]:
    """A double, float or bool: addresses behind output and input."""
    if op == AVRO_DOUBLE:
        if end - at < 8:
            return AVRO_CUT, at
        return put_double(to, load_i64(at)), at + 8
    if op == AVRO_FLOAT:
        if end - at < 4:
            return AVRO_CUT, at
        return put_double(to, widen_float(load_i32(at))), at + 4
    if at >= end:
        return AVRO_CUT, at
    value = load_u8(at)
    if value > 1:
        return AVRO_BAD_BOOL, at
    return put(to, "true") if value else put(to, "false"), at + 1


@inlined
def _put_bits(source: int, width: int, to: int, at: int, end: int) -> tuple[int, int]:
    """The bits of a float or a double as a number: addresses behind output and input."""
    size = 4 if source == AVRO_FLOAT else 8
    if end - at < size:
        return AVRO_CUT, at
    bits = widen_float(load_i32(at)) if source == AVRO_FLOAT else load_i64(at)
    return put_number(to, bits if width == 64 else narrow_double(bits)), at + size


@inlined
def _put_value(
    pc: int, pool: int, at: int, end: int, limit: int, to: int, room_end: int, digits: int
) -> tuple[int, int]:  # fmt: skip
    """One value of the payload: addresses behind output and input; why not, where the first is negative."""
    op, a, b = load_i64(pc + CODE_OP), load_i64(pc + CODE_A), load_i64(pc + CODE_B)
    if op in (AVRO_DOUBLE, AVRO_FLOAT, AVRO_BOOL):
        return _put_plain(op, to, at, end)
    if op == AVRO_BITS and a != AVRO_LONG:
        return _put_bits(a, b, to, at, end)
    if op in (AVRO_FIXED, AVRO_FIXED_DECIMAL, AVRO_UUID, AVRO_DURATION):
        return (AVRO_CUT if b > end - at else _put_bytes(op, to, at, b, a, room_end, digits)), at + b
    begin = at
    value, at = varlong(at, end)
    if b == 1 and op in (AVRO_BYTES, AVRO_DECIMAL, AVRO_BIG_DECIMAL) and (at == 0 or value != end - at):
        value, at = end - begin, begin
    if at == 0:
        return AVRO_CUT, at
    if op in (AVRO_STRING, AVRO_BYTES, AVRO_DECIMAL, AVRO_BIG_DECIMAL):
        if value < 0 or value > end - at:
            return AVRO_BAD_LENGTH, at
        if op == AVRO_STRING:
            return _put_string(to, at, value, room_end, limit), at + value
        return _put_bytes(op, to, at, value, a, room_end, digits), at + value
    if op == AVRO_ENUM:
        if value < 0 or value >= b:
            return AVRO_BAD_CHOICE, at
        return _put_symbol(to, room_end, pool, pool + a + 8 * value), at
    if op == AVRO_BITS:
        bits = double_of(value)
        return put_number(to, bits if b == 64 else narrow_double(bits)), at
    return _put_numeric(op, a, b, to, value), at


@inlined
def _block(at: int, end: int, least: int) -> tuple[int, int]:
    """(elements of the block that begins at `at`, address behind its head); why not, where the address is negative."""
    count, behind = varlong(at, end)
    if behind == 0:
        return 0, AVRO_CUT
    if count < 0:
        count = -count
        size, behind = varlong(behind, end)
        if behind == 0:
            return 0, AVRO_CUT
        if size < 0 or size > end - behind:
            return 0, AVRO_BAD_COUNT
    if count < 0 or (least > 0 and count > (end - behind) // least):
        return 0, AVRO_BAD_COUNT
    return count, behind


@inlined
def _put_next(
    frame: int, kind: int, at: int, end: int, limit: int, to: int, room_end: int
) -> tuple[int, int, int]:  # fmt: skip
    """What stands before the next element: (behind output; why not, behind input, whether there is one).

    `kind`: bytes that an element has at least, times four, and what it is: of a map the key is written too.
    """
    left = load_i64(frame)
    if left == 0:
        left, at = _block(at, end, kind >> 2)
        if at < 0:
            return at, at, 0
        if left == 0:
            return put(to, "}") if kind & 3 == AVRO_ENTRIES else put(to, "]"), at, 0
    if load_i64(frame + 8):
        to = put(to, ",")
    store_64(frame, left - 1)
    store_64(frame + 8, 1)
    if kind & 3 == AVRO_ITEMS:
        return to, at, 1
    length, at = varlong(at, end)
    if at == 0:
        return AVRO_CUT, at, 0
    if length < 0 or length > end - at:
        return AVRO_BAD_LENGTH, at, 0
    if kind & 3 == AVRO_ENTRIES:
        to = _put_string(to, at, length, room_end, limit)
        return to if to < 0 else put(to, ":"), at + length, 1
    to = _put_string(put(to, '{"key":'), at, length, room_end, limit)
    return to if to < 0 else put(to, ',"value":'), at + length, 1


@called
def put_avro(
    code: int, pool: int, at: int, size: int, limit: int, to: int, room_end: int, scratch: int, seen: int
) -> int:
    """Writes the datum of `size` bytes at `at`: the address behind it; AVRO_... where it does not fit.

    `limit` is where readable memory ends, `scratch` has AVRO_SCRATCH bytes. seen: the byte that it came to.
    """
    begin, end, top, pc, digits = at, at + size, scratch, code, scratch + _FRAMES
    while True:
        op, a, here = load_i64(pc + CODE_OP), load_i64(pc + CODE_A), pc
        store_64(seen, at - begin)
        literal, literal_size = pool + load_i64(pc + CODE_LITERAL), load_i64(pc + CODE_LITERAL_SIZE)
        if room_end - to < literal_size + _SPARE:
            return AVRO_NO_ROOM
        for step in range(0, literal_size, 16):
            copy_16(to + step, literal + step)
        to += literal_size
        pc += _INSTRUCTION
        if op < AVRO_LITERAL:
            to, at = _put_value(here, pool, at, end, limit, to, room_end, digits)
            if to < 0:
                return to
        elif op == AVRO_NEXT:
            frame = top - AVRO_FRAME
            to, at, more = _put_next(frame, load_i64(here + CODE_B), at, end, limit, to, room_end)
            if to < 0:
                return to
            if more:
                pc = code + a * _INSTRUCTION
            else:
                top = frame
        elif op == AVRO_UNION:
            choice, at = varlong(at, end)
            if at == 0:
                return AVRO_CUT
            if choice < 0 or choice >= load_i64(here + CODE_B):
                return AVRO_BAD_CHOICE
            pc = code + load_i32(pool + a + 4 * choice) * _INSTRUCTION
        elif op == AVRO_JUMP:
            pc = code + a * _INSTRUCTION
        elif op in (AVRO_ARRAY, AVRO_MAP, AVRO_CALL):
            if top - scratch >= _FRAMES:
                return AVRO_TOO_DEEP
            store_64(top, pc if op == AVRO_CALL else 0)  # of a block: its elements that are left,
            store_64(top + 8, 0)  # and whether there was one
            top += AVRO_FRAME
            if op != AVRO_CALL:
                to = put(to, "[") if op == AVRO_ARRAY else put(to, "{")
            pc = code + a * _INSTRUCTION
        elif op == AVRO_RETURN:
            top -= AVRO_FRAME
            pc = load_i64(top)
        elif op == AVRO_REFUSE:
            return AVRO_NO_COLUMN
        elif op == AVRO_END:
            return to if at == end else AVRO_LEFTOVER


def avro_text(
    code: int, pool: int, at: int, size: int, limit: int, out: int, capacity: int, scratch: int, seen: int
) -> int:
    """Kernel: one datum as JSON text at `out`: how many bytes; AVRO_... where it does not fit. See `put_avro`."""
    made = put_avro(code, pool, at, size, limit, out, out + capacity, scratch, seen)
    return made if made < 0 else made - out
