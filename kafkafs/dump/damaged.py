"""Records one by one, as far as Kafka's tool gets in a batch that is damaged.

The tool does not ask whether a CRC holds before it reads records. It prints those of an uncompressed batch as it
comes upon them and ends with an exception at the first that cannot be read; of a compressed batch, it unpacks all
before it prints any. Sources: DefaultRecordBatch, DefaultRecord, AbstractLegacyRecordBatch, LegacyRecord.
"""

import struct
from collections import deque
from collections.abc import Iterator
from zlib import crc32

from kafkafs.dump.entries import NO_SEQUENCE, SMALLEST_SIZE, sequence_after, wrap
from kafkafs.dump.kafka_decoders import as_string
from kafkafs.dump.single_lines import DumpedRecord
from kafkafs.errors import CorruptData
from kafkafs.format.batch import APPEND_TIME, CODEC, CODECS, HEADER_V2, LOG_OVERHEAD, Batch
from kafkafs.format.codecs import ZSTD, decompress
from kafkafs.format.memory import Memory
from kafkafs.format.varints import varint, varlong

MOST_RECORDS, MOST_HEADERS = 1_000_000, 1_000_000
"""Records of a compressed batch and headers of a record that are looked at here: more could keep the reader waiting for
minutes, or fill the memory, and no broker writes them."""

Bytes = bytes | memoryview
_NONE = 0
_ENTRY = struct.Struct(">qi")  # offset, size of the message behind it


def records(batch: Batch, data: bytes, limit: int, memory: Memory) -> Iterator[DumpedRecord]:
    """The records of the batch whose bytes are `data`, up to the first that cannot be read: there, CorruptData.

    TooLarge if they would unpack to more than `limit` bytes, BatchMemoryFull if `memory` has no more.
    """
    try:
        yield from (
            _records_v2(batch, data, limit, memory) if batch.magic >= 2 else _messages(batch, data, limit, memory)
        )
    except (struct.error, IndexError) as error:
        raise CorruptData("the data ends inside a record") from error


def _records_v2(batch: Batch, data: bytes, limit: int, memory: Memory) -> Iterator[DumpedRecord]:
    if len(data) < HEADER_V2.size:
        raise CorruptData(f"{len(data)} bytes are too few for a batch")
    if batch.count < 0:
        raise CorruptData(f"the batch announces {batch.count} records")
    if batch.count == 0:
        return
    _check_codec(batch.codec)
    body = data[HEADER_V2.size :]
    if batch.codec == _NONE:
        yield from _body_records(batch, body)
    elif batch.count > MOST_RECORDS:
        raise CorruptData(f"it is damaged and announces {batch.count} records, too many to look at one by one")
    else:
        unpacked = _unpacked(batch, body, limit, memory)
        deque(
            _body_records(batch, unpacked), maxlen=0
        )  # all can be read, or none is shown; kept they could be gigabytes
        yield from _body_records(batch, unpacked)


def _body_records(batch: Batch, body: Bytes) -> Iterator[DumpedRecord]:
    at = 0
    for number in range(batch.count):
        record, at = _record(batch, body, at)
        if number == batch.count - 1 and at != len(body):
            raise CorruptData(f"{len(body) - at} bytes follow the last record")
        yield record


def _record(batch: Batch, body: Bytes, at: int) -> tuple[DumpedRecord, int]:
    size, start = varint(body, at)
    if size > len(body) - start:
        raise CorruptData(f"a record of {size} bytes has {len(body) - start} left")
    timestamp_delta, at = varlong(body, start + 1)
    offset_delta, at = varint(body, at)
    key, at = _nullable(body, at)
    value, at = _nullable(body, at)
    count, at = varint(body, at)
    if not 0 <= count <= min(len(body) - at, MOST_HEADERS):
        raise CorruptData(f"a record announces {count} headers")
    header_keys = []
    for _ in range(count):
        header_key, at = _nullable(body, at)
        if header_key is None:
            raise CorruptData("a header has no key")
        _, at = _nullable(body, at)
        header_keys.append(as_string(header_key))
    if at - start != size:
        raise CorruptData(f"a record of {size} bytes holds {at - start}")
    is_append_time = bool(batch.attributes & APPEND_TIME)
    timestamp = batch.max_timestamp if is_append_time else wrap(batch.base_timestamp + timestamp_delta, 64)
    sequence = sequence_after(batch.base_sequence, offset_delta) if batch.base_sequence >= 0 else NO_SEQUENCE
    offset = wrap(batch.base_offset + offset_delta, 64)
    return DumpedRecord(offset, timestamp, key, value, _size(key), _size(value), sequence, header_keys), at


def _nullable(body: Bytes, at: int) -> tuple[bytes | None, int]:
    size, at = varint(body, at)
    if size < 0:
        return None, at
    if size > len(body) - at:
        raise CorruptData(f"a field of {size} bytes has {len(body) - at} left")
    return bytes(body[at : at + size]), at + size


def _size(field: bytes | None) -> int:
    return -1 if field is None else len(field)


def _messages(batch: Batch, data: bytes, limit: int, memory: Memory) -> Iterator[DumpedRecord]:
    wrapper = data[LOG_OVERHEAD:]
    if batch.codec == _NONE:
        yield _message(wrapper, batch.last_offset, None)
        return
    _check_codec(batch.codec)
    if batch.codec == ZSTD:
        raise CorruptData(f"format v{batch.magic} has no zstd")
    _, value = _fields(wrapper)
    if value is None:
        raise CorruptData("a compressed message has no value")
    unpacked = _unpacked(batch, value, limit, memory)
    last = deque((offset for offset, _ in _inner(unpacked)), maxlen=1)
    if not last:
        raise CorruptData("a compressed message is empty")
    base = _inner_base(batch, last[0])
    append_time = batch.max_timestamp if batch.attributes & APPEND_TIME and batch.magic else None
    for offset, message in _inner(unpacked):
        if message[5] & CODEC:
            _check_codec(message[5] & CODEC)
            raise CorruptData("an inner message is compressed itself")
        yield _message(message, wrap(base + offset, 64), append_time if message[4] == 1 else None)


def _inner_base(batch: Batch, last_inner_offset: int) -> int:
    """Return the offset that inner offsets count from. Offsets of v0 are absolute. Those of v1 are relative to a base
    that follows from the wrapper's offset."""
    if batch.magic == 0 or batch.last_offset == 0:
        return 0
    if batch.last_offset < last_inner_offset:
        raise CorruptData(f"wrapper offset {batch.last_offset} is below the last inner offset {last_inner_offset}")
    return wrap(batch.last_offset - last_inner_offset, 64)


def _inner(unpacked: Bytes) -> Iterator[tuple[int, Bytes]]:
    """Offset and bytes of each whole inner message."""
    at = 0
    while len(unpacked) - at >= _ENTRY.size:
        offset, size = _ENTRY.unpack_from(unpacked, at)
        if size < SMALLEST_SIZE:
            raise CorruptData(f"an inner message has {size} bytes")
        at += _ENTRY.size
        if size > len(unpacked) - at:
            return
        yield offset, unpacked[at : at + size]
        at += size


def _message(message: Bytes, offset: int, append_time: int | None) -> DumpedRecord:
    magic = message[4]
    key_size, value_size = _sizes(message)
    try:
        key, value = _fields(message)
    except CorruptData:  # its CRC fails then, and the line says so
        key = value = None
    timestamp = -1
    if magic:
        timestamp = append_time if append_time is not None else int.from_bytes(message[6:14], "big", signed=True)
    crc = int.from_bytes(message[:4], "big")
    is_valid = crc == crc32(memoryview(message)[4:])
    return DumpedRecord(offset, timestamp, key, value, key_size, value_size, crc=crc, is_valid=is_valid)


def _key_at(message: Bytes) -> int:
    """Return the place of the key's size: behind a timestamp, except in v0."""
    return 14 if message[4] else 6


def _sizes(message: Bytes) -> tuple[int, int]:
    at = _key_at(message)
    (key_size,) = struct.unpack_from(">i", message, at)
    (value_size,) = struct.unpack_from(">i", message, at + 4 + max(0, key_size))
    return key_size, value_size


def _fields(message: Bytes) -> tuple[bytes | None, bytes | None]:
    key_size, value_size = _sizes(message)
    at = _key_at(message) + 4
    key = bytes(message[at : at + key_size]) if key_size >= 0 else None
    at += max(0, key_size) + 4
    if value_size > len(message) - at:
        raise CorruptData(f"a value of {value_size} bytes has {len(message) - at} left")
    return key, bytes(message[at : at + value_size]) if value_size >= 0 else None


def _unpacked(batch: Batch, packed: bytes, limit: int, memory: Memory) -> Bytes:
    return decompress(batch.codec, min(batch.magic, 2), packed, limit, memory)


def _check_codec(codec: int) -> None:
    if codec >= len(CODECS):
        raise CorruptData(f"there is no codec {codec}")
