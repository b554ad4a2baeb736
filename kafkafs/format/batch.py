"""Batch headers of all three formats: bytes in, values out. Sources: DefaultRecordBatch, LegacyRecord, FileRecords.

Every format frames an entry alike: offset, size of what follows, and the magic byte at the same place. v2 holds its
offsets, timestamps and producer in a header of 61 bytes; a v0 or v1 entry is one outermost message.
"""

import struct
from dataclasses import dataclass
from zlib import crc32

from kafkafs.format.kernels import crc32c

FRAME = struct.Struct(
    ">qi"  # base offset (v2) or last offset (v0, v1); bytes after this field
    "iB"  # leader epoch (v2) or CRC (v0, v1); magic
)
FRAME_SIZE = FRAME.size
"""17 bytes; the broker looks at nothing unless more than these are left."""

_MAGIC_AT = 16
LOG_OVERHEAD = 12
"""Bytes of offset and size, which the size does not count."""

HEADER_V2 = struct.Struct(
    ">qi"  # base offset; length of all that follows
    "ibI"  # leader epoch (outside the CRC, as is all before it); magic; CRC-32C of the rest
    "hi"  # attributes; last offset delta
    "qq"  # base timestamp or delete horizon; max timestamp [ms]
    "qhii"  # producer id, epoch, base sequence; record count
)
_HEADER_V0 = struct.Struct(">qiIBb")  # offset, size, CRC-32 of the rest, magic, attributes
_HEADER_V1 = struct.Struct(">qiIBbq")  # the same and a timestamp

SMALLEST = {0: 12 + 14, 1: 12 + 22, 2: HEADER_V2.size}
"""Whole entry sizes below which no entry of that magic can be true."""

TRANSACTIONAL, CONTROL = 0x10, 0x20
"""Bits of the attributes of v2."""

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
NO_TIMESTAMP = -1
_CRC_START_V2 = 21
_CRC_START_LEGACY = 16


@dataclass(slots=True)  # not frozen: it is made for each lookup, and 14 fields would take 12 us instead of 1
class Batch:
    """A batch's header and its place. In v0 and v1 it is an outermost message, and producer fields are -1.

    `base_offset` of a compressed v0 or v1 message repeats `last_offset`: its first inner offset takes unpacking.
    """

    position: int
    size: int
    magic: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int

    @property
    def end(self) -> int:
        """The position just behind it."""
        return self.position + self.size

    @property
    def codec(self) -> int:
        """0 to 4, an index into CODECS; 5 to 7 are undefined."""
        return self.attributes & 7

    @property
    def is_wrapped(self) -> bool:
        """A compressed message of v0 or v1, whose `base_offset` repeats its last one."""
        return self.magic < 2 and self.codec > 0

    @property
    def timestamp_type(self) -> str | None:
        """How Kafka names it; None for v0, which has no timestamps."""
        if self.magic == 0:
            return None
        return "LogAppendTime" if self.attributes & 8 else "CreateTime"

    @property
    def is_transactional(self) -> bool:
        """Whether it belongs to a transaction, a marker of its end too."""
        return self.magic >= 2 and bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """True for transaction markers and KRaft's own records, which consumers never see."""
        return self.magic >= 2 and bool(self.attributes & CONTROL)


def parse_batch(data: bytes | memoryview, at: int, position: int) -> Batch | None:
    """The header at `data[at:]`, which lies at `position` in its segment; None where it is cut or cannot be true.

    Nothing is read behind the header and no CRC is checked: see `crc_holds`.
    """
    left = len(data) - at
    if left >= HEADER_V2.size and data[at + _MAGIC_AT] == 2:
        (base, length, epoch, _, crc, attributes, delta, base_ts, max_ts, producer, producer_epoch, sequence, count) = (
            HEADER_V2.unpack_from(data, at)
        )
        size = length + LOG_OVERHEAD
        if base < 0 or delta < 0 or size < HEADER_V2.size:
            return None
        return Batch(position, size, 2, base, base + delta, epoch, crc, attributes, base_ts, max_ts,
                     producer, producer_epoch, sequence, count)  # fmt: skip
    return _parse_message(data, at, position) if left >= FRAME_SIZE else None


def _parse_message(data: bytes | memoryview, at: int, position: int) -> Batch | None:
    """`parse_batch` of v0 and v1."""
    offset, size, _, magic = FRAME.unpack_from(data, at)
    size += LOG_OVERHEAD
    if magic > 1 or offset < 0 or size < SMALLEST[magic] or len(data) - at < HEADER_SIZES[magic]:
        return None
    timestamp = NO_TIMESTAMP
    if magic == 1:
        _, _, crc, _, attributes, timestamp = _HEADER_V1.unpack_from(data, at)
    else:
        _, _, crc, _, attributes = _HEADER_V0.unpack_from(data, at)
    return Batch(position, size, magic, offset, offset, -1, crc, attributes, timestamp, timestamp, -1, -1, -1, 1)


HEADER_SIZES = {0: _HEADER_V0.size, 1: _HEADER_V1.size, 2: HEADER_V2.size}
"""Bytes that `parse_batch` needs, by magic."""

LARGEST_HEADER = HEADER_V2.size


def crc_holds(batch: Batch, data: bytes | memoryview) -> bool:
    """Whether the whole batch in `data` (exactly its bytes) has the checksum that its header states."""
    if len(data) != batch.size:
        return False
    view = memoryview(data)
    if batch.magic == 2:
        return crc32c(view[_CRC_START_V2:]) == batch.crc
    return crc32(view[_CRC_START_LEGACY:]) == batch.crc
