"""Compressed messages of formats v0 and v1: a wrapper whose value, unpacked, is a row of whole messages.

A v1 wrapper holds relative offsets and may impose its own timestamp; a v0 one holds absolute offsets. The rules are in
`native/messages`. Source: AbstractLegacyRecordBatch.
"""

import struct
from collections.abc import Iterable, Iterator

import numpy as np

from kafkafs.errors import CorruptData, TooLarge
from kafkafs.format import codecs, kernels
from kafkafs.format.columns import Records, Refusal
from kafkafs.format.native.layout import RECORD, SOUND
from kafkafs.format.work import PIECE, Array, Work, table

_KEY_SIZE_AT = {0: 18, 1: 26}
"""Where an entry has the size of its key, by magic; the value's follows the key."""

_int32 = struct.Struct(">i")


def wrapped(work: Work, first: int, stop: int, _announced: int) -> Iterator[Records | Refusal]:
    """Pieces for the compressed messages [first, stop) of the table."""
    for number in range(first, stop):
        pieces: Iterable[Records | Refusal]
        try:
            pieces = _messages(work, number, _unpacked(work, number))
        except (CorruptData, TooLarge) as error:
            pieces = [work.refusal(number, error)]
        yield from pieces


def _unpacked(work: Work, number: int) -> Array:
    """What the wrapper's value unpacks to."""
    message, magic = work.payload(number), int(work.batches["magic"][number])
    at, size = _value(message, _KEY_SIZE_AT[magic])
    unpacked = codecs.decompress(work.codec(number), magic, message[at : at + size], work.limit, work.memory)
    return np.frombuffer(unpacked, np.uint8)


def _value(data: memoryview, key_size_at: int) -> tuple[int, int]:
    """Where a message has its value, and its size."""
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


def _messages(work: Work, number: int, source: Array) -> Iterator[Records | Refusal]:
    code, left, base = kernels.check_wrapped(work.batches, number, source, np.empty(1, RECORD))
    if code != SOUND:
        yield work.wrong(number, code)
        return
    at = 0
    while left:
        rows = table(min(left, PIECE))
        at = kernels.decode_wrapped(work.batches, number, source, at, len(rows), base, rows)
        yield Records(source, rows)
        left -= len(rows)
