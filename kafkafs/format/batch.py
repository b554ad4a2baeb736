"""Batch headers of all three formats, one or many, and how a batch is written. Sources: DefaultRecordBatch,
LegacyRecord, FileLogInputStream.

Every format frames an entry alike: offset, size of what follows, and the magic byte at the same place. v2 holds its
offsets, timestamps and producer in a header of 61 bytes; a v0 or v1 entry is one outermost message.

`parse_batch` reads one header. `walk` goes over the batches that stand back to back in a buffer, checks each CRC, and
fills a row of `BATCH` for each: one call for thousands of small batches. `batch_bytes` makes a batch of v2,
uncompressed: what a snapshot of the metadata is made of, and ends of transactions.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from operator import itemgetter
from typing import Literal, NamedTuple
from zlib import crc32

import numpy as np

from kafkafs.format import kernels
from kafkafs.format.memory import Bytes
from kafkafs.format.native.layout import BATCH as BATCH
from kafkafs.format.native.layout import INVALID as INVALID
from kafkafs.format.native.layout import UNCHECKED as UNCHECKED
from kafkafs.format.native.layout import VALID as VALID
from kafkafs.format.native.layout import WALK_CORRUPT, WALK_CUT, WALK_END, WALK_FULL
from kafkafs.format.tables import Flags, chosen, joined
from kafkafs.format.varints import signed_bytes

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

CODEC, APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x07, 0x08, 0x10, 0x20, 0x40
"""Bits of the attributes, of v0 and v1 the first two alone. With APPEND_TIME the largest timestamp is each record's;
a cleaner sets DELETE_HORIZON where it has met tombstones. Source: DefaultRecordBatch."""

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
NO_TIMESTAMP = -1
_LARGEST_OFFSET = 2**63 - 1
_LENGTH_SIZE = 4  # bytes of the length of a message's key, and of its value's
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
        return self.attributes & CODEC

    @property
    def is_wrapped(self) -> bool:
        """A compressed message of v0 or v1, whose `base_offset` repeats its last one."""
        return self.magic < 2 and self.codec > 0

    @property
    def timestamp_type(self) -> str | None:
        """How Kafka names it; None for v0, which has no timestamps."""
        if self.magic == 0:
            return None
        return "LogAppendTime" if self.attributes & APPEND_TIME else "CreateTime"

    @property
    def is_transactional(self) -> bool:
        """True if the batch belongs to a transaction. A marker belongs to its transaction too."""
        return self.magic >= 2 and bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """True for transaction markers and KRaft's own records, which consumers never see."""
        return self.magic >= 2 and bool(self.attributes & CONTROL)


def parse_batch(data: bytes | memoryview, at: int, position: int) -> Batch | None:
    """The header at `data[at:]`, which is at `position` in its segment; None if it is cut or cannot be true.

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
    """True if the whole batch in `data` (exactly its bytes) has the checksum that its header states."""
    return len(data) == batch.size and crc_holds_in(batch, (data,))


def crc_holds_in(batch: Batch, pieces: Iterable[bytes | memoryview]) -> bool:
    """True if the CRC of a batch holds. Its bytes come in pieces. The first has the whole header."""
    size, made, start = 0, 0, _CRC_START_V2 if batch.magic == 2 else _CRC_START_LEGACY
    checksum = kernels.crc32c if batch.magic == 2 else crc32
    for piece in pieces:
        made = checksum(memoryview(piece)[start:], made)
        size, start = size + len(piece), 0
    return size == batch.size and made == batch.crc


def is_plausible(batch: Batch, data: bytes | memoryview, at: int) -> bool:
    """True if every field of the header at `data[at:]` has a value that some writer writes. One in thirty headers of
    random bytes passes. Fewer random messages pass, because the length of the key has to fit too."""
    if batch.magic == 2:
        counters = batch.leader_epoch, batch.producer_id, batch.producer_epoch, batch.base_sequence
        return batch.count >= 0 and min(counters) >= -1
    header = HEADER_SIZES[batch.magic]
    key_size = int.from_bytes(data[at + header : at + header + _LENGTH_SIZE], "big", signed=True)
    return -1 <= key_size <= batch.size - header - 2 * _LENGTH_SIZE


Batches = np.ndarray[tuple[int], np.dtype[np.void]]
"""A table of dtype `BATCH`."""

_LEAST_ROWS, _MOST_ROWS = 256, 1 << 16
"""Least and most rows of a walk's first table. The least take 20 KiB: enough for the 16 KiB that a point lookup reads,
with batches of 64 bytes. The most take 5 MiB."""

_STOPS: dict[int, Literal["end", "cut", "corrupt"]] = {WALK_END: "end", WALK_CUT: "cut", WALK_CORRUPT: "corrupt"}
_FIELDS = [field.name for field in fields(Batch)]
_in_order = itemgetter(*map((BATCH.names or ()).index, _FIELDS))
_offsets = itemgetter(*map((BATCH.names or ()).index, ("base_offset", "last_offset", "valid")))
_ROW = struct.Struct("=7qiIii2h2b2x")
"""A row of BATCH."""


class Walk(NamedTuple):
    """The whole batches of a buffer, in order, and how the buffer goes on behind them.

    "end": not at all. "cut": an entry is not whole, `missing` bytes of it (0 if even that is unknown) come later.
    "corrupt": what is there can be no entry.
    """

    rows: Batches
    at: int  # the byte of the buffer where the walk ended
    stop: Literal["end", "cut", "corrupt"]
    missing: int


def walk(data: Bytes, position: int, *, verify: bool = True) -> Walk:
    """The batches in `data`, whose byte 0 is at `position` in its segment.

    With `verify` each row's `valid` says if the CRC is right, else it is UNCHECKED. The walk goes on behind a batch
    whose CRC fails: its length is outside the CRC, so look at `valid` before it is trusted.
    """
    tables: list[Batches] = []
    at, capacity, reason = 0, _rows_expected(data), WALK_FULL
    while reason == WALK_FULL:
        table = np.empty(capacity, BATCH)
        made, at, reason, missing = kernels.walk(data, at, position, verify, table, capacity)
        tables.append(table[:made])
        capacity = min(capacity * 4, (len(data) - at) // SMALLEST[0] + 1)
    rows = tables[0] if len(tables) == 1 else joined(tables)
    return Walk(rows, at, _STOPS[reason], missing)


def _rows_expected(data: Bytes) -> int:
    """About how many batches are there, if all are as the first one: joining two tables of them takes longer than all
    else of a walk."""
    if len(data) < FRAME_SIZE:
        return 1
    size: int = FRAME.unpack_from(data)[1] + LOG_OVERHEAD
    return min(max(_LEAST_ROWS, len(data) // max(size, SMALLEST[0]) * 9 // 8), _MOST_ROWS)


def count_in_order(rows: Batches, before: int, next_base: int | None) -> int:
    """How many of the first rows are valid and in order: their offsets rise from behind `before` and end below
    `next_base`, None for no end."""
    return kernels.count_in_order(rows, len(rows), before, _LARGEST_OFFSET if next_base is None else next_base - 1)


def batch_at(rows: Batches, index: int) -> Batch:
    """One row as the value that the rest of kafkafs passes around."""
    return Batch(*_in_order(_ROW.unpack_from(rows, index * _ROW.size)))  # type: ignore[arg-type]  # it is a Buffer


def first_offsets(rows: Batches) -> tuple[int, int, int]:
    """The base offset and the last offset of the first row, and its `valid`."""
    found: tuple[int, int, int] = _offsets(_ROW.unpack_from(rows))  # type: ignore[arg-type]  # it is a Buffer
    return found


def rows_of(batch: Batch, *, is_valid: bool) -> Batches:
    """The way back: one batch as a table, for what works on tables."""
    rows = np.zeros(1, BATCH)
    for name in _FIELDS:
        rows[name] = getattr(batch, name)
    rows["valid"] = VALID if is_valid else INVALID
    return rows


def is_transactional(rows: Batches) -> Flags:
    """A mask of the batches that belong to transactions: data and markers."""
    flags: Flags = (rows["magic"] >= 2) & (rows["attributes"] & TRANSACTIONAL != 0)
    return flags


def is_control(rows: Batches) -> Flags:
    """A mask of the control batches, which consumers never see."""
    flags: Flags = (rows["magic"] >= 2) & (rows["attributes"] & CONTROL != 0)
    return flags


def data_batches(rows: Batches) -> Batches:
    """All but control batches; mostly there are none, and then the same rows without a copy of each."""
    has_control = np.count_nonzero(rows["attributes"] & CONTROL)
    return chosen(rows, ~is_control(rows)) if has_control else rows


def is_overfull(rows: Batches) -> bool:
    """True if one of the headers states more records than it has offsets. A message of v0 or v1 states no number."""
    return kernels.count_until_overfull(rows, len(rows)) < len(rows)


def is_wrapped(rows: Batches) -> Flags:
    """A mask of the compressed messages of v0 and v1, whose `base_offset` repeats their last one."""
    flags: Flags = (rows["magic"] < 2) & (rows["attributes"] & CODEC != 0)
    return flags


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
    last_offset: int | None = None,
) -> bytes:
    """One batch of these records, all with that timestamp [ms], at offsets from `base_offset` on. `producer`: id and
    epoch of the one whose transaction it belongs to. `last_offset`: the one that it ends at, where records behind these
    are gone."""
    body = b"".join(_record(number, *pair) for number, pair in enumerate(records))
    attributes, last = CONTROL if is_control else 0, len(records) - 1
    last = last if last_offset is None else last_offset - base_offset
    attributes |= TRANSACTIONAL if producer != _NO_PRODUCER else 0
    fields = attributes, last, timestamp, timestamp, *producer, _NO_SEQUENCE, len(records)
    rest = struct.pack(">hiqqqhii", *fields) + body
    length = HEADER_V2.size - LOG_OVERHEAD + len(body)
    return _UNCHECKED.pack(base_offset, length, leader_epoch, 2) + struct.pack(">I", kernels.crc32c(rest)) + rest


def _record(number: int, key: bytes | None, value: bytes | None) -> bytes:
    attributes = timestamp_delta = no_headers = b"\0"
    body = attributes + timestamp_delta + signed_bytes(number) + _sized(key) + _sized(value) + no_headers
    return signed_bytes(len(body)) + body


def _sized(field: bytes | None) -> bytes:
    return _NULL if field is None else signed_bytes(len(field)) + field
