"""Batches of format v2 as a producer would write them, for what no golden vector has. A slow and obvious encoder."""

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache

from kafkafs.format.kernels import crc32c
from tests.format.golden import Record


@lru_cache(1 << 12)  # most are lengths and steps of a few
def varint(value: int) -> bytes:
    """Zig-zag, then as `unsigned`."""
    return unsigned((value << 1 ^ value >> 63) & (1 << 64) - 1)


def unsigned(number: int) -> bytes:
    """Seven bits a byte, low ones first."""
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def sized(content: bytes | None) -> bytes:
    """Bytes behind their length, -1 for null."""
    return varint(-1) if content is None else varint(len(content)) + content


def record_bytes(record: Record, base_offset: int, base_timestamp: int) -> bytes:
    """One record of format v2."""
    body = b"\0" + varint(record.timestamp - base_timestamp) + varint(record.offset - base_offset)
    body += sized(record.key) + sized(record.value) + varint(len(record.headers))
    body += b"".join(sized(name) + sized(value) for name, value in record.headers)
    return varint(len(body)) + body


def v2_batch(
    records: Sequence[Record], *, codec: int = 0, compress: Callable[[bytes], bytes] = bytes,
    log_append_time: int | None = None, attributes: int = 0, epoch: int = 0,
) -> bytes:  # fmt: skip
    """A whole batch with a true CRC; `compress` must fit `codec`."""
    base, first_timestamp = records[0].offset, records[0].timestamp
    content = compress(b"".join(record_bytes(record, base, first_timestamp) for record in records))
    return v2_around(content, len(records), base, records[-1].offset, first_timestamp,
                     max(record.timestamp for record in records) if log_append_time is None else log_append_time,
                     codec | attributes | (0 if log_append_time is None else 8), epoch=epoch)  # fmt: skip


def v2_around(
    content: bytes, count: int, base: int = 0, last: int = 0, base_timestamp: int = 0, max_timestamp: int = 0,
    attributes: int = 0, *, header: tuple[int, ...] = (), epoch: int = 0,
) -> bytes:  # fmt: skip
    """A batch header with a true CRC around any content; `header` gives all fields behind the CRC at once."""
    fields = header or (attributes, last - base, base_timestamp, max_timestamp, -1, -1, -1, count)
    signed = struct.pack(">hiqqqhii", *fields) + content
    return struct.pack(">qiibI", base, len(signed) + 9, epoch, 2, crc32c(signed)) + signed
