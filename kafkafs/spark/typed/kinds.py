"""What the driver settles before keys or values become columns: a type for JSON, a table for each topic of a registry.

JSON takes a pass over all that is there, by any engine of `jobs`: units are ranges of partitions.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

from kafkafs.cluster.registry import RegisteredSchema, Registry
from kafkafs.format.cells import NAME, find_cells, payload_of
from kafkafs.format.native import layout
from kafkafs.format.native.layout import CELL_SLOT
from kafkafs.format.records import Records
from kafkafs.format.schemas.decoder_table import SchemaName
from kafkafs.log.read_options import Isolation
from kafkafs.spark import jobs
from kafkafs.spark.jobs import Engine, Progress, no_progress
from kafkafs.spark.planning import PartitionRange
from kafkafs.spark.tasks import batches_of, records_of
from kafkafs.spark.typed import values
from kafkafs.spark.typed.columns import Field, cells_of
from kafkafs.spark.typed.tables import Table, tables_of

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
    candidates: Mapping[str, Iterable[Table]],
    passes: Sequence[Pass],
    run: Callable[[Pass], values.Kind],
    progress: Progress = no_progress,
) -> dict[str, Table]:
    """The table of each topic, the first of its `candidates`; JSON takes a pass over them all."""
    found = {topic: next(iter(some), Table()) for topic, some in candidates.items()}
    types = kinds(engine, [each for each in passes if found[each.topic].type == "JSON"], run, progress)
    return {topic: replace(table, kind=types.get(topic)) for topic, table in found.items()}


def candidates(
    registry: Registry, topics: Iterable[str], field: Field, passes: Sequence[Pass]
) -> dict[str, Iterator[Table]]:
    """The tables that each topic could have, by its subject, or by what its first records name."""
    return {
        topic: tables_of(
            registry, topic, field, _first_named(registry, [each for each in passes if each.topic == topic])
        )
        for topic in topics
    }


def named_payloads(piece: Records, registry: Registry, topic: str, field: Field) -> Iterator[NamedPayload]:
    """The keys or values that name a schema of the registry, in order."""
    cells = cells_of(find_cells(piece)[0], field)
    for cell in cells[cells[:, CELL_SLOT.kind] >= layout.CELL_PREFIX_ID]:
        schema = registry.find(SchemaName(*cell[NAME].tolist()), topic, field)
        if schema is not None:
            yield NamedPayload(schema, *payload_of(piece, cell))


def _first_named(registry: Registry, passes: Iterable[Pass]) -> Iterator[NamedPayload]:
    """Those of the first records of some ranges, in order."""
    for each, _ in zip(passes, range(_MOST_ASKED), strict=False):
        piece = next(records_of(each.range, each.isolation, each.lost), None)
        if piece is not None:
            yield from named_payloads(piece, registry, each.topic, each.field)
