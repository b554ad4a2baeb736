"""Rows of BATCH as JSON lines: `.batches.jsonl` of docs/queries.md. Fields that a format does not have are null."""

import cython

from kafkafs.format.native.json_lines import put_prefix
from kafkafs.format.native.layout import *
from kafkafs.format.native.primitives import *
from kafkafs.format.native.text import put_number

_LONGEST = 800  # bytes; more than a line's names and 16 numbers of 20 digits

_CODEC, _LOG_APPEND_TIME, _TRANSACTIONAL, _CONTROL, _DELETE_HORIZON = 7, 8, 16, 32, 64  # bits of the attributes


@inlined
def put_flag(out: Span, to: Int, flag: Int) -> Int:
    """`true` or `false`."""
    return put(out, to, b"true") if flag else put(out, to, b"false")


@inlined
def _put_number_or_null(out: Span, to: Int, number: Int, known: Int) -> Int:
    return put_number(out, to, number) if known else put(out, to, b"null")


@inlined
def put_codec_name(out: Span, to: Int, codec: Int) -> Int:
    """As CODECS of `format.batch` has it; nothing of a codec that there is not."""
    if codec == 0:
        return put(out, to, b"none")
    if codec == 1:
        return put(out, to, b"gzip")
    if codec == 2:
        return put(out, to, b"snappy")
    if codec == 3:
        return put(out, to, b"lz4")
    if codec == 4:
        return put(out, to, b"zstd")
    return to


@inlined
def _put_codec(out: Span, to: Int, codec: Int) -> Int:
    named = put_codec_name(out, put(out, to, b'"'), codec)
    return put(out, to, b"null") if named == to + 1 else put(out, named, b'"')


@native
def _put_offsets(out: Span, to: Int, row: Batch, known: Int) -> Int:
    """From `baseOffset` to `count`: the first and the number of a compressed v0 or v1 message take unpacking."""
    to = _put_number_or_null(out, put(out, to, b',"baseOffset":'), row.base_offset, known)
    to = put_number(out, put(out, to, b',"lastOffset":'), row.last_offset)
    return _put_number_or_null(out, put(out, to, b',"count":'), row.count, known)


@native
def _put_checks(out: Span, to: Int, row: Batch) -> Int:
    """From `partitionLeaderEpoch` to `timestampType`."""
    to = _put_number_or_null(out, put(out, to, b',"partitionLeaderEpoch":'), row.leader_epoch, row.magic == 2)
    to = put_number(out, put(out, to, b',"crc":'), row.crc)
    to = put(out, to, b',"valid":')
    to = put_flag(out, to, row.valid == VALID) if row.valid >= INVALID else put(out, to, b"null")
    to = _put_codec(out, put(out, to, b',"codec":'), row.attributes & _CODEC)
    to = put(out, to, b',"timestampType":')
    if row.magic == 0:
        return put(out, to, b"null")
    if row.attributes & _LOG_APPEND_TIME:
        return put(out, to, b'"LogAppendTime"')
    return put(out, to, b'"CreateTime"')


@native
def _put_times(out: Span, to: Int, row: Batch) -> Int:
    to = _put_number_or_null(out, put(out, to, b',"baseTimestamp":'), row.base_timestamp, row.magic == 2)
    return _put_number_or_null(out, put(out, to, b',"maxTimestamp":'), row.max_timestamp, row.magic != 0)


@native
def _put_producer(out: Span, to: Int, row: Batch) -> Int:
    """From `isTransactional` on, of format v2."""
    to = put_flag(out, put(out, to, b',"isTransactional":'), row.attributes & _TRANSACTIONAL)
    to = put_flag(out, put(out, to, b',"isControl":'), row.attributes & _CONTROL)
    deleting = row.attributes & _DELETE_HORIZON
    to = _put_number_or_null(out, put(out, to, b',"deleteHorizonMs":'), row.base_timestamp, deleting)
    to = put_number(out, put(out, to, b',"producerId":'), row.producer_id)
    to = put_number(out, put(out, to, b',"producerEpoch":'), row.producer_epoch)
    last: Int = row.base_sequence + row.last_offset - row.base_offset
    to = put_number(out, put(out, to, b',"baseSequence":'), row.base_sequence)
    to = put(out, to, b',"lastSequence":')
    return put_number(out, to, -1 if row.base_sequence < 0 else last & 0x7FFFFFFF)  # sequences wrap to 0


@native
def _put_line(out: Span, to: Int, row: Batch) -> Int:
    """All of a line behind `"position":`."""
    to = put_number(out, to, row.position)
    to = put_number(out, put(out, to, b',"size":'), row.size)
    to = put_number(out, put(out, to, b',"magic":'), row.magic)
    to = _put_offsets(out, to, row, row.magic == 2 or row.attributes & _CODEC == 0)
    to = _put_times(out, _put_checks(out, to, row), row)
    if row.magic == 2:
        return put(out, _put_producer(out, to, row), b"}\n")
    to = put(out, to, b',"isTransactional":null,"isControl":null,"deleteHorizonMs":null,"producerId":null')
    return put(out, to, b',"producerEpoch":null,"baseSequence":null,"lastSequence":null}\n')


def batch_lines(
    batch_table: object, first: Int, stop: Int, beginning: object, prefix_size: Int, target: object
) -> tuple[int, int]:
    """Kernel: the lines of batches [first, stop).

    `beginning` is what each line begins with, up to `"position":`, and 16 bytes more. Ends before a line that might not
    fit into `target`. The answer: how many bytes the lines have, and the row that it ended before.
    """
    rows, prefix, out = span(batch_table), span(beginning), room(target)
    to: Int = 0
    with cython.nogil:
        while first < stop and out.nbytes - to > prefix_size + _LONGEST:
            to = _put_line(out, put_prefix(out, to, prefix, prefix_size), batch_at(rows, first))
            first += 1
    return to, first
