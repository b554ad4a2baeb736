"""The fields of records, their keys and values, as a table (native.layout): which schema each names, and its payload.

Two rows a record, the key's and the value's. `decoding` fills in the text that each becomes,
the typed columns of an export take only the values.
"""

import numpy as np

from kafkafs.format import kernels
from kafkafs.format.native import layout
from kafkafs.format.native.layout import FIELD_SLOT, FIELD_WORDS
from kafkafs.format.records import Records

Fields = np.ndarray[tuple[int, int], np.dtype[np.int64]]
OneField = np.ndarray[tuple[int], np.dtype[np.int64]]

NAME = slice(FIELD_SLOT.kind, FIELD_SLOT.guid_rest + 1)
"""The columns that name a schema, as `SchemaName`."""

TEXT, TAIL = slice(FIELD_SLOT.text_in, FIELD_SLOT.text_size + 1), slice(FIELD_SLOT.tail_in, FIELD_SLOT.tail_size + 1)
"""The columns that tell where a text, or a tail, is: in what, at which byte there, its size."""


def find_fields(records: Records) -> tuple[Fields, int]:
    """The fields of records, and how many of them name a schema. None has a text or a decoder yet (-1)."""
    rows = np.ascontiguousarray(records.rows)  # it may be every other row of another
    fields: Fields = np.empty((2 * len(rows), FIELD_WORDS), np.int64)
    return fields, kernels.find_fields(rows, len(rows), records.data, fields)


def payload_of(records: Records, field: OneField) -> tuple[bytes, bytes | None]:
    """Return the content of a field that names a schema, without the prefix, and the content of a header behind the id,
    or None."""
    payload = _bytes(records, field, FIELD_SLOT.payload_at)
    if field[FIELD_SLOT.kind] not in (layout.FIELD_HEADER_ID, layout.FIELD_HEADER_GUID):
        return payload, None
    return payload, _bytes(records, field, FIELD_SLOT.indexes_at)


def _bytes(records: Records, field: OneField, at: int) -> bytes:
    """Return the bytes at the place that a field names. The column behind it has the size."""
    return records.data[field[at] : field[at] + field[at + 1]].tobytes()
