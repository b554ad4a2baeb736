"""Whole rows of tables, moved: some of them, a copy, several tables as one.

numpy does each of these field by field. To move rows as the bytes that they are takes a fifteenth of the time, which
counts if each record has its own batch: 30 instead of 470 us for 10,000 batches.
"""

from collections.abc import Sequence

import numpy as np

Table = np.ndarray[tuple[int], np.dtype[np.void]]
"""Rows of one dtype with fields."""

Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]
"""A truth for each row."""

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]


def chosen(table: Table, which: Flags | Numbers) -> Table:
    """The rows of which the flag is true, or those with these numbers."""
    return _as_bytes(table)[which].view(table.dtype)


def copied(table: Table) -> Table:
    """A copy of the rows, to be changed."""
    return _as_bytes(table).copy().view(table.dtype)


def joined(tables: Sequence[Table]) -> Table:
    """All rows, one table behind the other: at least one, of one dtype."""
    return np.concatenate([_as_bytes(table) for table in tables]).view(tables[0].dtype)


def _as_bytes(table: Table) -> Table:
    return table.view(np.dtype((np.void, table.dtype.itemsize)))
