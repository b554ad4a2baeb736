"""Values that name a schema, one at a time: for what the driver asks before an export, and for JSON's first pass."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafkafs.cluster.registry import RegisteredSchema, Registry
from kafkafs.format.cells import NAME, find_cells, payload_of
from kafkafs.format.columns import Records
from kafkafs.format.native import layout
from kafkafs.format.native.layout import CELL_SLOT
from kafkafs.format.schemas.codebook import SchemaName
from kafkafs.log.options import Isolation
from kafkafs.spark.export.plan import GONE, FileUnit
from kafkafs.spark.tasks import data_loss, records_of

_MOST_ASKED = 100
"""Files in whose first records a topic's first schema is sought."""


class NamedValue(NamedTuple):
    """A value without its prefix, the schema that it names, and what a header holds behind the id."""

    schema: RegisteredSchema
    payload: bytes
    header: bytes | None


def named_values(piece: Records, registry: Registry, topic: str) -> Iterator[NamedValue]:
    """The values that name a schema of the registry, in order."""
    values = find_cells(piece)[0][1::2]
    for cell in values[values[:, CELL_SLOT.kind] >= layout.CELL_PREFIX_ID]:
        schema = registry.find(SchemaName(*cell[NAME].tolist()), topic, "value")
        if schema is not None:
            yield NamedValue(schema, *payload_of(piece, cell))


def first_named(units: Iterable[FileUnit], isolation: Isolation, registry: Registry) -> Iterator[NamedValue]:
    """Values of the first records of some files, in order."""
    for unit in list(units)[:_MOST_ASKED]:
        piece = next(records_of(unit.range, isolation, data_loss(fail=True, advice=GONE)), None)
        if piece is not None:
            yield from named_values(piece, registry, unit.topic)
