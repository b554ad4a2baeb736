"""From batches to their records: the straight line of a decoded read.

`decode` takes a buffer and the table that `batches.walk` made of it and yields pieces of records, in order. A run of
uncompressed batches is decoded where it lies, without a copy; compressed ones are unpacked first, many small ones side
by side. A batch that contradicts itself becomes a `Refusal` in its place, as a whole: no record of it is handed out.
Memory is bounded by `limit` and a few megabytes, whatever a batch claims. Sources: DefaultRecordBatch, DefaultRecord.

Two contradictions are none, as for Kafka's consumer: records behind the last offset that the header states (old clients
left its delta at 0), and whatever stands in a batch of 0 records: nothing of it can be lost.
"""

from collections.abc import Callable, Iterator

import numpy as np

from kafkafs.errors import CorruptData, KafkafsError, TooLarge
from kafkafs.format import codecs, kernels, legacy
from kafkafs.format.batches import Batches
from kafkafs.format.columns import Records, Refusal
from kafkafs.format.memory import UNLIMITED, Memory
from kafkafs.format.native import layout
from kafkafs.format.native.layout import OFFSET_ORDER, RECORD, SOUND
from kafkafs.format.work import ARENAS, PIECE, Array, Bytes, Work, table

__all__ = ["PIECE", "Records", "Refusal", "decode"]

_Kernel = Callable[[Batches, object, int, int, Array, object, int], tuple[int, int, int]]
"""Makes rows of a run of batches: `decode_v2`, `decode_plain`."""


def decode(
    data: Bytes, position: int, batches: Batches, limit: int, memory: Memory = UNLIMITED
) -> Iterator[Records | Refusal]:
    """The records of `batches`, rows of a walk over `data`, whose byte 0 lies at `position` in its segment.

    A piece has at most PIECE rows: those of many small batches, or a part of a large one. Its column `batch` is the row
    in `batches`; a batch with records behind its last offset has pieces of its own. A batch that would unpack to more
    than `limit` bytes is refused with TooLarge, a corrupt one with CorruptData. A piece stays valid as long as it
    is held. What is large is taken from `memory`: Crowded.
    """
    work, stop = Work(data, batches, limit, memory), 0
    while stop < len(batches):
        first = stop
        stop, kind, announced = kernels.next_run(
            work.batches, first, len(batches), position, len(data), limit, work.spans
        )
        yield from _BY_KIND[kind](work, first, stop, announced)


def _plain_v2(work: Work, first: int, stop: int, announced: int) -> Iterator[Records | Refusal]:
    return _run(work, kernels.decode_v2, work.source, first, stop, announced)


def _plain_legacy(work: Work, first: int, stop: int, announced: int) -> Iterator[Records | Refusal]:
    return _run(work, kernels.decode_plain, work.source, first, stop, announced)


def _packed_v2(work: Work, first: int, stop: int, announced: int) -> Iterator[Records | Refusal]:
    """Unpacks as many batches as fit into one arena, then decodes them in one go."""
    number = first
    while number < stop:
        arena, since = ARENAS.take(), number
        number, refusal = _fill(work, number, stop, arena)
        if number == since and refusal is None:
            try:
                arena = _unpacked_alone(work, number)
                number += 1
            except (CorruptData, TooLarge) as error:
                refusal = work.refusal(number, error)
        yield from _run(work, kernels.decode_v2, arena, since, number, announced)
        if refusal is not None:
            yield refusal
            number += 1
        del arena  # what comes next may need its memory


def _fill(work: Work, first: int, stop: int, arena: Array) -> tuple[int, Refusal | None]:
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


def _unpacked_alone(work: Work, number: int) -> Array:
    """A buffer with what one batch unpacks to, which is much; TooLarge, CorruptData."""
    codec, payload = work.codec(number), work.payload(number)
    buffer = work.memory.take(codecs.measure(codec, 2, payload, work.limit))
    work.spans[number] = 0, codecs.unpack(codec, 2, payload, buffer.data) or 0
    return buffer


def _run(
    work: Work, kernel: _Kernel, source: Array, first: int, stop: int, announced: int
) -> Iterator[Records | Refusal]:
    """Pieces for batches [first, stop), which lie in `source` and announce no more than that many records."""
    number = first
    while number < stop:
        rows = table(min(PIECE, announced))
        made, number, code = kernel(work.batches, work.spans, number, stop, source, rows, len(rows))
        if made:
            yield Records(source, rows[:made])
        if code == OFFSET_ORDER or (code == SOUND and number < stop and made == 0):
            yield from _in_parts(work, number, source)
            number += 1
        elif code != SOUND:
            if not work.is_empty(number):
                yield work.wrong(number, code)
            number += 1


def _in_parts(work: Work, number: int, source: Array) -> Iterator[Records | Refusal]:
    """The pieces of one v2 batch, once all of it has been looked at."""
    at, size = work.spans[number].tolist()
    batch, end, scratch = work.batches[number : number + 1].copy(), at + size, np.empty(1, RECORD)
    code = kernels.check_v2(batch, source, at, end, scratch)
    if code == OFFSET_ORDER:  # perhaps no order but that of its last offset is broken
        batch["last_offset"] = _ANY_OFFSET
        code = kernels.check_v2(batch, source, at, end, scratch)
    if code != SOUND:
        yield work.wrong(number, code)
        return
    left, previous = int(work.batches["count"][number]), int(work.batches["base_offset"][number]) - 1
    while left:
        rows = table(min(left, PIECE))
        at = kernels.decode_part(batch, number, source, at, end, len(rows), previous, rows)
        yield Records(source, rows)
        left, previous = left - len(rows), int(rows["offset"][-1])


_ANY_OFFSET = 2**63 - 1


def _bad_crc(work: Work, first: int, stop: int, _announced: int) -> Iterator[Records | Refusal]:
    for number in range(first, stop):
        yield work.refusal(number, CorruptData("its CRC fails"))


def _too_large(work: Work, first: int, stop: int, _announced: int) -> Iterator[Records | Refusal]:
    for number in filter(lambda each: not work.is_empty(each), range(first, stop)):
        message = f"it holds more than the {work.limit} bytes that -o max_batch= grants"
        yield work.refusal(number, TooLarge(message))


def _outside(_work: Work, first: int, _stop: int, _announced: int) -> Iterator[Records | Refusal]:
    raise ValueError(f"row {first} is of other data")


_BY_KIND = {
    layout.KIND_PLAIN_V2: _plain_v2,
    layout.KIND_PLAIN_LEGACY: _plain_legacy,
    layout.KIND_PACKED_V2: _packed_v2,
    layout.KIND_PACKED_LEGACY: legacy.wrapped,
    layout.KIND_BAD_CRC: _bad_crc,
    layout.KIND_TOO_LARGE: _too_large,
    layout.KIND_OUTSIDE: _outside,
}
