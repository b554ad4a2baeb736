"""Records -> a batch of format v2, uncompressed: what a snapshot of the metadata is made of, and ends of transactions.

Source: DefaultRecordBatch, DefaultRecord; `batch` and `records` read it.
"""

import struct
from collections.abc import Sequence

from kafkafs.format.batch import CONTROL, HEADER_V2, LOG_OVERHEAD, TRANSACTIONAL
from kafkafs.format.kernels import crc32c
from kafkafs.format.varints import signed_bytes

Pair = tuple[bytes | None, bytes | None]
"""Key and value of a record; None is null."""

_NULL = signed_bytes(-1)
_NO_PRODUCER, _NO_SEQUENCE = (-1, -1), -1
_UNCHECKED = struct.Struct(">qiib")  # base offset, length, leader epoch, magic: in front of the checksum


def batch_bytes(
    records: Sequence[Pair],
    base_offset: int,
    *,
    timestamp: int,
    leader_epoch: int,
    is_control: bool = False,
    producer: tuple[int, int] = _NO_PRODUCER,
) -> bytes:
    """One batch of these records, all with that timestamp [ms], at offsets from `base_offset` on. `producer`: id and
    epoch of the one whose transaction it belongs to."""
    body = b"".join(_record(number, *pair) for number, pair in enumerate(records))
    attributes, last = CONTROL if is_control else 0, len(records) - 1
    attributes |= TRANSACTIONAL if producer != _NO_PRODUCER else 0
    told = attributes, last, timestamp, timestamp, *producer, _NO_SEQUENCE, len(records)
    rest = struct.pack(">hiqqqhii", *told) + body
    length = HEADER_V2.size - LOG_OVERHEAD + len(body)
    return _UNCHECKED.pack(base_offset, length, leader_epoch, 2) + struct.pack(">I", crc32c(rest)) + rest


def _record(number: int, key: bytes | None, value: bytes | None) -> bytes:
    attributes = timestamp_delta = no_headers = b"\0"
    body = attributes + timestamp_delta + signed_bytes(number) + _sized(key) + _sized(value) + no_headers
    return signed_bytes(len(body)) + body


def _sized(field: bytes | None) -> bytes:
    return _NULL if field is None else signed_bytes(len(field)) + field
