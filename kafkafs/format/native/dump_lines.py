"""The lines of a log's dump from rows of BATCH and RECORD, as `dump/single_lines` has them. Source: DumpLogSegments.

Bytes are text as Java reads UTF-8: what is malformed becomes U+FFFD, one for each part that Java's decoder gives up on.
That is the longest beginning of a character, as for Unicode, but that an encoded surrogate counts as one part, even
where its last byte is missing. Source: observed, over all sequences of bytes that matter.
"""

import cython

from kafkafs.format.native.batch_lines import put_codec_name, put_flag
from kafkafs.format.native.layout import *
from kafkafs.format.native.primitives import *
from kafkafs.format.native.text import character, put_character, put_number
from kafkafs.format.native.varint import varint

_HIGH_BITS = -0x7F7F7F7F7F7F7F80  # the top bit of each of eight bytes


@inlined
def _continues(data: Span, at: Int, end: Int) -> Int:
    if at >= end or load_u8(data, at) & 0xC0 != 0x80:
        return 0
    return 1


@inlined
def _malformed(data: Span, at: Int, end: Int) -> Int:
    """How many bytes make one replacement where the bytes at `at` are no character."""
    lead = load_u8(data, at)
    if lead < 0xE0 or lead > 0xF4 or not _continues(data, at + 1, end):
        return 1
    second = load_u8(data, at + 1)
    if (lead == 0xE0 and second < 0xA0) or (lead == 0xF0 and second < 0x90) or (lead == 0xF4 and second > 0x8F):
        return 1
    return 2 + _continues(data, at + 2, end)


@native
def put_java_text(out: Span, to: Int, data: Span, at: Int, size: Int) -> Int:
    """Writes `size` bytes at `at`, three times as many at most: the place behind them."""
    end = at + size
    while at < end:
        while at + 8 <= end:
            eight = load_i64(data, at)
            if eight & _HIGH_BITS:
                break
            store_64(out, to, eight)
            at += 8
            to += 8
        while at < end and load_u8(data, at) < 0x80:
            store_8(out, to, load_u8(data, at))
            at += 1
            to += 1
        while at < end and load_u8(data, at) >= 0x80:
            length = character(data, at, end - at)
            if length:
                to = put_character(out, to, data, at, length)
                at += length
            else:
                store_8(out, to, 0xEF)
                store_16(out, to + 1, 0xBDBF)
                at += _malformed(data, at, end)
                to += 3
    return to


_HEXADECIMAL = b"0123456789abcdef"

_BATCH_LINE = 768  # bytes that no batch's line exceeds, with what the last copy may write behind it
_RECORD_LINE = 512  # the same for a record's, without key, value and names of headers
_KEY_IN_V0, _KEY_IN_V1 = 10, 18  # bytes from a message's CRC, its first field, to its key
_SLACK = 16  # bytes behind the text that are written too
_LARGEST_SEQUENCE = 2**31 - 1
_HALF, _MASK = 2**31, 2**32 - 1


@inlined
def _put_time_label(out: Span, to: Int, row: Batch) -> Int:
    if row.magic == 0:
        return put(out, to, b" NoTimestampType: ")
    if row.attributes & 8:
        return put(out, to, b" LogAppendTime: ")
    return put(out, to, b" CreateTime: ")


@inlined
def _put_codec_or_unknown(out: Span, to: Int, codec: Int) -> Int:
    named = put_codec_name(out, to, codec)
    return put(out, put_number(out, put(out, to, b"unknown("), codec), b")") if named == to else named


@inlined
def _as_int(number: Int) -> Int:
    """The value that remains in a Java int."""
    return ((number + _HALF) & _MASK) - _HALF


@inlined
def _sequence_after(sequence: Int, delta: Int) -> Int:
    """As `dump.entries` has it, for what a damaged header says too."""
    if sequence > _as_int(_LARGEST_SEQUENCE - delta):
        return _as_int(delta - (_LARGEST_SEQUENCE - sequence) - 1)
    return _as_int(sequence + delta)


@native
def _put_front(out: Span, to: Int, row: Batch) -> Int:
    """The fields that only a v2 batch has."""
    last_sequence = _sequence_after(row.base_sequence, row.last_offset - row.base_offset)
    to = put_number(out, put(out, to, b"baseOffset: "), row.base_offset)
    to = put_number(out, put(out, to, b" lastOffset: "), row.last_offset)
    to = put_number(out, put(out, to, b" count: "), row.count)
    to = put_number(out, put(out, to, b" baseSequence: "), row.base_sequence)
    to = put_number(out, put(out, to, b" lastSequence: "), -1 if row.base_sequence == -1 else last_sequence)
    to = put_number(out, put(out, to, b" producerId: "), row.producer_id)
    to = put_number(out, put(out, to, b" producerEpoch: "), row.producer_epoch)
    to = put_number(out, put(out, to, b" partitionLeaderEpoch: "), row.leader_epoch)
    to = put_flag(out, put(out, to, b" isTransactional: "), row.attributes & 0x10)
    to = put_flag(out, put(out, to, b" isControl: "), row.attributes & 0x20)
    if row.attributes & 0x40:
        to = put_number(out, put(out, to, b" deleteHorizonMs: OptionalLong["), row.base_timestamp)
        return put(out, to, b"]")
    return put(out, to, b" deleteHorizonMs: OptionalLong.empty")


@native
def _put_batch(out: Span, to: Int, row: Batch) -> Int:
    """The line of a batch."""
    if row.magic >= 2:
        to = _put_front(out, to, row)
    else:
        to = put_number(out, put(out, to, b"offset: "), row.last_offset)
    to = put_number(out, put(out, to, b" position: "), row.position)
    to = put_number(out, _put_time_label(out, to, row), row.max_timestamp)
    to = put_number(out, put(out, to, b" size: "), row.size)
    to = put_number(out, put(out, to, b" magic: "), row.magic)
    to = _put_codec_or_unknown(out, put(out, to, b" compresscodec: "), row.attributes & 7)
    to = put_number(out, put(out, to, b" crc: "), row.crc)
    to = put_flag(out, put(out, to, b" isvalid: "), row.valid == VALID)
    return put(out, to, b"\n")


@native
def _put_header_keys(out: Span, to: Int, data: Span, row: Record) -> Int:
    place: Int = row.headers_at
    end: Int = place + row.headers_size
    for number in range(row.header_count):
        size, place = varint(data, place, end)
        if number:
            to = put(out, to, b",")
        to = put_java_text(out, to, data, place, size)
        size, place = varint(data, place + size, end)
        place += max(size, 0)
    return to


@inlined
def _is_control(batch: Batch) -> Int:
    return batch.attributes & 0x20 if batch.magic >= 2 else 0


@inlined
def _is_marker(data: Span, row: Record) -> Int:
    """True if a control record ends a transaction, as far as Kafka looks."""
    if row.key_size < 4 or row.value_size < 6 or load_i16be(data, row.key_at) < 0:
        return 0
    kind = load_i16be(data, row.key_at + 2)
    if kind < 0 or kind > 1 or load_i16be(data, row.value_at) < 0:
        return 0
    return 1


@native
def _has_markers_only(data: Span, rows: Span, first: Int, stop: Int) -> Int:
    """True if all records of the control batch that begins at row `first` end a transaction."""
    number = record_at(rows, first).batch
    while first < stop and record_at(rows, first).batch == number:
        if not _is_marker(data, record_at(rows, first)):
            return 0
        first += 1
    return 1


@inlined
def _put_marker(out: Span, to: Int, data: Span, row: Record) -> Int:
    if load_i16be(data, row.key_at + 2):
        to = put(out, to, b" endTxnMarker: COMMIT")
    else:
        to = put(out, to, b" endTxnMarker: ABORT")
    return put_number(out, put(out, to, b" coordinatorEpoch: "), load_i32be(data, row.value_at + 2))


@inlined
def _put_v2(out: Span, to: Int, batch: Batch, data: Span, row: Record) -> Int:
    """The fields that only a v2 record has."""
    sequence: Int = -1
    if batch.base_sequence >= 0:
        sequence = _sequence_after(batch.base_sequence, row.offset - batch.base_offset)
    to = put_number(out, put(out, to, b" keySize: "), row.key_size)
    to = put_number(out, put(out, to, b" valueSize: "), row.value_size)
    to = put_number(out, put(out, to, b" sequence: "), sequence)
    to = put(out, to, b" headerKeys: [")
    to = put(out, _put_header_keys(out, to, data, row), b"]")
    return _put_marker(out, to, data, row) if _is_control(batch) else to


@inlined
def _put_message(out: Span, to: Int, data: Span, row: Record) -> Int:
    """The fields that only a v0 or v1 message has. Its sizes are shown as stored. Decoding has found its CRC to
    hold."""
    to = put_number(out, put(out, to, b" keySize: "), load_i32be(data, row.key_at - 4))
    to = put_number(out, put(out, to, b" valueSize: "), load_i32be(data, row.value_at - 4))
    crc: Int = row.key_at - (_KEY_IN_V1 if row.magic else _KEY_IN_V0)
    return put_number(out, put(out, to, b" isValid: true crc: "), load_u32be(data, crc))


@inlined
def _put_metadata(out: Span, to: Int, batch: Batch, data: Span, row: Record) -> Int:
    to = put_number(out, put(out, to, b"| offset: "), row.offset)
    to = put_number(out, _put_time_label(out, to, batch), row.timestamp)
    return _put_v2(out, to, batch, data, row) if batch.magic >= 2 else _put_message(out, to, data, row)


@native
def _put_hexadecimal(out: Span, to: Int, data: Span, at: Int, size: Int) -> Int:
    for index in range(size):
        byte = load_u8(data, at + index)
        store_8(out, to + 2 * index, load_u8(_HEXADECIMAL, byte >> 4))
        store_8(out, to + 2 * index + 1, load_u8(_HEXADECIMAL, byte & 15))
    return to + 2 * size


@native
def _put_decoded(out: Span, to: Int, data: Span, at: Int, size: Int, decoder: Int) -> Int:
    if decoder == DUMP_LONG and size >= 8:
        return put_number(out, to, load_i64be(data, at))
    if decoder == DUMP_INTEGER and size >= 4:
        return put_number(out, to, load_i32be(data, at))
    if decoder == DUMP_BYTES:
        return _put_hexadecimal(out, to, data, at, size)
    if decoder == DUMP_STRING:
        return put_java_text(out, to, data, at, size)
    to = put(out, put_number(out, put(out, to, b"<"), size), b" bytes are too few for ")
    return put(out, to, b"a long>") if decoder == DUMP_LONG else put(out, to, b"an integer>")


@inlined
def _put_contents(out: Span, to: Int, data: Span, row: Record, shown: Int) -> Int:
    if not shown & DUMP_METADATA and (row.key_size >= 0 or row.value_size >= 0):
        to = put(out, to, b"|")
    if row.key_size >= 0:
        to = _put_decoded(out, put(out, to, b" key: "), data, row.key_at, row.key_size, shown >> DUMP_KEY & 3)
    if row.value_size >= 0:
        to = _put_decoded(out, put(out, to, b" payload: "), data, row.value_at, row.value_size, shown >> DUMP_VALUE & 3)
    return to


@inlined
def _most(row: Record, shown: Int) -> Int:
    """Bytes that the line of a record does not exceed."""
    most: Int = _RECORD_LINE + _SLACK
    headers: Int = row.headers_size
    key: Int = max(row.key_size, 0)
    value: Int = max(row.value_size, 0)
    if shown & DUMP_METADATA:
        most += 3 * headers
    if shown & DUMP_CONTENTS:
        most += 3 * (key + value)
    return most


def dump_batches(batch_table: object, first: Int, stop: Int, target: object) -> tuple[int, int]:
    """Kernel: the lines of batches [first, stop) as far as they fit into `target`.

    The answer: how many bytes, and the batch it stopped before.
    """
    batches, out = span(batch_table), room(target)
    to: Int = 0
    with cython.nogil:
        while first < stop and out.nbytes - to >= _BATCH_LINE:
            to = _put_batch(out, to, batch_at(batches, first))
            first += 1
    return to, first


def dump_records(
    batch_table: object,
    next_batch: Int,
    source: object,
    record_table: object,
    first: Int,
    stop: Int,
    shown: Int,
    target: object,
) -> tuple[int, int, int, int]:
    """Kernel: the lines of records [first, stop), each batch's own line before its records.

    Batches from `next_batch` on have no line yet. `shown` has the bits DUMP_METADATA and DUMP_CONTENTS,
    and two for each decoder from DUMP_KEY and DUMP_VALUE on. All records of a control batch are in one call.
    The answer: how many bytes, the record it stopped before, the next batch, and why: it wanted that many bytes, or
    DUMP_ODD, a control batch whose records do not all end transactions.
    """
    batches, data, rows, out = span(batch_table), span(source), span(record_table), room(target)
    to: Int = 0
    why: Int = 0
    with cython.nogil:
        while first < stop and why == 0:
            row = record_at(rows, first)
            batch = batch_at(batches, row.batch)
            control = _is_control(batch)
            if control and next_batch <= row.batch and not _has_markers_only(data, rows, first, stop):
                why = DUMP_ODD
                break
            while next_batch <= row.batch and out.nbytes - to >= _BATCH_LINE:
                to = _put_batch(out, to, batch_at(batches, next_batch))
                next_batch += 1
            most: Int = _most(row, shown) if next_batch > row.batch else _BATCH_LINE
            if out.nbytes - to < most:
                why = most
                break
            if shown & DUMP_METADATA:
                to = _put_metadata(out, to, batch, data, row)
            if shown & DUMP_CONTENTS and not control:
                to = _put_contents(out, to, data, row, shown)
            to = put(out, to, b"\n")
            first += 1
    return to, first, next_batch, why
