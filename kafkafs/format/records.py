"""From batches to their records: the straight line of a decoded read.

`decode` takes a buffer and the table that `batches.walk` made of it and yields pieces of records, in order. A run of
uncompressed batches is decoded where it lies, without a copy; compressed ones are unpacked first, many small ones side
by side. A batch that contradicts itself becomes a `Refusal` in its place, as a whole: no record of it is handed out.
Memory is bounded by `limit` and a few megabytes, whatever a batch claims. Sources: DefaultRecordBatch, DefaultRecord.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from kafkafs.errors import CorruptData, KafkafsError
from kafkafs.format import codecs, legacy, native
from kafkafs.format.batches import INVALID, Batches
from kafkafs.format.columns import Records, Refusal
from kafkafs.format.native.layout import BATCH_ROW, SOUND
from kafkafs.format.work import ARENAS, HEADER_SIZE_V2, PIECE, Array, Bytes, Spans, Work, table

__all__ = ["PIECE", "Records", "Refusal", "decode"]

_PLAIN_V2, _PLAIN_LEGACY, _PACKED_V2, _PACKED_LEGACY, _BAD_CRC, _TOO_LARGE = range(6)


def decode(data: Bytes, position: int, batches: Batches, limit: int) -> Iterator[Records | Refusal]:
    """The records of `batches`, rows of a walk over `data`, whose byte 0 lies at `position` in its segment.

    A piece has at most PIECE rows: those of many small batches, or a part of a large one. Its column `batch` is the row
    in `batches`. A batch that would unpack to more than `limit` bytes is refused with TooLarge, any other bad one with
    CorruptData. A piece stays valid as long as somebody holds it.
    """
    batches = np.ascontiguousarray(batches)
    work, kinds = Work(memoryview(data), position, batches, limit), _kinds(batches, limit)
    borders = [0, *(np.flatnonzero(np.diff(kinds)) + 1).tolist(), len(kinds)]
    for first, stop in pairwise(borders):
        if first < stop:
            yield from _WAYS[int(kinds[first])](work, first, stop)


def _kinds(batches: Batches, limit: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Which of the ways to decode each batch goes."""
    legacy_format, packed = batches["magic"] < 2, batches["attributes"] & 7 != 0
    kinds = packed * _PACKED_V2 + legacy_format * _PLAIN_LEGACY
    kinds = np.where(~packed & (batches["size"] > limit + HEADER_SIZE_V2), _TOO_LARGE, kinds)
    return np.where(batches["valid"] == INVALID, _BAD_CRC, kinds)


def _plain_v2(work: Work, first: int, stop: int) -> Iterator[Records | Refusal]:
    spans = work.spans(first, stop, HEADER_SIZE_V2)
    yield from _run(work, "decode_v2", np.frombuffer(work.data, np.uint8), spans, first, stop)


def _plain_legacy(work: Work, first: int, stop: int) -> Iterator[Records | Refusal]:
    yield from _run(work, "decode_plain", np.frombuffer(work.data, np.uint8), work.spans(first, stop, 0), first, stop)


def _packed_v2(work: Work, first: int, stop: int) -> Iterator[Records | Refusal]:
    """Unpacks as many batches as fit into one arena, then decodes them in one go."""
    spans, number = np.zeros((len(work.batches), 2), np.int64), first
    while number < stop:
        arena, since = ARENAS.take(), number
        number, error = _fill(work, number, stop, arena, spans)
        if number == since and error is None:
            try:
                arena = _unpacked_alone(work, number, spans)
                number += 1
            except KafkafsError as too_large_or_broken:
                error = too_large_or_broken
        yield from _run(work, "decode_v2", arena, spans, since, number)
        if error is not None:
            yield work.refusal(number, error)
            number += 1


def _fill(work: Work, first: int, stop: int, arena: Array, spans: Spans) -> tuple[int, KafkafsError | None]:
    """Unpacks batches from `first` on, side by side: the one before which it stopped, and what is wrong with that.

    Nothing wrong means that it does not fit.
    """
    unpack_batches, used = native.kernel("unpack_batches"), np.zeros(1, np.int64)
    codec_numbers, payloads = (work.batches["attributes"] & 7).tolist(), work.spans(0, stop, HEADER_SIZE_V2).tolist()
    number, taken = first, 0
    while number < stop:
        if codec_numbers[number] in (codecs.SNAPPY, codecs.LZ4):
            number = unpack_batches(
                native.address(work.batches), number, stop, native.address(work.data), work.position, work.limit,
                native.address(arena), taken, len(arena), native.address(spans), native.address(used),
            )  # fmt: skip
            taken = int(used[0])
            if number == stop:
                break
        at, size = payloads[number]
        target = arena.data[taken : taken + work.limit]
        try:
            unpacked = codecs.unpack(codec_numbers[number], 2, work.data[at : at + size], target)
        except KafkafsError as error:
            return number, error
        if unpacked is None:
            break
        spans[number, 0], spans[number, 1] = taken, unpacked
        taken += unpacked
        number += 1
    return number, None


def _unpacked_alone(work: Work, number: int, spans: Spans) -> Array:
    """A buffer with what one batch unpacks to, which is much; TooLarge, CorruptData."""
    start, end = work.span(number)
    codec, payload = int(work.batches["attributes"][number]) & 7, work.data[start + HEADER_SIZE_V2 : end]
    buffer = np.empty(codecs.measure(codec, 2, payload, work.limit), np.uint8)
    spans[number] = 0, codecs.unpack(codec, 2, payload, buffer.data) or 0
    return buffer


def _run(
    work: Work, kernel: str, source: Array, spans: Spans, first: int, stop: int
) -> Iterator[Records | Refusal]:
    """Pieces for batches [first, stop), whose records lie in `source` at `spans`."""
    decode_many, out = native.kernel(kernel), np.empty(2, np.int64)
    number = first
    while number < stop:
        capacity = min(PIECE, int(np.maximum(work.batches["count"][number:stop], 0).sum(dtype=np.int64)))
        rows = table(capacity)
        made = decode_many(
            native.address(work.batches), native.address(spans), number, stop,
            native.address(source), native.address(rows), capacity, native.address(out),
        )  # fmt: skip
        if made:
            yield Records(source, rows[:made])
        number, code = out.tolist()
        if code != SOUND:
            yield work.wrong(number, code)
            number += 1
        elif number < stop and made == 0:
            yield from _in_parts(work, number, source, *spans[number].tolist())
            number += 1


def _in_parts(work: Work, number: int, source: Array, at: int, size: int) -> Iterator[Records | Refusal]:
    """The pieces of one batch of more than PIECE records, once all of it has been looked at."""
    batch, data, end = native.address(work.batches) + number * BATCH_ROW, native.address(source), at + size
    code = native.kernel("check_v2")(batch, data, at, end)
    if code != SOUND:
        yield work.wrong(number, code)
        return
    left, previous = int(work.batches["count"][number]), int(work.batches["base_offset"][number]) - 1
    while left:
        rows = table(min(left, PIECE))
        at = native.kernel("decode_part")(batch, number, data, at, end, len(rows), previous, native.address(rows))
        yield Records(source, rows)
        left, previous = left - len(rows), int(rows["offset"][-1])


def _bad_crc(work: Work, first: int, stop: int) -> Iterator[Records | Refusal]:
    for number in range(first, stop):
        yield work.refusal(number, CorruptData("its CRC fails"))


def _too_large(work: Work, first: int, stop: int) -> Iterator[Records | Refusal]:
    for number in range(first, stop):
        yield work.too_large(number)


_WAYS = {
    _PLAIN_V2: _plain_v2,
    _PLAIN_LEGACY: _plain_legacy,
    _PACKED_V2: _packed_v2,
    _PACKED_LEGACY: legacy.wrapped,
    _BAD_CRC: _bad_crc,
    _TOO_LARGE: _too_large,
}
