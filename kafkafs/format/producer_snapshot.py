"""Producer state snapshots (`.snapshot`): what the broker knew of each producer up to an offset.

    int16   version, 1
    uint32  CRC-32C of all from byte 6 on
    int32   number of entries, each of 46 bytes

Written in place, so it may be cut or corrupt; Kafka deletes such a file and rebuilds it. Source: ProducerStateManager.
"""

import struct
from collections.abc import Iterable
from dataclasses import astuple, dataclass

from kafkafs.errors import CorruptData
from kafkafs.format.kernels import crc32c

_HEADER = struct.Struct(">hIi")
HEADER_SIZE = _HEADER.size
_CRC_START = 6
_ENTRY = struct.Struct(
    ">qhi"  # producer id, epoch, last sequence
    "qiq"  # last offset (negative: none), offset delta, timestamp [ms]
    "iq"  # coordinator epoch, first offset of the open transaction (-1: none)
)


@dataclass(frozen=True, slots=True)
class ProducerState:
    """One producer at the snapshot's offset. `transaction_first_offset` is -1 without an open transaction."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    transaction_first_offset: int


def check_size(header: bytes, size: int) -> None:
    """CorruptData if a file of `size` bytes does not have the entries that its first HEADER_SIZE bytes announce.

    Kafka writes nothing behind them. Asked before a large file is read.
    """
    if len(header) < HEADER_SIZE:
        raise CorruptData(f"a snapshot of {size} bytes is cut inside its header")
    count = _HEADER.unpack_from(header)[2]
    if not HEADER_SIZE + count * _ENTRY.size == size:
        raise CorruptData(f"the snapshot announces {count} entries and has {size} bytes")


def parse_producer_snapshot(data: bytes) -> tuple[ProducerState, ...]:
    """The producers in file order, which means nothing; CorruptData if the file is cut or its CRC fails."""
    if len(data) < _HEADER.size:
        raise CorruptData(f"a snapshot of {len(data)} bytes is cut inside its header")
    version, crc, count = _HEADER.unpack_from(data)
    if version != 1:
        raise CorruptData(f"snapshot version {version} is not 1, the only one known")
    if crc32c(memoryview(data)[_CRC_START:]) != crc:
        raise CorruptData("the snapshot's CRC does not hold")
    if count < 0 or _HEADER.size + count * _ENTRY.size > len(data):
        raise CorruptData(f"the snapshot announces {count} entries and has no room for them")
    return tuple(ProducerState(*_ENTRY.unpack_from(data, _HEADER.size + i * _ENTRY.size)) for i in range(count))


def producer_snapshot_bytes(producers: Iterable[ProducerState]) -> bytes:
    """Bytes that `parse_producer_snapshot` reads."""
    entries = [_ENTRY.pack(*astuple(each)) for each in producers]
    body = struct.pack(">i", len(entries)) + b"".join(entries)
    return struct.pack(">hI", 1, crc32c(body)) + body


def is_cut(data: bytes) -> bool:
    """True if the end is missing, because the broker has made the file and not yet filled it."""
    if len(data) < _HEADER.size:
        return True
    _, _, count = _HEADER.unpack_from(data)
    return bool(_HEADER.size + count * _ENTRY.size > len(data))
