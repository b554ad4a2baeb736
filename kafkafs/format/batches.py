"""The headers of many batches as one table: what `batch` says of one, for everything that reads a log at length.

`walk` goes over the batches that stand back to back in a buffer, checks each CRC, and fills a row of `BATCH` for each:
one call for thousands of small batches. Source of the framing: FileLogInputStream; see `batch` for the fields.
"""

from dataclasses import fields
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np

from kafkafs.format import kernels
from kafkafs.format.batch import CONTROL, SMALLEST, TRANSACTIONAL, Batch
from kafkafs.format.native.layout import (
    BATCH,
    INVALID,
    UNCHECKED,
    VALID,
    WALK_BROKEN,
    WALK_CUT,
    WALK_END,
    WALK_FULL,
)

__all__ = [
    "BATCH", "INVALID", "UNCHECKED", "VALID", "Batches", "Flags", "Walk", "batch_at", "is_control", "is_overfull",
    "is_transactional", "is_wrapped", "rows_of", "walk",
]  # fmt: skip

Bytes = bytes | bytearray | memoryview
Batches = np.ndarray[tuple[int], np.dtype[np.void]]
"""A table of dtype `BATCH`."""

Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
"""A truth for each row."""

_STOPS: dict[int, Literal["end", "cut", "broken"]] = {WALK_END: "end", WALK_CUT: "cut", WALK_BROKEN: "broken"}
_FIELDS = [field.name for field in fields(Batch)]
_in_order = itemgetter(*map((BATCH.names or ()).index, _FIELDS))


class Walk(NamedTuple):
    """The whole batches of a buffer, in order, and how the buffer goes on behind them.

    "end": not at all. "cut": an entry is not whole, `missing` bytes of it (0 where even that is unknown) come later.
    "broken": what stands there can be no entry.
    """

    rows: Batches
    at: int  # the byte of the buffer where the walk ended
    stop: Literal["end", "cut", "broken"]
    missing: int


def walk(data: Bytes, position: int, *, verify: bool = True) -> Walk:
    """The batches in `data`, whose byte 0 lies at `position` in its segment.

    With `verify` each row's `valid` tells whether the CRC holds, else it is UNCHECKED. The walk goes on behind a batch
    whose CRC fails: its length is outside the CRC, so look at `valid` before it is trusted.
    """
    tables: list[Batches] = []
    at, capacity, reason = 0, max(64, len(data) // 1024), WALK_FULL
    while reason == WALK_FULL:
        table = np.empty(capacity, BATCH)
        made, at, reason, missing = kernels.walk(data, at, position, verify, table, capacity)
        tables.append(table[:made])
        capacity = min(capacity * 4, (len(data) - at) // SMALLEST[0] + 1)
    rows = tables[0] if len(tables) == 1 else np.concatenate(tables)
    return Walk(rows, at, _STOPS[reason], missing)


def batch_at(rows: Batches, index: int) -> Batch:
    """One row as the value that the rest of kafkafs passes around."""
    return Batch(*_in_order(rows[index].item()))


def rows_of(batch: Batch, *, is_valid: bool) -> Batches:
    """The way back: one batch as a table, for what works on tables."""
    rows = np.zeros(1, BATCH)
    for name in _FIELDS:
        rows[name] = getattr(batch, name)
    rows["valid"] = VALID if is_valid else INVALID
    return rows


def is_transactional(rows: Batches) -> Flags:
    """Which batches belong to transactions: data and markers."""
    flags: Flags = (rows["magic"] >= 2) & (rows["attributes"] & TRANSACTIONAL != 0)
    return flags


def is_control(rows: Batches) -> Flags:
    """Which batches are control batches, which consumers never see."""
    flags: Flags = (rows["magic"] >= 2) & (rows["attributes"] & CONTROL != 0)
    return flags


def is_overfull(rows: Batches) -> bool:
    """Whether one of the headers states more records than it has offsets. A message of v0 or v1 states no number."""
    return bool((rows["count"] > rows["last_offset"] - rows["base_offset"] + 1).any())


def is_wrapped(rows: Batches) -> Flags:
    """Which rows are compressed messages of v0 and v1, whose `base_offset` repeats their last one."""
    flags: Flags = (rows["magic"] < 2) & (rows["attributes"] & 7 != 0)
    return flags
