"""Rows of BATCH as JSON lines: `.batches.jsonl` of docs/queries.md. What a format does not have is null."""

from kafkafs.format.native.kernels.machine import (
    copy_16,
    inlined,
    load_i8,
    load_i16,
    load_i32,
    load_i64,
    load_u32,
    put,
    store_64,
)
from kafkafs.format.native.kernels.numbers import put_number
from kafkafs.format.native.layout import BATCH_AT, BATCH_ROW, INVALID, VALID

_LONGEST = 800  # bytes; more than a line's names and 16 numbers of 20 digits

_CODEC, _LOG_APPEND_TIME, _TRANSACTIONAL, _CONTROL, _DELETE_HORIZON = 7, 8, 16, 32, 64  # bits of the attributes


@inlined
def _put_flag(to: int, flag: int) -> int:
    return put(to, "true") if flag else put(to, "false")


@inlined
def _put_codec(to: int, codec: int) -> int:
    if codec == 0:
        return put(to, '"none"')
    if codec == 1:
        return put(to, '"gzip"')
    if codec == 2:
        return put(to, '"snappy"')
    if codec == 3:
        return put(to, '"lz4"')
    if codec == 4:
        return put(to, '"zstd"')
    return put(to, "null")


@inlined
def _put_offsets(to: int, row: int, known: bool) -> int:
    """From `baseOffset` to `count`: the first and the number of a compressed v0 or v1 message take unpacking."""
    base = put(to, ',"baseOffset":')
    to = put_number(base, load_i64(row + BATCH_AT.base_offset)) if known else put(base, "null")
    count = put(put_number(put(to, ',"lastOffset":'), load_i64(row + BATCH_AT.last_offset)), ',"count":')
    return put_number(count, load_i32(row + BATCH_AT.record_count)) if known else put(count, "null")


@inlined
def _put_checks(to: int, row: int, magic: int, attributes: int) -> int:
    """From `partitionLeaderEpoch` to `timestampType`."""
    epoch = put(to, ',"partitionLeaderEpoch":')
    to = put_number(epoch, load_i32(row + BATCH_AT.leader_epoch)) if magic == 2 else put(epoch, "null")
    to = put(put_number(put(to, ',"crc":'), load_u32(row + BATCH_AT.crc)), ',"valid":')
    valid = load_i8(row + BATCH_AT.valid)
    to = _put_flag(to, valid == VALID) if valid >= INVALID else put(to, "null")
    kind = put(_put_codec(put(to, ',"codec":'), attributes & _CODEC), ',"timestampType":')
    if magic == 0:
        return put(kind, "null")
    return put(kind, '"LogAppendTime"') if attributes & _LOG_APPEND_TIME else put(kind, '"CreateTime"')


@inlined
def _put_times(to: int, row: int, magic: int) -> int:
    base = put(to, ',"baseTimestamp":')
    largest = put(
        put_number(base, load_i64(row + BATCH_AT.base_timestamp)) if magic == 2 else put(base, "null"),
        ',"maxTimestamp":',
    )
    return put_number(largest, load_i64(row + BATCH_AT.max_timestamp)) if magic else put(largest, "null")


@inlined
def _put_producer(to: int, row: int, attributes: int) -> int:
    """From `isTransactional` on, of format v2."""
    to = _put_flag(put(to, ',"isTransactional":'), attributes & _TRANSACTIONAL)
    horizon = put(_put_flag(put(to, ',"isControl":'), attributes & _CONTROL), ',"deleteHorizonMs":')
    deleting = attributes & _DELETE_HORIZON
    to = put_number(horizon, load_i64(row + BATCH_AT.base_timestamp)) if deleting else put(horizon, "null")
    to = put_number(put(to, ',"producerId":'), load_i64(row + BATCH_AT.producer_id))
    to = put_number(put(to, ',"producerEpoch":'), load_i16(row + BATCH_AT.producer_epoch))
    first = load_i32(row + BATCH_AT.base_sequence)
    last = first + load_i64(row + BATCH_AT.last_offset) - load_i64(row + BATCH_AT.base_offset)
    to = put(put_number(put(to, ',"baseSequence":'), first), ',"lastSequence":')
    return put_number(to, -1 if first < 0 else last & 0x7FFFFFFF)  # sequences wrap to 0


@inlined
def _put_line(to: int, row: int) -> int:
    """All of a line behind `"position":`."""
    magic, attributes = load_i8(row + BATCH_AT.magic), load_i16(row + BATCH_AT.attributes)
    to = put_number(to, load_i64(row + BATCH_AT.position))
    to = put_number(put(to, ',"size":'), load_i64(row + BATCH_AT.size))
    to = put_number(put(to, ',"magic":'), magic)
    to = _put_offsets(to, row, magic == 2 or attributes & _CODEC == 0)
    to = _put_times(_put_checks(to, row, magic, attributes), row, magic)
    if magic == 2:
        return put(_put_producer(to, row, attributes), "}\n")
    to = put(to, ',"isTransactional":null,"isControl":null,"deleteHorizonMs":null,"producerId":null')
    return put(to, ',"producerEpoch":null,"baseSequence":null,"lastSequence":null}\n')


def batch_lines(
    rows: int, first: int, stop: int, prefix: int, prefix_size: int, out: int, capacity: int, result: int
) -> int:
    """Kernel: the lines of batches [first, stop); how many bytes they have.

    `prefix` is what each line begins with, up to `"position":`, in a buffer of 16 bytes more. Ends before a line that
    might not fit into `capacity` bytes. result: the row that it ended before.
    """
    to, number = out, first
    while number < stop and out + capacity - to > prefix_size + _LONGEST:
        for step in range(0, prefix_size, 16):
            copy_16(to + step, prefix + step)
        to = _put_line(to + prefix_size, rows + number * BATCH_ROW)
        number += 1
    store_64(result, number)
    return to - out
