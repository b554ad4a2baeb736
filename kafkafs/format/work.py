"""One call of `records.decode` on its way: the buffer, the table, the limit, and how a batch is refused."""

import numpy as np

from kafkafs.errors import CorruptData, KafkafsError
from kafkafs.format.batches import Batches, Bytes
from kafkafs.format.buffers import Array, Buffers
from kafkafs.format.columns import Refusal, Rows
from kafkafs.format.memory import Memory
from kafkafs.format.native import layout
from kafkafs.format.native.layout import RECORD, RECORD_ROW

__all__ = ["ARENAS", "PIECE", "Array", "Bytes", "Work", "table"]

PIECE = 1 << 14
"""Rows at most in one piece: a megabyte of them."""

ARENAS = Buffers(2 << 20, keep=3)
"""Where compressed batches are unpacked side by side; a larger one gets a buffer of just its size."""

_TABLES = Buffers(PIECE * RECORD_ROW, keep=4)

_WRONG = {
    layout.COUNT_NEGATIVE: "it announces a negative number of records",
    layout.RECORDS_CUT: "it holds fewer records than it announces",
    layout.VARINT_BAD: "a record has an integer that is cut or too long",
    layout.LENGTH_BAD: "a record runs past the end of the batch",
    layout.KEY_BAD: "a key runs past the end of its record",
    layout.VALUE_BAD: "a value runs past the end of its record",
    layout.HEADERS_BAD: "the headers of a record do not fit in it",
    layout.RECORD_LEFTOVER: "a record holds more than its fields",
    layout.BATCH_LEFTOVER: "bytes are left behind its last record",
    layout.OFFSET_ORDER: "its offsets do not ascend",
    layout.MESSAGE_SIZE: "a message in it is too small to be one",
    layout.MESSAGE_MAGIC: "a message in it is neither v0 nor v1",
    layout.MESSAGE_CRC: "the CRC of a message in it fails",
    layout.MESSAGE_NESTED: "a compressed message stands inside a compressed one",
    layout.MESSAGE_NONE: "it is compressed and holds no message",
    layout.MESSAGE_OFFSETS: "its own offset is smaller than that of the last message in it",
}


def table(capacity: int) -> Rows:
    """Room for that many rows of RECORD, at most PIECE."""
    if capacity < PIECE // 8:
        return np.empty(capacity, RECORD)
    return _TABLES.take().view(RECORD)[:capacity]


class Work:
    """The arguments of `records.decode` and what its steps hand on to each other.

    `spans` tells for each batch where its records (of a v0 or v1 message: all of it) lie, and their size: at first in
    the data, then in the arena that they were unpacked into.
    """

    __slots__ = (
        "batches",
        "data",
        "limit",
        "memory",
        "source",
        "spans",
    )

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
        return int(self.batches["attributes"][number]) & 7

    def is_empty(self, number: int) -> bool:
        """Whether it is a v2 batch of 0 records."""
        return int(self.batches["count"][number]) == 0 and int(self.batches["magic"][number]) >= 2

    def wrong(self, number: int, code: int) -> Refusal:
        """The refusal for what a kernel found."""
        return self.refusal(number, CorruptData(_WRONG[code]))

    def refusal(self, number: int, error: KafkafsError) -> Refusal:
        """Says which batch it is before what is wrong with it.

        A new error: the traceback of the old one would keep the decoder and its 128 MiB for as long as it lives.
        """
        row = self.batches[number]
        offsets = f"offset {row['last_offset']}"
        if row["base_offset"] != row["last_offset"]:
            offsets = f"offsets {row['base_offset']} to {row['last_offset']}"
        return Refusal(number, type(error)(f"the batch at position {row['position']} ({offsets}): {error}"))
