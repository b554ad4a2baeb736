"""What the driver settles before keys or values become columns: a type for JSON, a table for each topic of a registry.

JSON takes a pass over all that is there, by any engine of `jobs`: units are ranges of partitions.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

from kafkafs.cluster.registry import RegisteredSchema, Registry
from kafkafs.format.cells import NAME, find_cells, payload_of
from kafkafs.format.columns import Records
from kafkafs.format.native import layout
from kafkafs.format.native.layout import CELL_SLOT
from kafkafs.format.schemas.codebook import SchemaName
from kafkafs.log.options import Isolation
from kafkafs.spark import jobs
from kafkafs.spark.jobs import Engine, Progress, no_progress
from kafkafs.spark.planning import PartitionRange
from kafkafs.spark.tasks import batches_of, records_of
from kafkafs.spark.typed import values
from kafkafs.spark.typed.columns import Field, cells_of
from kafkafs.spark.typed.tables import Table, table_of

_MOST_ASKED = 100
"""Ranges in whose first records a topic's first schema is sought."""


class NamedPayload(NamedTuple):
    """A key or value without its prefix, the schema that it names, and what a header holds behind the id."""

    schema: RegisteredSchema
    payload: bytes
    header: bytes | None


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass over the keys or values of a range of a partition."""

    range: PartitionRange
    weight: int  # bytes of log, about
    field: Field
    isolation: Isolation
    lost: Callable[[str], None]  # hears of records that are gone

    @property
    def topic(self) -> str:
        """The topic, which has one type."""
        return self.range.location.name.topic

    def kind(self) -> values.Kind:
        """The type of all that are JSON objects; None without any."""
        batches = batches_of(self.range, self.isolation, False, self.lost)
        return _kind(batch.column(self.field).to_pylist() for batch in batches)

    def registered_kind(self, registry: Registry) -> values.Kind:
        """The same of those that name a schema of the registry."""
        pieces = records_of(self.range, self.isolation, self.lost)
        return _kind(
            [each.payload for each in named_payloads(piece, registry, self.topic, self.field)] for piece in pieces
        )


def _kind(parts: Iterator[list[bytes | None]]) -> values.Kind:
    return reduce(values.merged, map(values.kind_of_values, parts), None)


def kinds(
    engine: Engine, passes: Sequence[Pass], run: Callable[[Pass], values.Kind], progress: Progress = no_progress
) -> dict[str, values.Kind]:
    """The type of each topic's keys or values that are JSON; `run` makes a pass."""
    found: dict[str, values.Kind] = {}
    for each, kind in zip(passes, jobs.run(engine, "schema", passes, run, progress), strict=True):
        found[each.topic] = values.merged(found.get(each.topic), kind)
    return found


def tables(
    engine: Engine,
    passes: Sequence[Pass],
    registry: Registry,
    run: Callable[[Pass], values.Kind],
    progress: Progress = no_progress,
) -> dict[str, Table]:
    """The table of each topic by its subject, or by what its first records name; JSON takes a pass over them all."""
    by_topic: dict[str, list[Pass]] = {}
    for each in passes:
        by_topic.setdefault(each.topic, []).append(each)
    found = {topic: _table(registry, some) for topic, some in by_topic.items()}
    types = kinds(engine, [each for each in passes if found[each.topic].type == "JSON"], run, progress)
    return {topic: replace(table, kind=types.get(topic)) for topic, table in found.items()}


def _table(registry: Registry, passes: Sequence[Pass]) -> Table:
    one = passes[0]
    ranges = [each.range for each in passes]
    return table_of(registry, one.topic, one.field, first_named(ranges, one.field, one.isolation, registry, one.lost))


def named_payloads(piece: Records, registry: Registry, topic: str, field: Field) -> Iterator[NamedPayload]:
    """The keys or values that name a schema of the registry, in order."""
    cells = cells_of(find_cells(piece)[0], field)
    for cell in cells[cells[:, CELL_SLOT.kind] >= layout.CELL_PREFIX_ID]:
        schema = registry.find(SchemaName(*cell[NAME].tolist()), topic, field)
        if schema is not None:
            yield NamedPayload(schema, *payload_of(piece, cell))


def first_named(
    ranges: Iterable[PartitionRange],
    field: Field,
    isolation: Isolation,
    registry: Registry,
    lost: Callable[[str], None],
) -> Iterator[NamedPayload]:
    """Those of the first records of some ranges, in order."""
    for each, _ in zip(ranges, range(_MOST_ASKED), strict=False):
        piece = next(records_of(each, isolation, lost), None)
        if piece is not None:
            yield from named_payloads(piece, registry, each.location.name.topic, field)
