"""Values that name a schema, one at a time: for what the driver asks before an export, and for JSON's first pass."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from kafkafs.cluster.registry import Registry, Schema
from kafkafs.format import native
from kafkafs.format.columns import Records
from kafkafs.format.native import layout
from kafkafs.format.native.layout import CELL_WORDS
from kafkafs.format.schemas.codebook import SchemaName
from kafkafs.log.options import Isolation
from kafkafs.spark.export.plan import FileUnit
from kafkafs.spark.tasks import data_loss, records_of

_MOST_ASKED = 100
"""Files in whose first records a topic's first schema is sought."""

Cells = np.ndarray[tuple[int, int], np.dtype[np.int64]]
"""A row of CELL_WORDS a value."""


class NamedValue(NamedTuple):
    """A value without its prefix, the schema that it names, and what a header holds behind the id."""

    schema: Schema
    payload: bytes
    header: bytes | None


def value_cells(piece: Records) -> Cells:
    """The cells of the values of records, whose rows are contiguous."""
    cells: Cells = np.empty((2 * len(piece), CELL_WORDS), np.int64)
    native.kernel("find_cells")(
        native.address(piece.rows), len(piece), native.address(piece.data), native.address(cells)
    )
    return cells


def named_values(piece: Records, registry: Registry, topic: str) -> Iterator[NamedValue]:
    """The values that name a schema of the registry, in order."""
    piece = Records(piece.data, np.ascontiguousarray(piece.rows))
    for cell in value_cells(piece)[1::2].tolist():
        if cell[0] < layout.CELL_PREFIX_ID:
            continue
        name = SchemaName(*cell[:3])
        schema = registry.find(name, topic, "value")
        if schema is not None:
            yield NamedValue(schema, *payload_of(piece, cell))


def payload_of(piece: Records, cell: list[int]) -> tuple[bytes, bytes | None]:
    """A cell's payload, and what a header holds behind the id."""
    at, size = cell[layout.CELL_PAYLOAD_AT // 8], cell[layout.CELL_PAYLOAD_SIZE // 8]
    payload = piece.data[at : at + size].tobytes()
    if cell[0] not in (layout.CELL_HEADER_ID, layout.CELL_HEADER_GUID):
        return payload, None
    at, size = cell[layout.CELL_INDEXES_AT // 8], cell[layout.CELL_INDEXES_SIZE // 8]
    return payload, piece.data[at : at + size].tobytes()


def first_named(units: Iterable[FileUnit], isolation: Isolation, registry: Registry) -> Iterator[NamedValue]:
    """Values of the first records of some files, in order."""
    for unit in list(units)[:_MOST_ASKED]:
        piece = next(records_of(unit.range, isolation, data_loss(fail=True)), None)
        if piece is not None:
            yield from named_values(piece, registry, unit.topic)
