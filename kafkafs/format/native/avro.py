"""Avro's binary encoding as JSON text, by a program that a schema was compiled to (format.schemas.avro_program).

A small machine: an instruction writes its literal (punctuation, field names) and then, of the payload, one value. A
stack of AVRO_DEPTH frames holds the open blocks of arrays and maps and the open named types. It ends whatever the
payload is: each step takes input or gives output, and both are bounded.
"""

from kafkafs.format.native.avro_values import (
    DECIMAL_BYTES,
    DECIMAL_SCALE,
    put_date,
    put_decimal,
    put_double,
    put_time,
    put_timestamp,
)
from kafkafs.format.native.layout import *
from kafkafs.format.native.primitives import *
from kafkafs.format.native.text import put_base64, put_number, put_text
from kafkafs.format.native.varint import varlong

_SPARE = 96  # bytes; more than a number, a date or a word takes, and the reach of a store behind the end
_LEAST_INT, _PAST_INT = -(1 << 31), 1 << 31
_HELD = 1 << 53  # whole numbers up to that are doubles
_FRAMES = AVRO_DEPTH * AVRO_FRAME  # behind them in the scratch: the digits of a decimal
_INSTRUCTION = 8 * CODE_WORDS


@inlined
def _unit(digits: Int) -> Int:
    return 1_000 if digits == 3 else 1_000_000 if digits == 6 else 1_000_000_000


@native
def _put_decimal_text(
    out: Span, to: Int, room_end: Int, data: Span, at: Int, size: Int, scale: Int, scratch: Span
) -> Int:  # fmt: skip
    """A decimal in quotes: the place behind it; why not, where it is negative."""
    if size > DECIMAL_BYTES or scale > DECIMAL_SCALE or scale < -DECIMAL_SCALE:
        return AVRO_DECIMAL_MISFIT
    if room_end - to < 3 * size + abs(scale) + _SPARE:
        return AVRO_NO_ROOM
    to = put(out, to, b'"')
    return put(out, put_decimal(out, to, data, at, size, scale, scratch, _FRAMES), b'"')


@native
def _put_big_decimal(out: Span, to: Int, room_end: Int, data: Span, at: Int, size: Int, scratch: Span) -> Int:
    """`big-decimal`: bytes that hold the unscaled value with its length, and then the scale."""
    end = at + size
    length, value_at = varlong(data, at, end)
    if value_at < 0 or length < 0 or length > end - value_at:
        return AVRO_DECIMAL_MISFIT
    scale, behind = varlong(data, value_at + length, end)
    if behind != end:
        return AVRO_DECIMAL_MISFIT
    return _put_decimal_text(out, to, room_end, data, value_at, length, scale, scratch)


@native
def _put_uuid(out: Span, to: Int, data: Span, at: Int) -> Int:
    to = put(out, to, b'"')
    for index in range(16):
        if index in (4, 6, 8, 10):
            to = put(out, to, b"-")
        value = load_u8(data, at + index)
        high, low = value >> 4, value & 15
        store_8(out, to, high + (48 if high < 10 else 87))
        store_8(out, to + 1, low + (48 if low < 10 else 87))
        to += 2
    return put(out, to, b'"')


@native
def _put_duration(out: Span, to: Int, data: Span, at: Int) -> Int:
    """Months, days and milliseconds, 32 bits each, the low byte first, as an ISO 8601 duration."""
    to = put(out, put_number(out, put(out, to, b'"P'), load_u32(data, at)), b"M")
    to = put(out, put_number(out, to, load_u32(data, at + 4)), b"DT")
    milliseconds = load_u32(data, at + 8)
    to = put(out, put_number(out, to, milliseconds // 1000), b".")
    store_8(out, to, 48 + milliseconds // 100 % 10)
    store_8(out, to + 1, 48 + milliseconds // 10 % 10)
    store_8(out, to + 2, 48 + milliseconds % 10)
    return put(out, to + 3, b'S"')


@native
def _put_number_type(op: Int, a: Int, b: Int, out: Span, to: Int, value: Int) -> Int:
    """Write a date or time that is stored as an integer. Return the place behind the text, or a negative reason."""
    to = put(out, to, b'"')
    if op == AVRO_DATE:
        if value < _LEAST_INT or value >= _PAST_INT:
            return AVRO_NUMBER_MISFIT
        return put(out, put_date(out, to, value), b'"')
    unit = _unit(a)
    if op == AVRO_TIMESTAMP:
        to = put_timestamp(out, to, value, a, unit)
        return put(out, to, b'Z"') if b else put(out, to, b'"')
    if value < 0 or value >= 86_400 * unit:
        return AVRO_TIME_MISFIT
    return put(out, put_time(out, to, value, a, unit), b'"')


@native
def _put_bytes(
    op: Int, a: Int, out: Span, to: Int, room_end: Int, data: Span, at: Int, size: Int, scratch: Span
) -> Int:
    """Write the value in `size` bytes at `at`. Return the place behind the text, or a negative reason."""
    if op in (AVRO_DECIMAL, AVRO_FIXED_DECIMAL):
        return _put_decimal_text(out, to, room_end, data, at, size, a, scratch)
    if op == AVRO_BIG_DECIMAL:
        return _put_big_decimal(out, to, room_end, data, at, size, scratch)
    if op == AVRO_UUID:
        return _put_uuid(out, to, data, at)
    if op == AVRO_DURATION:
        return _put_duration(out, to, data, at)
    if room_end - to < size + size // 2 + _SPARE:
        return AVRO_NO_ROOM
    return put(out, put_base64(out, put(out, to, b'"'), data, at, size), b'"')


@inlined
def _put_string(out: Span, to: Int, room_end: Int, data: Span, at: Int, size: Int) -> Int:
    """A string in quotes: the place behind it; why not, where it is negative."""
    if room_end - to < 6 * size + _SPARE:
        return AVRO_NO_ROOM
    behind = put_text(out, put(out, to, b'"'), data, at, size)
    return AVRO_TEXT_MISFIT if behind < 0 else put(out, behind, b'"')


@inlined
def _put_numeric(op: Int, a: Int, b: Int, out: Span, to: Int, value: Int) -> Int:
    """Write the value of an integer. Return the place behind the text, or a negative reason."""
    if op == AVRO_LONG:
        return put_number(out, to, value)
    if op == AVRO_INT:
        return AVRO_NUMBER_MISFIT if value < _LEAST_INT or value >= _PAST_INT else put_number(out, to, value)
    return _put_number_type(op, a, b, out, to, value)


@inlined
def _put_literal(out: Span, to: Int, pool: Span, at: Int, size: Int) -> Int:
    for step in range(0, size, 16):
        copy_16(out, to + step, pool, at + step)
    return to + size


@inlined
def _put_symbol(out: Span, to: Int, room_end: Int, pool: Span, base: Int, entry: Int) -> Int:
    size = load_i32(pool, entry + 4)
    if size < 0:  # a symbol that its reader does not have
        return AVRO_CHOICE_MISFIT
    if room_end - to < size + _SPARE:
        return AVRO_NO_ROOM
    return _put_literal(out, to, pool, base + load_i32(pool, entry), size)


@inlined
def _put_plain_value(op: Int, out: Span, to: Int, data: Span, at: Int, end: Int) -> tuple[Int, Int]:
    """A double, float or bool: places behind output and input."""
    if op == AVRO_DOUBLE:
        if end - at < 8:
            return AVRO_CUT, at
        return put_double(out, to, load_i64(data, at)), at + 8
    if op == AVRO_FLOAT:
        if end - at < 4:
            return AVRO_CUT, at
        return put_double(out, to, widen_float(load_i32(data, at))), at + 4
    if at >= end:
        return AVRO_CUT, at
    value = load_u8(data, at)
    if value > 1:
        return AVRO_BOOL_MISFIT, at
    return put(out, to, b"true") if value else put(out, to, b"false"), at + 1


@inlined
def _short(value: Int) -> Int:
    """A number that a double holds, with the same float next to it: the last bit stands for all that are below."""
    if -_HELD <= value <= _HELD:
        return value
    return value >> 11 << 11 | (1024 if value & 2047 else 0)


@inlined
def _put_bits(source: Int, width: Int, out: Span, to: Int, data: Span, at: Int, end: Int) -> tuple[Int, Int]:
    """The bits of a float or a double as a number: places behind output and input."""
    size = 4 if source == AVRO_FLOAT else 8
    if end - at < size:
        return AVRO_CUT, at
    bits = widen_float(load_i32(data, at)) if source == AVRO_FLOAT else load_i64(data, at)
    return put_number(out, to, bits if width == 64 else narrow_double(bits)), at + size


@native
def _put_value(
    code: Span, pc: Int, pool: Span, base: Int, data: Span, at: Int, end: Int, out: Span, to: Int, room_end: Int,
    scratch: Span,
) -> tuple[Int, Int]:  # fmt: skip
    """One value of the payload: places behind output and input; why not, where the first is negative."""
    op, a, b = load_i64(code, pc + CODE_OP), load_i64(code, pc + CODE_A), load_i64(code, pc + CODE_B)
    if op in (AVRO_DOUBLE, AVRO_FLOAT, AVRO_BOOL):
        return _put_plain_value(op, out, to, data, at, end)
    if op == AVRO_BITS and a != AVRO_LONG:
        return _put_bits(a, b, out, to, data, at, end)
    if op in (AVRO_FIXED, AVRO_FIXED_DECIMAL, AVRO_UUID, AVRO_DURATION):
        if b > end - at:
            return AVRO_CUT, at
        return _put_bytes(op, a, out, to, room_end, data, at, b, scratch), at + b
    begin = at
    value, at = varlong(data, at, end)
    if b == 1 and op in (AVRO_BYTES, AVRO_DECIMAL, AVRO_BIG_DECIMAL) and (at < 0 or value != end - at):
        value = end - begin
        at = begin
    if at < 0:
        return AVRO_CUT, begin
    if op in (AVRO_STRING, AVRO_BYTES, AVRO_DECIMAL, AVRO_BIG_DECIMAL):
        if value < 0 or value > end - at:
            return AVRO_LENGTH_MISFIT, at
        if op == AVRO_STRING:
            return _put_string(out, to, room_end, data, at, value), at + value
        return _put_bytes(op, a, out, to, room_end, data, at, value, scratch), at + value
    if op == AVRO_ENUM:
        if value < 0 or value >= b:
            return AVRO_CHOICE_MISFIT, at
        return _put_symbol(out, to, room_end, pool, base, base + a + 8 * value), at
    if op == AVRO_BITS:
        return put_number(out, to, double_of(value) if b == 64 else narrow_double(double_of(_short(value)))), at
    return _put_numeric(op, a, b, out, to, value), at


@inlined
def _block(data: Span, at: Int, end: Int, least: Int) -> tuple[Int, Int]:
    """(elements of the block that begins at `at`, place behind its head); why not, where the place is negative."""
    count, behind = varlong(data, at, end)
    if behind < 0:
        return 0, AVRO_CUT
    if count < 0:
        count = -count
        size, behind = varlong(data, behind, end)
        if behind < 0:
            return 0, AVRO_CUT
        if size < 0 or size > end - behind:
            return 0, AVRO_COUNT_MISFIT
    if count < 0 or (least > 0 and count > (end - behind) // least):
        return 0, AVRO_COUNT_MISFIT
    return count, behind


@native
def _put_next(
    scratch: Span, frame: Int, kind: Int, data: Span, at: Int, end: Int, out: Span, to: Int, room_end: Int
) -> tuple[Int, Int, Int]:  # fmt: skip
    """Write the text before the next element. Return (the place behind the output or a negative reason, the place
    behind the input, 1 if there is an element).

    `kind`: bytes that an element has at least, times four, and what it is: of a map the key is written too.
    """
    left = load_i64(scratch, frame)
    if left == 0:
        left, at = _block(data, at, end, kind >> 2)
        if at < 0:
            return at, at, 0
        if left == 0:
            return put(out, to, b"}") if kind & 3 == AVRO_ENTRIES else put(out, to, b"]"), at, 0
    if load_i64(scratch, frame + 8):
        to = put(out, to, b",")
    store_64(scratch, frame, left - 1)
    store_64(scratch, frame + 8, 1)
    if kind & 3 == AVRO_ITEMS:
        return to, at, 1
    length, at = varlong(data, at, end)
    if at < 0:
        return AVRO_CUT, at, 0
    if length < 0 or length > end - at:
        return AVRO_LENGTH_MISFIT, at, 0
    if kind & 3 == AVRO_ENTRIES:
        to = _put_string(out, to, room_end, data, at, length)
        return to if to < 0 else put(out, to, b":"), at + length, 1
    to = _put_string(out, put(out, to, b'{"key":'), room_end, data, at, length)
    return to if to < 0 else put(out, to, b',"value":'), at + length, 1


@native
def put_avro(
    code: Span, start: Int, pool: Span, base: Int, data: Span, at: Int, size: Int, out: Span, to: Int, room_end: Int,
    scratch: Span,
) -> tuple[Int, Int]:  # fmt: skip
    """Writes the datum of `size` bytes at `at`: the place behind it, AVRO_... where it does not fit; and the byte of it
    that was reached.

    The program begins at `start` of the code, its literals at `base` of the pool; `scratch` has AVRO_SCRATCH bytes.
    """
    begin: Int = at
    end: Int = at + size
    top: Int = 0
    pc: Int = start
    while True:
        op, a, here, seen = load_i64(code, pc + CODE_OP), load_i64(code, pc + CODE_A), pc, at - begin
        literal_size = load_i64(code, pc + CODE_LITERAL_SIZE)
        if room_end - to < literal_size + _SPARE:
            return AVRO_NO_ROOM, seen
        to = _put_literal(out, to, pool, base + load_i64(code, pc + CODE_LITERAL), literal_size)
        pc += _INSTRUCTION
        if op < AVRO_LITERAL:
            to, at = _put_value(code, here, pool, base, data, at, end, out, to, room_end, scratch)
            if to < 0:
                return to, seen
        elif op == AVRO_NEXT:
            frame = top - AVRO_FRAME
            to, at, more = _put_next(
                scratch, frame, load_i64(code, here + CODE_B), data, at, end, out, to, room_end
            )  # fmt: skip
            if to < 0:
                return to, seen
            if more:
                pc = start + a * _INSTRUCTION
            else:
                top = frame
        elif op == AVRO_UNION:
            choice, at = varlong(data, at, end)
            if at < 0:
                return AVRO_CUT, seen
            if choice < 0 or choice >= load_i64(code, here + CODE_B):
                return AVRO_CHOICE_MISFIT, seen
            pc = start + load_i32(pool, base + a + 4 * choice) * _INSTRUCTION
        elif op == AVRO_JUMP:
            pc = start + a * _INSTRUCTION
        elif op in (AVRO_ARRAY, AVRO_MAP, AVRO_CALL):
            if top >= _FRAMES:
                return AVRO_TOO_DEEP, seen
            store_64(scratch, top, pc if op == AVRO_CALL else 0)  # a block has its elements that are left,
            store_64(scratch, top + 8, 0)  # and whether there was one
            top += AVRO_FRAME
            if op != AVRO_CALL:
                to = put(out, to, b"[") if op == AVRO_ARRAY else put(out, to, b"{")
            pc = start + a * _INSTRUCTION
        elif op == AVRO_RETURN:
            top -= AVRO_FRAME
            pc = load_i64(scratch, top)
        elif op == AVRO_REFUSE:
            return AVRO_NO_COLUMN, seen
        elif op == AVRO_END:
            return to if at == end else AVRO_LEFTOVER, seen
