"""The lines of a log's dump from rows of BATCH and RECORD, as `dump/lines` has them. Source: DumpLogSegments."""

from kafkafs.format.native.kernels.java_text import put_java_text
from kafkafs.format.native.kernels.machine import (
    constant,
    inlined,
    load_i8,
    load_i16,
    load_i16be,
    load_i32,
    load_i32be,
    load_i64,
    load_i64be,
    load_u8,
    load_u32,
    load_u32be,
    put,
    store_8,
    store_64,
)
from kafkafs.format.native.kernels.numbers import put_number
from kafkafs.format.native.kernels.varint import varint
from kafkafs.format.native.layout import (
    BATCH_AT,
    BATCH_ROW,
    DUMP_BYTES,
    DUMP_CONTENTS,
    DUMP_INTEGER,
    DUMP_KEY,
    DUMP_LONG,
    DUMP_METADATA,
    DUMP_ODD,
    DUMP_STRING,
    DUMP_VALUE,
    RECORD_AT,
    RECORD_ROW,
    VALID,
)

_digits = constant("hexadecimal_digits", b"0123456789abcdef")

_BATCH_LINE = 768  # bytes that no batch's line exceeds, with what the last copy may write behind it
_RECORD_LINE = 512  # the same for a record's, without key, value and names of headers
_KEY_IN_V0, _KEY_IN_V1 = 10, 18  # bytes from a message's CRC, its first field, to its key
_SLACK = 16  # bytes behind the text that are written too
_LARGEST_SEQUENCE = 2**31 - 1


@inlined
def _put_flag(to: int, flag: int) -> int:
    return put(to, "true") if flag else put(to, "false")


@inlined
def _put_time_label(to: int, magic: int, attributes: int) -> int:
    if magic == 0:
        return put(to, " NoTimestampType: ")
    return put(to, " LogAppendTime: ") if attributes & 8 else put(to, " CreateTime: ")


@inlined
def _put_codec(to: int, codec: int) -> int:
    if codec == 0:
        return put(to, "none")
    if codec == 1:
        return put(to, "gzip")
    if codec == 2:
        return put(to, "snappy")
    if codec == 3:
        return put(to, "lz4")
    return put(to, "zstd") if codec == 4 else put(put_number(put(to, "unknown("), codec), ")")


@inlined
def _as_int(number: int) -> int:
    """What a Java int is left with."""
    return ((number + 2**31) & (2**32 - 1)) - 2**31


@inlined
def _sequence_after(sequence: int, delta: int) -> int:
    """As `dump.entries` has it, for what a damaged header says too."""
    if sequence > _as_int(_LARGEST_SEQUENCE - delta):
        return _as_int(delta - (_LARGEST_SEQUENCE - sequence) - 1)
    return _as_int(sequence + delta)


@inlined
def _put_front(to: int, row: int) -> int:
    """What only a batch of v2 has."""
    base, last = load_i64(row + BATCH_AT.base_offset), load_i64(row + BATCH_AT.last_offset)
    sequence, attributes = load_i32(row + BATCH_AT.base_sequence), load_i16(row + BATCH_AT.attributes)
    to = put_number(put(to, "baseOffset: "), base)
    to = put_number(put(to, " lastOffset: "), last)
    to = put_number(put(to, " count: "), load_i32(row + BATCH_AT.record_count))
    to = put_number(put(to, " baseSequence: "), sequence)
    to = put_number(put(to, " lastSequence: "), -1 if sequence == -1 else _sequence_after(sequence, last - base))
    to = put_number(put(to, " producerId: "), load_i64(row + BATCH_AT.producer_id))
    to = put_number(put(to, " producerEpoch: "), load_i16(row + BATCH_AT.producer_epoch))
    to = put_number(put(to, " partitionLeaderEpoch: "), load_i32(row + BATCH_AT.leader_epoch))
    to = _put_flag(put(to, " isTransactional: "), attributes & 0x10)
    to = _put_flag(put(to, " isControl: "), attributes & 0x20)
    if attributes & 0x40:
        return put(put_number(put(to, " deleteHorizonMs: OptionalLong["), load_i64(row + BATCH_AT.base_timestamp)), "]")
    return put(to, " deleteHorizonMs: OptionalLong.empty")


@inlined
def _put_batch(to: int, row: int) -> int:
    """The line of a batch."""
    magic, attributes = load_i8(row + BATCH_AT.magic), load_i16(row + BATCH_AT.attributes)
    if magic >= 2:
        to = _put_front(to, row)
    else:
        to = put_number(put(to, "offset: "), load_i64(row + BATCH_AT.last_offset))
    to = put_number(put(to, " position: "), load_i64(row + BATCH_AT.position))
    to = put_number(_put_time_label(to, magic, attributes), load_i64(row + BATCH_AT.max_timestamp))
    to = put_number(put(to, " size: "), load_i64(row + BATCH_AT.size))
    to = put_number(put(to, " magic: "), magic)
    to = _put_codec(put(to, " compresscodec: "), attributes & 7)
    to = put_number(put(to, " crc: "), load_u32(row + BATCH_AT.crc))
    to = _put_flag(put(to, " isvalid: "), load_i8(row + BATCH_AT.valid) == VALID)
    store_8(to, 0x0A)
    return to + 1


@inlined
def _put_header_keys(to: int, data: int, row: int) -> int:
    place = data + load_i64(row + RECORD_AT.headers_at)
    end = place + load_i32(row + RECORD_AT.headers_size)
    for number in range(load_i32(row + RECORD_AT.header_count)):
        size, place = varint(place, end)
        if number:
            store_8(to, 0x2C)
            to += 1
        to = put_java_text(to, place, size)
        size, place = varint(place + size, end)
        place += max(size, 0)
    return to


@inlined
def _is_control(batch: int) -> int:
    return load_i16(batch + BATCH_AT.attributes) & 0x20 if load_i8(batch + BATCH_AT.magic) >= 2 else 0


@inlined
def _is_marker(data: int, row: int) -> bool:
    """Whether a control record ends a transaction, as far as Kafka looks."""
    if load_i32(row + RECORD_AT.key_size) < 4 or load_i32(row + RECORD_AT.value_size) < 6:
        return False
    key, value = data + load_i64(row + RECORD_AT.key_at), data + load_i64(row + RECORD_AT.value_at)
    kind = load_i16be(key + 2)
    return bool(load_i16be(key) >= 0 and (kind == 0 or kind == 1) and load_i16be(value) >= 0)


@inlined
def _has_markers_only(data: int, rows: int, first: int, stop: int) -> bool:
    """Whether all records of the control batch that begins at row `first` end a transaction."""
    number = load_i32(rows + first * RECORD_ROW + RECORD_AT.batch)
    while first < stop and load_i32(rows + first * RECORD_ROW + RECORD_AT.batch) == number:
        if not _is_marker(data, rows + first * RECORD_ROW):
            return False
        first += 1
    return True


@inlined
def _put_marker(to: int, data: int, row: int) -> int:
    key, value = data + load_i64(row + RECORD_AT.key_at), data + load_i64(row + RECORD_AT.value_at)
    to = put(to, " endTxnMarker: COMMIT") if load_i16be(key + 2) else put(to, " endTxnMarker: ABORT")
    return put_number(put(to, " coordinatorEpoch: "), load_i32be(value + 2))


@inlined
def _put_v2(to: int, batch: int, data: int, row: int) -> int:
    """What only a record of v2 has."""
    sequence = load_i32(batch + BATCH_AT.base_sequence)
    to = put_number(put(to, " keySize: "), load_i32(row + RECORD_AT.key_size))
    to = put_number(put(to, " valueSize: "), load_i32(row + RECORD_AT.value_size))
    if sequence >= 0:
        delta = load_i64(row + RECORD_AT.offset) - load_i64(batch + BATCH_AT.base_offset)
        sequence = _sequence_after(sequence, delta)
    else:
        sequence = -1
    to = put(put_number(put(to, " sequence: "), sequence), " headerKeys: [")
    to = put(_put_header_keys(to, data, row), "]")
    return _put_marker(to, data, row) if _is_control(batch) else to


@inlined
def _put_message(to: int, data: int, row: int) -> int:
    """What only a message of v0 or v1 has; its sizes are shown as stored. Decoding has found its CRC to hold."""
    key, value = data + load_i64(row + RECORD_AT.key_at), data + load_i64(row + RECORD_AT.value_at)
    to = put_number(put(to, " keySize: "), load_i32be(key - 4))
    to = put_number(put(to, " valueSize: "), load_i32be(value - 4))
    crc = key - (_KEY_IN_V1 if load_i8(row + RECORD_AT.magic) else _KEY_IN_V0)
    return put_number(put(to, " isValid: true crc: "), load_u32be(crc))


@inlined
def _put_metadata(to: int, batch: int, data: int, row: int) -> int:
    magic = load_i8(batch + BATCH_AT.magic)
    to = put_number(put(to, "| offset: "), load_i64(row + RECORD_AT.offset))
    to = _put_time_label(to, magic, load_i16(batch + BATCH_AT.attributes))
    to = put_number(to, load_i64(row + RECORD_AT.timestamp))
    return _put_v2(to, batch, data, row) if magic >= 2 else _put_message(to, data, row)


@inlined
def _put_hexadecimal(to: int, at: int, size: int) -> int:
    digits = _digits()
    for index in range(size):
        byte = load_u8(at + index)
        store_8(to + 2 * index, load_u8(digits + (byte >> 4)))
        store_8(to + 2 * index + 1, load_u8(digits + (byte & 15)))
    return to + 2 * size


@inlined
def _put_decoded(to: int, at: int, size: int, decoder: int) -> int:
    if decoder == DUMP_LONG and size >= 8:
        return put_number(to, load_i64be(at))
    if decoder == DUMP_INTEGER and size >= 4:
        return put_number(to, load_i32be(at))
    if decoder == DUMP_BYTES:
        return _put_hexadecimal(to, at, size)
    if decoder == DUMP_STRING:
        return put_java_text(to, at, size)
    to = put(put_number(put(to, "<"), size), " bytes are too few for ")
    return put(to, "a long>") if decoder == DUMP_LONG else put(to, "an integer>")


@inlined
def _put_contents(to: int, data: int, row: int, shown: int) -> int:
    key_size, value_size = load_i32(row + RECORD_AT.key_size), load_i32(row + RECORD_AT.value_size)
    if not shown & DUMP_METADATA and (key_size >= 0 or value_size >= 0):
        store_8(to, 0x7C)
        to += 1
    if key_size >= 0:
        store_8(to, 0x20)
        key = data + load_i64(row + RECORD_AT.key_at)
        to = _put_decoded(put(to + 1, "key: "), key, key_size, shown >> DUMP_KEY & 3)
    if value_size >= 0:
        store_8(to, 0x20)
        value = data + load_i64(row + RECORD_AT.value_at)
        to = _put_decoded(put(to + 1, "payload: "), value, value_size, shown >> DUMP_VALUE & 3)
    return to


@inlined
def _most(row: int, shown: int) -> int:
    """Bytes that the line of a record does not exceed."""
    most = _RECORD_LINE
    if shown & DUMP_METADATA:
        most += 3 * load_i32(row + RECORD_AT.headers_size)
    if shown & DUMP_CONTENTS:
        most += 3 * (max(load_i32(row + RECORD_AT.key_size), 0) + max(load_i32(row + RECORD_AT.value_size), 0))
    return most + _SLACK


def dump_batches(batches: int, first: int, stop: int, out: int, room: int, result: int) -> int:
    """Kernel: the lines of batches [first, stop) as far as they fit in `room` bytes at `out`; how many bytes.

    result: the batch it stopped before.
    """
    to, end = out, out + room
    while first < stop and end - to >= _BATCH_LINE:
        to = _put_batch(to, batches + first * BATCH_ROW)
        first += 1
    store_64(result, first)
    return to - out


def dump_records(
    batches: int,
    next_batch: int,
    data: int,
    rows: int,
    first: int,
    stop: int,
    shown: int,
    out: int,
    room: int,
    result: int,
) -> int:
    """Kernel: the lines of records [first, stop), each batch's own line before its records; how many bytes.

    Batches from `next_batch` on have no line yet. `shown` has the bits DUMP_METADATA and DUMP_CONTENTS,
    and two for each decoder from DUMP_KEY and DUMP_VALUE on.
    result: the record it stopped before, the next batch, and why: it wanted that many bytes, or DUMP_ODD, a control
    batch whose records do not all end transactions. All records of a control batch are in one call.
    """
    to, end, why = out, out + room, 0
    while first < stop and why == 0:
        row = rows + first * RECORD_ROW
        number = load_i32(row + RECORD_AT.batch)
        batch = batches + number * BATCH_ROW
        control = _is_control(batch)
        if control and next_batch <= number and not _has_markers_only(data, rows, first, stop):
            why = DUMP_ODD
            break
        while next_batch <= number and end - to >= _BATCH_LINE:
            to = _put_batch(to, batches + next_batch * BATCH_ROW)
            next_batch += 1
        most = _most(row, shown) if next_batch > number else _BATCH_LINE
        if end - to < most:
            why = most
        else:
            if shown & DUMP_METADATA:
                to = _put_metadata(to, batch, data, row)
            if shown & DUMP_CONTENTS and not control:
                to = _put_contents(to, data, row, shown)
            store_8(to, 0x0A)
            to += 1
            first += 1
    store_64(result, first)
    store_64(result + 8, next_batch)
    store_64(result + 16, why)
    return to - out
