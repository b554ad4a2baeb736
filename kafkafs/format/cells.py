"""Keys and values of records as cells (native.layout): which schema each one names, and what is its payload.

Two rows a record, the key's and the value's. `decoded_lines` and `internal_cells` fill in the text that each becomes,
the typed columns of an export take only the values.
"""

from enum import IntEnum

import numpy as np

from kafkafs.format import native
from kafkafs.format.columns import Records
from kafkafs.format.native import layout
from kafkafs.format.native.layout import CELL_WORDS

Cells = np.ndarray[tuple[int, int], np.dtype[np.int64]]
OneCell = np.ndarray[tuple[int], np.dtype[np.int64]]


class Cell(IntEnum):
    """The columns, as the layout tells what each one holds."""

    KIND = layout.CELL_KIND // 8
    ID = layout.CELL_ID // 8
    GUID_REST = layout.CELL_GUID_REST // 8
    PAYLOAD_AT = layout.CELL_PAYLOAD_AT // 8
    PAYLOAD_SIZE = layout.CELL_PAYLOAD_SIZE // 8
    TEXT = layout.CELL_TEXT // 8
    TEXT_SIZE = layout.CELL_TEXT_SIZE // 8
    TAIL = layout.CELL_TAIL // 8
    TAIL_SIZE = layout.CELL_TAIL_SIZE // 8
    DECODER = layout.CELL_DECODER // 8
    INDEXES_AT = layout.CELL_INDEXES_AT // 8
    INDEXES_SIZE = layout.CELL_INDEXES_SIZE // 8
    ERROR = layout.CELL_ERROR // 8
    ERROR_AT = layout.CELL_ERROR_AT // 8


NAME = slice(Cell.KIND, Cell.GUID_REST + 1)
"""The columns that name a schema, as `SchemaName`."""


def find_cells(records: Records) -> tuple[Cells, int]:
    """The cells of records, and how many of them name a schema. None has a text or a decoder yet (-1)."""
    rows = np.ascontiguousarray(records.rows)  # it may be every other row of another
    cells: Cells = np.empty((2 * len(rows), CELL_WORDS), np.int64)
    named = native.kernel("find_cells")(
        native.address(rows), len(rows), native.address(records.data), native.address(cells)
    )
    return cells, named


def payload_of(records: Records, cell: OneCell) -> tuple[bytes, bytes | None]:
    """What a cell that names a schema holds without a prefix; and what a header holds behind the name, None without."""
    payload = _bytes(records, cell, Cell.PAYLOAD_AT)
    if cell[Cell.KIND] not in (layout.CELL_HEADER_ID, layout.CELL_HEADER_GUID):
        return payload, None
    return payload, _bytes(records, cell, Cell.INDEXES_AT)


def _bytes(records: Records, cell: OneCell, at: Cell) -> bytes:
    """What lies where a cell says, its size in the column behind."""
    return records.data[cell[at] : cell[at] + cell[at + 1]].tobytes()
