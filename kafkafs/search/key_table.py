"""Where a key may be in one part of a log: sorted rows, in memory or in a key index on disk, and the search in them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from kafkafs.disk.data_file import DataFile
from kafkafs.format import native
from kafkafs.format.key_rows import KeyRows, Numbers
from kafkafs.format.native.layout import KEY_PAGE, KEY_TABLE
from kafkafs.log.segment import Segment

_MOST = 64
"""Rows that one call of the kernel answers with; more with the same hash are asked for again."""

_ANY_OFFSET = 0xFFFFFFFF


class KeyTable(NamedTuple):
    """Rows of a part of one segment; of those on disk `rows` are the first one of each page of `file`."""

    segment: Segment
    seed: bytes
    base: int
    rows: Numbers
    row_count: int
    file: DataFile | None = None


def table_of(segment: Segment, made: KeyRows) -> KeyTable:
    """The table in memory."""
    return KeyTable(segment, made.seed, made.base, made.rows, len(made.rows))


class KeyTables:
    """Some tables, the newest first, searched by one call for all of them."""

    def __init__(self, tables: Sequence[KeyTable]) -> None:
        self.tables = tables
        self._numbers: Numbers = np.array([_numbers(table) for table in tables], np.int64).reshape(-1)

    def places(self, key: bytes) -> Iterator[tuple[KeyTable, int | None]]:
        """Where records that may have the key stand, the newest first: table and offset.

        A table on disk that is damaged answers with None, once, and the search goes on behind it.
        """
        padded, out = np.frombuffer(key + b"\0", np.uint8), np.empty(1 + _MOST, np.int64)
        room, number, below = np.empty(KEY_PAGE + 16, np.uint8), 0, _ANY_OFFSET
        key_at, room_at, out_at, tables_at = (native.address(array) for array in (padded, room, out, self._numbers))
        find = native.kernel("find_key")
        while number < len(self.tables):
            out[0] = _MOST
            number = find(tables_at, number, len(self.tables), key_at, len(key), below, room_at, out_at)
            if number == len(self.tables):
                return
            table, count = self.tables[number], int(out[0])
            if count < 0:
                yield table, None
            for offset in out[1 : count + 1].tolist():
                yield table, table.base + offset
            number, below = (number, int(out[count])) if count == _MOST else (number + 1, _ANY_OFFSET)


def _numbers(table: KeyTable) -> list[int]:
    """The table as the kernel wants it, see `layout`."""
    seed = np.frombuffer(table.seed, "<i8").tolist()
    rows = native.address(table.rows) if len(table.rows) else 0
    if table.file is None:
        return [*seed, -1, table.row_count, rows, 0, 0]
    return [*seed, table.file.descriptor, table.row_count, 0, rows, KEY_PAGE]


assert KEY_TABLE == 7 * 8
