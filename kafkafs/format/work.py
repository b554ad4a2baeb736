"""One call of `records.decode` on its way: the buffer, the table, the limit, and how a batch is refused."""

from dataclasses import dataclass

import numpy as np

from kafkafs.errors import CorruptData, KafkafsError, TooLarge
from kafkafs.format.batches import Batches, Bytes
from kafkafs.format.buffers import Array, Buffers
from kafkafs.format.columns import Refusal, Rows
from kafkafs.format.native import layout
from kafkafs.format.native.layout import RECORD, RECORD_ROW

__all__ = ["ARENAS", "HEADER_SIZE_V2", "PIECE", "Array", "Bytes", "Spans", "Work", "table"]

Spans = np.ndarray[tuple[int, int], np.dtype[np.int64]]
"""For each batch of a table: where its records (or its whole message) lie in a buffer, and their size."""

PIECE = 1 << 14
"""Rows at most in one piece: a megabyte of them."""

ARENAS = Buffers(2 << 20, keep=3)
"""Where compressed batches are unpacked side by side; a larger one gets a buffer of just its size."""

_TABLES = Buffers(PIECE * RECORD_ROW, keep=4)

HEADER_SIZE_V2 = 61

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
    layout.OFFSET_ORDER: "its offsets do not ascend within its own range",
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


@dataclass(frozen=True, slots=True)
class Work:
    """The arguments of `records.decode`, and a first reading of the table."""

    data: memoryview
    position: int
    batches: Batches
    limit: int

    def spans(self, first: int, stop: int, skip: int) -> Spans:
        """Where what follows the first `skip` bytes of batches [first, stop) lies in `data`; 0 for other batches."""
        spans = np.zeros((len(self.batches), 2), np.int64)
        spans[first:stop, 0] = self.batches["position"][first:stop] - self.position + skip
        spans[first:stop, 1] = self.batches["size"][first:stop] - skip
        return spans

    def span(self, number: int) -> tuple[int, int]:
        """Where a whole batch begins and ends in `data`."""
        row = self.batches[number]
        start = int(row["position"]) - self.position
        return start, start + int(row["size"])

    def wrong(self, number: int, code: int) -> Refusal:
        """The refusal for what a kernel found."""
        return self.refusal(number, CorruptData(_WRONG[code]))

    def too_large(self, number: int) -> Refusal:
        return self.refusal(number, TooLarge(f"it holds more than the {self.limit} bytes that -o max_batch= grants"))

    def refusal(self, number: int, error: KafkafsError) -> Refusal:
        """Says which batch it is before what is wrong with it."""
        row = self.batches[number]
        offsets = f"offset {row['last_offset']}"
        if row["base_offset"] != row["last_offset"]:
            offsets = f"offsets {row['base_offset']} to {row['last_offset']}"
        return Refusal(number, type(error)(f"the batch at position {row['position']} ({offsets}): {error}"))
