"""The type of keys or values that are to be columns: for JSON that of all that are there, for a registry the reader
schema of each topic. The driver settles this before keys or values become columns.

JSON takes a pass over all that is there, range by range, by whatever maps a function over them. The plan of an export
keeps what was found, so that a later one writes the same columns.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kafkafs.cluster.registry import Registry
from kafkafs.format.fields import NAME, find_fields, payload_of
from kafkafs.format.native import layout
from kafkafs.format.native.layout import FIELD_SLOT
from kafkafs.format.records import Records
from kafkafs.format.schemas.decoder_table import SchemaName
from kafkafs.log.read_options import Isolation
from kafkafs.tables.cutting import pieces_of
from kafkafs.tables.planning import PartitionLook, PartitionRange
from kafkafs.tables.ranges import records_of
from kafkafs.tables.typed import json_values
from kafkafs.tables.typed.json_shapes import kind_of_records
from kafkafs.tables.typed.reader_schema import NamedPayload, ReaderSchema, reader_schemas_of
from kafkafs.tables.typed.typed_columns import FieldName, fields_of

_MOST_ASKED = 100
"""Ranges in whose first records a topic's first schema is sought."""


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass over the keys or values of a range of a partition."""

    range: PartitionRange
    weight: int  # bytes of log, about
    field: FieldName
    isolation: Isolation
    lost: Callable[[str], None]  # hears of records that are gone

    @property
    def topic(self) -> str:
        """The topic, which has one type."""
        return self.range.location.name.topic

    def kind(self) -> json_values.Kind:
        """The type of all that are JSON objects; None without any."""
        return kind_of_records(records_of(self.range, self.isolation, self.lost), self.field)

    def registered_kind(self, registry: Registry) -> json_values.Kind:
        """The type of all JSON objects that name a schema of the registry; None without any."""
        kind: json_values.Kind = None
        for piece in records_of(self.range, self.isolation, self.lost):
            payloads = [each.payload for each in named_payloads(piece, registry, self.topic, self.field)]
            kind = json_values.merged(kind, json_values.kind_of_values(payloads))
        return kind


PASS_BYTES = 32 << 20
"""Bytes of log that a process looks through at once."""


def passes_over(each: PartitionRange, look: PartitionLook, fields: Sequence[FieldName], partitions: int) -> list[Pass]:
    """The passes over the fields of a range. `partitions`: how many the plan has."""
    pieces = pieces_of(each, look.log, PASS_BYTES, partitions) if fields else ()
    return [Pass(piece, size, field, look.isolation, passed_over) for field in fields for piece, size in pieces]


def passed_over(_: str) -> None:
    """Records that are gone have no type. The read itself says whether that is an error."""


Infer = Callable[[Pass], json_values.Kind]
Mapped = Callable[[Sequence[Pass], Infer], Iterable[json_values.Kind]]
"""Makes the passes, and has what they found in their order: a job, or `local.mapped`."""


def kinds(mapped: Mapped, passes: Sequence[Pass], infer: Infer) -> dict[str, json_values.Kind]:
    """The type of each topic's keys or values that are JSON; `infer` makes a pass."""
    found: dict[str, json_values.Kind] = {}
    for each, kind in zip(passes, mapped(passes, infer), strict=True):
        found[each.topic] = json_values.merged(found.get(each.topic), kind)
    return found


def reader_schemas(
    mapped: Mapped, registry: Registry, topics: Iterable[str], field: FieldName, passes: Sequence[Pass], infer: Infer
) -> dict[str, ReaderSchema]:
    """The reader schema of each topic, the first of its `candidates`; JSON takes a pass over all records."""
    some = candidates(registry, topics, field, passes)
    found = {topic: next(each, ReaderSchema()) for topic, each in some.items()}
    types = kinds(mapped, [each for each in passes if found[each.topic].type == "JSON"], infer)
    return {topic: replace(reader, kind=types.get(topic)) for topic, reader in found.items()}


def candidates(
    registry: Registry, topics: Iterable[str], field: FieldName, passes: Sequence[Pass]
) -> dict[str, Iterator[ReaderSchema]]:
    """The reader schemas that each topic could have, by its subject, or by the schemas that its first records name."""
    return {
        topic: reader_schemas_of(
            registry, topic, field, _first_named(registry, [each for each in passes if each.topic == topic])
        )
        for topic in topics
    }


def named_payloads(piece: Records, registry: Registry, topic: str, name: FieldName) -> Iterator[NamedPayload]:
    """The keys or values that name a schema of the registry, in order."""
    fields = fields_of(find_fields(piece)[0], name)
    for field in fields[fields[:, FIELD_SLOT.kind] >= layout.FIELD_PREFIX_ID]:
        schema = registry.find(SchemaName(*field[NAME].tolist()), topic, name)
        if schema is not None:
            yield NamedPayload(schema, *payload_of(piece, field))


def _first_named(registry: Registry, passes: Iterable[Pass]) -> Iterator[NamedPayload]:
    """The payloads, with their schemas' names, of the first records of some ranges, in order."""
    for each, _ in zip(passes, range(_MOST_ASKED), strict=False):
        piece = next(records_of(each.range, each.isolation, each.lost), None)
        if piece is not None:
            yield from named_payloads(piece, registry, each.topic, each.field)
