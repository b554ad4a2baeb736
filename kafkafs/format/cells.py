"""Keys and values of records as cells (native.layout): which schema each one names, and what is its payload.

Two rows a record, the key's and the value's. `decoding` fills in the text that each becomes,
the typed columns of an export take only the values.
"""

import numpy as np

from kafkafs.format import kernels
from kafkafs.format.native import layout
from kafkafs.format.native.layout import CELL_SLOT, CELL_WORDS
from kafkafs.format.records import Records

Cells = np.ndarray[tuple[int, int], np.dtype[np.int64]]
OneCell = np.ndarray[tuple[int], np.dtype[np.int64]]

NAME = slice(CELL_SLOT.kind, CELL_SLOT.guid_rest + 1)
"""The columns that name a schema, as `SchemaName`."""

TEXT, TAIL = slice(CELL_SLOT.text_in, CELL_SLOT.text_size + 1), slice(CELL_SLOT.tail_in, CELL_SLOT.tail_size + 1)
"""The columns that tell where a text, or a tail, is: in what, at which byte there, its size."""


def find_cells(records: Records) -> tuple[Cells, int]:
    """The cells of records, and how many of them name a schema. None has a text or a decoder yet (-1)."""
    rows = np.ascontiguousarray(records.rows)  # it may be every other row of another
    cells: Cells = np.empty((2 * len(rows), CELL_WORDS), np.int64)
    return cells, kernels.find_cells(rows, len(rows), records.data, cells)


def payload_of(records: Records, cell: OneCell) -> tuple[bytes, bytes | None]:
    """What a cell that names a schema holds without a prefix; and what a header holds behind the name, None without."""
    payload = _bytes(records, cell, CELL_SLOT.payload_at)
    if cell[CELL_SLOT.kind] not in (layout.CELL_HEADER_ID, layout.CELL_HEADER_GUID):
        return payload, None
    return payload, _bytes(records, cell, CELL_SLOT.indexes_at)


def _bytes(records: Records, cell: OneCell, at: int) -> bytes:
    """What lies where a cell says, its size in the column behind."""
    return records.data[cell[at] : cell[at] + cell[at + 1]].tobytes()
