"""From batches to their records: the straight line of a decoded read.

`decode` takes a buffer and the table that `batch.walk` made of it and yields pieces of records, in order. A run of
uncompressed batches is decoded where it is, without a copy; compressed ones are unpacked first, many small ones side
by side. A batch that contradicts itself becomes a `Refusal` in its place, as a whole: no record of it is handed out.
Memory is bounded by `limit` and a few megabytes, whatever a batch claims. Sources: DefaultRecordBatch, DefaultRecord.

Two contradictions are none, as for Kafka's consumer: records behind the last offset that the header states (old clients
left its delta at 0), and whatever is in a batch of 0 records: nothing of it can be lost.

`Records` are columns: a row of `RECORD` each, and the bytes that the rows point into. There is no Python object for a
record; the few accessors for one are for points.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from kafkafs.errors import CorruptData, KafkafsError, TooLarge
from kafkafs.format import codecs, kernels
from kafkafs.format.batch import CODEC, HEADER_V2, Batches
from kafkafs.format.memory import UNLIMITED, Array, Buffers, Bytes, Memory
from kafkafs.format.native import layout
from kafkafs.format.native.layout import OFFSET_ORDER, RECORD_ROW, SOUND
from kafkafs.format.native.layout import RECORD as RECORD
from kafkafs.format.varints import varint

Rows = np.ndarray[tuple[int], np.dtype[np.void]]
"""A table of dtype `RECORD`."""


@dataclass(slots=True)  # not frozen: see `batch.Batch`
class Records:
    """Some records in offset order. `rows["offset"]` and the like are the columns; positions count from `data[0]`."""

    data: np.ndarray[tuple[int], np.dtype[np.uint8]]
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def between(self, start: int, stop: int) -> "Records":
        """The records with start <= offset < stop; no copy."""
        offsets = self.rows["offset"]
        if not len(offsets) or (offsets[0] >= start and offsets[-1] < stop):
            return self
        first = 0 if offsets[0] >= start else offsets.searchsorted(start)
        return Records(self.data, self.rows[first : offsets.searchsorted(stop)])

    def reaches_beyond(self, batches: Batches) -> bool:
        """True if the records, decoded from `batches`, belong to a batch that goes beyond its last offset. Such have
        their own piece."""
        rows = self.rows
        return bool(rows["offset"][-1] > batches["last_offset"][rows["batch"][-1]])

    def key(self, index: int) -> memoryview | None:
        """The key's bytes; None for null."""
        return self._bytes(int(self.rows["key_at"][index]), int(self.rows["key_size"][index]))

    def value(self, index: int) -> memoryview | None:
        """The value's bytes; None for null."""
        return self._bytes(int(self.rows["value_at"][index]), int(self.rows["value_size"][index]))

    def headers(self, index: int) -> list[tuple[bytes, bytes | None]]:
        """The headers of a record in order, with repeated names; a null value is None."""
        row, found = self.rows[index], []
        at = int(row["headers_at"])
        for _ in range(int(row["header_count"])):
            (name_at, name_size), (at, size) = self.header_at(at)
            value = None if size < 0 else self.data[at : at + size].tobytes()
            found.append((self.data[name_at : name_at + name_size].tobytes(), value))
            at += max(size, 0)
        return found

    def header_at(self, at: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """For the header that begins at byte `at`, return the place and size of its name and of its value (-1 for
        null).

        CorruptData if a size has no end; what `decode` yields was looked at.
        """
        data = self.data.data
        name_size, name_at = varint(data, at)
        value_size, value_at = varint(data, name_at + name_size)
        return (name_at, name_size), (value_at, max(value_size, -1))

    def _bytes(self, at: int, size: int) -> memoryview | None:
        return None if size < 0 else self.data[at : at + size].data


@dataclass(frozen=True, slots=True)
class Refusal:
    """Takes the place of a batch that gives no records: its row in the table, and the reason."""

    batch: int
    error: KafkafsError


PIECE = 1 << 14
"""Rows at most in one piece: a megabyte of them."""

_ARENAS = Buffers(2 << 20, keep=3)
"""Buffers in which compressed batches are unpacked side by side; a larger batch gets a buffer of exactly its size."""

_TABLES = Buffers(PIECE * RECORD_ROW, keep=4)

_REASONS = {
    layout.COUNT_NEGATIVE: "it announces a negative number of records",
    layout.RECORDS_CUT: "it holds fewer records than it announces",
    layout.VARINT_CORRUPT: "a record has an integer that is cut or too long",
    layout.LENGTH_CORRUPT: "a record runs past the end of the batch",
    layout.KEY_CORRUPT: "a key runs past the end of its record",
    layout.VALUE_CORRUPT: "a value runs past the end of its record",
    layout.HEADERS_CORRUPT: "the headers of a record do not fit in it",
    layout.RECORD_LEFTOVER: "a record holds more than its fields",
    layout.BATCH_LEFTOVER: "bytes are left after its last record",
    layout.OFFSET_ORDER: "its offsets do not ascend",
    layout.MESSAGE_SIZE: "a message in it is too small to be one",
    layout.MESSAGE_MAGIC: "a message in it is neither v0 nor v1",
    layout.MESSAGE_CRC: "the CRC of a message in it fails",
    layout.MESSAGE_NESTED: "a compressed message is inside another compressed message",
    layout.MESSAGE_NONE: "it is compressed and holds no message",
    layout.MESSAGE_OFFSETS: "its own offset is smaller than that of the last message in it",
}


def _table(capacity: int) -> Rows:
    """Room for that many rows of RECORD, at most PIECE."""
    if capacity < PIECE // 8:
        return np.empty(capacity, RECORD)
    return _TABLES.take().view(RECORD)[:capacity]


class _Work:
    """The arguments of `records.decode` and what its steps hand on to each other.

    `spans` tells for each batch where its records (of a v0 or v1 message: all of it) are, and their size: at first in
    the data, then in the arena that they were unpacked into.
    """

    __slots__ = ("batches", "data", "limit", "memory", "source", "spans")

    def __init__(self, data: Bytes, batches: Batches, limit: int, memory: Memory) -> None:
        self.data, self.limit, self.memory = memoryview(data), limit, memory
        self.source: Array = np.frombuffer(data, np.uint8)
        self.batches = np.ascontiguousarray(batches)
        self.spans = np.empty((len(batches), 2), np.int64)

    def payload(self, number: int) -> memoryview:
        """The bytes of `data` where the span of a batch is; before it was unpacked."""
        at, size = self.spans[number].tolist()
        return self.data[at : at + size]

    def codec(self, number: int) -> int:
        """The codec's number of one batch."""
        return int(self.batches["attributes"][number]) & CODEC

    def is_empty(self, number: int) -> bool:
        """True if it is a v2 batch of 0 records."""
        return int(self.batches["count"][number]) == 0 and int(self.batches["magic"][number]) >= 2

    def corrupt(self, number: int, code: int) -> Refusal:
        """The refusal for what a kernel found."""
        return self.refusal(number, CorruptData(_REASONS[code]))

    def refusal(self, number: int, error: KafkafsError) -> Refusal:
        """Says which batch it is before what is wrong with it.

        A new error: the traceback of the old one would keep the decoder and its 128 MiB for as long as it lives.
        """
        row = self.batches[number]
        offsets = f"offset {row['last_offset']}"
        if row["base_offset"] != row["last_offset"]:
            offsets = f"offsets {row['base_offset']} to {row['last_offset']}"
        return Refusal(number, type(error)(f"the batch at position {row['position']} ({offsets}): {error}"))


_Kernel = Callable[[Batches, object, int, int, Array, object, int], tuple[int, int, int]]
"""Makes rows of batches that are back to back: `decode_v2`, `decode_plain`."""


def decode(
    data: Bytes, position: int, batches: Batches, limit: int, memory: Memory = UNLIMITED
) -> Iterator[Records | Refusal]:
    """The records of `batches`, rows of a walk over `data`, whose byte 0 is at `position` in its segment.

    A piece has at most PIECE rows: those of many small batches, or a part of a large one. Its column `batch` is the row
    in `batches`; a batch with records behind its last offset has pieces of its own. A batch that would unpack to more
    than `limit` bytes is refused with TooLarge, a corrupt one with CorruptData. A piece stays valid as long as it is
    held. Large values take room from `memory`, which may raise BatchMemoryFull.
    """
    work, stop = _Work(data, batches, limit, memory), 0
    while stop < len(batches):
        first = stop
        stop, kind, announced = kernels.next_alike(
            work.batches, first, len(batches), position, len(data), limit, work.spans
        )
        yield from _BY_KIND[kind](work, first, stop, announced)


def is_left_out(batches: Batches, data_end: int, limit: int) -> bool:
    """True if the data end inside of the first batch because it is too large for `limit`: only its CRC was checked."""
    row = batches[0]
    return int(row["position"]) + int(row["size"]) > data_end and row["size"] > stored_limit(limit)


def stored_limit(limit: int) -> int:
    """Bytes of a batch on the disk, of format v2, above which it unpacks to more than `limit`."""
    return limit + HEADER_V2.size


def _plain_v2(work: _Work, first: int, stop: int, announced: int) -> Iterator[Records | Refusal]:
    return _decoded_rows(work, kernels.decode_v2, work.source, first, stop, announced)


def _plain_legacy(work: _Work, first: int, stop: int, announced: int) -> Iterator[Records | Refusal]:
    return _decoded_rows(work, kernels.decode_plain, work.source, first, stop, announced)


def _packed_v2(work: _Work, first: int, stop: int, announced: int) -> Iterator[Records | Refusal]:
    """Unpacks as many batches as fit into one arena, then decodes them in one go."""
    number = first
    while number < stop:
        arena, since = _ARENAS.take(), number
        number, refusal = _fill(work, number, stop, arena)
        if number == since and refusal is None:
            try:
                arena = _unpacked_alone(work, number)
                number += 1
            except (CorruptData, TooLarge) as error:
                refusal = work.refusal(number, error)
        yield from _decoded_rows(work, kernels.decode_v2, arena, since, number, announced)
        if refusal is not None:
            yield refusal
            number += 1
        del arena  # the next piece may need its memory


def _fill(work: _Work, first: int, stop: int, arena: Array) -> tuple[int, Refusal | None]:
    """Unpacks batches from `first` on, side by side: the one before which it stopped, and its refusal if it is corrupt.

    Without a refusal it does not fit.
    """
    number, taken = first, 0
    while number < stop:
        size: int | None = 0
        try:
            if not work.is_empty(number):
                payload, room = work.payload(number), arena.data[taken : taken + work.limit]
                size = codecs.unpack(work.codec(number), 2, payload, room)
        except KafkafsError as error:
            return number, work.refusal(number, error)
        if size is None:
            break
        work.spans[number] = taken, size
        taken += size
        number += 1
    return number, None


def _unpacked_alone(work: _Work, number: int) -> Array:
    """A buffer with what one batch unpacks to, which is much; TooLarge, CorruptData."""
    codec, payload = work.codec(number), work.payload(number)
    buffer = work.memory.take(codecs.measure(codec, 2, payload, work.limit))
    work.spans[number] = 0, codecs.unpack(codec, 2, payload, buffer.data) or 0
    return buffer


def _decoded_rows(
    work: _Work, kernel: _Kernel, source: Array, first: int, stop: int, announced: int
) -> Iterator[Records | Refusal]:
    """Pieces for batches [first, stop), which are in `source` and announce no more than that many records."""
    number = first
    while number < stop:
        rows = _table(min(PIECE, announced))
        made, number, code = kernel(work.batches, work.spans, number, stop, source, rows, len(rows))
        if made:
            yield Records(source, rows[:made])
        if code == OFFSET_ORDER or (code == SOUND and number < stop and made == 0):
            yield from _in_parts(work, number, source)
            number += 1
        elif code != SOUND:
            if not work.is_empty(number):
                yield work.corrupt(number, code)
            number += 1


def _in_parts(work: _Work, number: int, source: Array) -> Iterator[Records | Refusal]:
    """The pieces of one v2 batch, once all of it has been looked at."""
    at, size = work.spans[number].tolist()
    batch, end, scratch = work.batches[number : number + 1].copy(), at + size, np.empty(1, RECORD)
    code = kernels.check_v2(batch, source, at, end, scratch)
    if code == OFFSET_ORDER:  # perhaps no order but that of its last offset is corrupt
        batch["last_offset"] = _ANY_OFFSET
        code = kernels.check_v2(batch, source, at, end, scratch)
    if code != SOUND:
        yield work.corrupt(number, code)
        return
    left, previous = int(work.batches["count"][number]), int(work.batches["base_offset"][number]) - 1
    while left:
        rows = _table(min(left, PIECE))
        at = kernels.decode_part(batch, number, source, at, end, len(rows), previous, rows)
        yield Records(source, rows)
        left, previous = left - len(rows), int(rows["offset"][-1])


_ANY_OFFSET = 2**63 - 1


def _invalid(work: _Work, first: int, stop: int, _announced: int) -> Iterator[Records | Refusal]:
    for number in range(first, stop):
        yield work.refusal(number, CorruptData("its CRC fails"))


def _too_large(work: _Work, first: int, stop: int, _announced: int) -> Iterator[Records | Refusal]:
    for number in filter(lambda each: not work.is_empty(each), range(first, stop)):
        message = f"it holds more than the {work.limit} bytes that -o max_batch= allows"
        yield work.refusal(number, TooLarge(message))


def _outside(work: _Work, first: int, stop: int, announced: int) -> Iterator[Records | Refusal]:
    """A batch that is left out (see `is_left_out`) has nothing but its header in the data."""
    if len(work.batches) > 1 or work.batches["size"][first] <= stored_limit(work.limit):
        raise ValueError(f"row {first} is of other data")
    return _too_large(work, first, stop, announced)


# --- compressed messages of formats v0 and v1: a wrapper whose value, unpacked, is a row of whole messages

_KEY_SIZE_AT = {0: 18, 1: 26}
"""The position of the key's size in an entry, by magic; the value's size follows the key."""

_int32 = struct.Struct(">i")


def _packed_legacy(work: _Work, first: int, stop: int, _announced: int) -> Iterator[Records | Refusal]:
    """A v1 wrapper holds relative offsets and may impose its own timestamp, a v0 one absolute offsets: the rules are in
    `native/legacy_records`. Source: AbstractLegacyRecordBatch."""
    for number in range(first, stop):
        pieces: Iterable[Records | Refusal]
        try:
            pieces = _messages(work, number, _unpacked(work, number))
        except (CorruptData, TooLarge) as error:
            pieces = [work.refusal(number, error)]
        yield from pieces


def _unpacked(work: _Work, number: int) -> Array:
    """Unpack the value of a wrapper."""
    message, magic = work.payload(number), int(work.batches["magic"][number])
    at, size = _value(message, _KEY_SIZE_AT[magic])
    unpacked = codecs.decompress(work.codec(number), magic, message[at : at + size], work.limit, work.memory)
    return np.frombuffer(unpacked, np.uint8)


def _value(data: memoryview, key_size_at: int) -> tuple[int, int]:
    """Return the place of a message's value, and its size."""
    (key_size,) = _int32.unpack_from(data, key_size_at)
    value_size_at = key_size_at + 4 + max(key_size, 0)
    if value_size_at + 4 > len(data):
        raise CorruptData("its key runs past its end")
    (size,) = _int32.unpack_from(data, value_size_at)
    if size < 0:
        raise CorruptData("it is compressed and has no value")
    if size > len(data) - value_size_at - 4:
        raise CorruptData("its value runs past its end")
    return value_size_at + 4, size


def _messages(work: _Work, number: int, source: Array) -> Iterator[Records | Refusal]:
    code, left, base = kernels.check_wrapped(work.batches, number, source, np.empty(1, RECORD))
    if code != SOUND:
        yield work.corrupt(number, code)
        return
    at = 0
    while left:
        rows = _table(min(left, PIECE))
        at = kernels.decode_wrapped(work.batches, number, source, at, len(rows), base, rows)
        yield Records(source, rows)
        left -= len(rows)


_BY_KIND = {
    layout.KIND_PLAIN_V2: _plain_v2,
    layout.KIND_PLAIN_LEGACY: _plain_legacy,
    layout.KIND_PACKED_V2: _packed_v2,
    layout.KIND_PACKED_LEGACY: _packed_legacy,
    layout.KIND_INVALID: _invalid,
    layout.KIND_TOO_LARGE: _too_large,
    layout.KIND_OUTSIDE: _outside,
}
