"""Produce requests byte by byte: what a client library never sends, a batch again or out of turn.

Source: ProduceRequest.json and ProduceResponse.json, version 7, which every release from 2.8 to 4.4 knows.
"""

import socket
import struct
from pathlib import Path
from typing import NamedTuple

from kafkafs.format.kernels import crc32c

_PRODUCE, _VERSION, _CORRELATION = 0, 7, 1
_CRC_AT, _CHECKED_FROM, _LARGEST_TIMESTAMP_AT, _SEQUENCE_AT = 17, 21, 35, 53
OUT_OF_ORDER_SEQUENCE = 45


class Answer(NamedTuple):
    """Error code and the offset of the batch's first record."""

    error: int
    offset: int


def first_batch(disk: Path, directory: str) -> bytes:
    """Of a partition: the bytes."""
    (log, *_) = sorted((disk / directory).glob("*.log"))
    content = log.read_bytes()
    return content[: int.from_bytes(content[8:12], "big") + 12]


def with_sequence(batch: bytes, sequence: int) -> bytes:
    """The same v2 batch with another sequence number."""
    return _changed(batch, _SEQUENCE_AT, struct.pack(">i", sequence))


def with_largest_timestamp(batch: bytes, timestamp_ms: int) -> bytes:
    """The same v2 batch as a producer whose clock is wrong makes it."""
    return _changed(batch, _LARGEST_TIMESTAMP_AT, struct.pack(">q", timestamp_ms))


def _changed(batch: bytes, at: int, field: bytes) -> bytes:
    changed = bytearray(batch)
    changed[at : at + len(field)] = field
    struct.pack_into(">I", changed, _CRC_AT, crc32c(bytes(changed[_CHECKED_FROM:])))
    return bytes(changed)


def produce(address: str, topic: str, partition: int, batch: bytes) -> Answer:
    """Appends one batch, as all replicas acknowledge it."""
    body = struct.pack(">hhih", _PRODUCE, _VERSION, _CORRELATION, -1)  # no client id
    body += struct.pack(">hhii", -1, -1, 30_000, 1)  # no transactional id, all replicas, a topic
    body += struct.pack(">h", len(topic)) + topic.encode() + struct.pack(">iii", 1, partition, len(batch)) + batch
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection, connection.makefile("rb") as answers:
        connection.sendall(struct.pack(">i", len(body)) + body)
        answer = answers.read(*struct.unpack(">i", answers.read(4)))
    reported = answer[4 + 4 + 2 + len(topic) + 4 :]  # behind correlation id, count, name and count
    _, error, offset = struct.unpack_from(">ihq", reported)
    return Answer(error, offset)
