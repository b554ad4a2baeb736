"""The driver settles this before keys or values become columns: a type for JSON, or a reader schema for each topic of a
registry. A reader schema is the one that all values are brought to, as Avro calls it.

JSON takes a pass over all that is there, range by range, by whatever maps a function over them. A topic's reader
schema is the newest version of `<topic>-value` (`-key`); without such a subject, that of the first value that names
one. The plan of an export keeps it, so that a later one writes the same columns.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from kafkafs.cluster.registry import DEFAULT_CONTEXT, RegisteredSchema, Registry, split_subject
from kafkafs.errors import CorruptData, Unsupported
from kafkafs.format.fields import NAME, find_fields, payload_of
from kafkafs.format.native import layout
from kafkafs.format.native.layout import FIELD_SLOT, WAY_AVRO, WAY_PYTHON
from kafkafs.format.records import Records
from kafkafs.format.schemas.avro_typed import ColumnSchema
from kafkafs.format.schemas.decoder_table import SchemaName
from kafkafs.format.schemas.decoders import INSTALL, Decoder, refusing
from kafkafs.format.schemas.reference import Reference
from kafkafs.format.schemas.shape import Shape
from kafkafs.log.read_options import Isolation
from kafkafs.tables.cutting import pieces_of
from kafkafs.tables.planning import PartitionLook, PartitionRange
from kafkafs.tables.ranges import records_of
from kafkafs.tables.typed import json_values
from kafkafs.tables.typed.json_shapes import kind_of_records
from kafkafs.tables.typed.typed_columns import FieldName, fields_of

if TYPE_CHECKING:
    from kafkafs.tables.typed.protobuf_typed import ProtobufReader

References = tuple[Reference, ...]
NOTHING = Shape("null")
TIMES = ("Timestamp", "Duration")
"""Google's messages that can be columns of times."""


@dataclass(frozen=True)
class ReaderSchema:
    """A schema as the plan keeps it: its type is empty if a topic's values name none."""

    type: str = ""
    subject: str = ""
    version: int = 0
    text: str = ""
    references: References = ()
    message: str = ""
    """Of Protobuf: the full name of the message that values are."""

    kind: Any = None
    """Of JSON: the type of all values, a `json_values.Kind`, found by a pass over them."""

    times: tuple[str, ...] = ()
    """Of Protobuf: those of `TIMES` that are columns of such a type; the others are text. A plan of an earlier release
    does not have this word, and its table goes on with text."""

    @classmethod
    def of_words(cls, words: dict[str, Any]) -> Self:
        """The value that `words` made."""
        references = tuple(Reference(*one) for one in words["references"])
        return cls(**words | {"references": references, "times": tuple(words.get("times", ()))})

    def words(self) -> dict[str, Any]:
        """In a form to be written down as JSON."""
        return asdict(self)

    def shape(self) -> Shape:
        """Return the columns of values. Return none if the schema is not a schema, or not one that columns can
        follow."""
        try:
            if self.type == "AVRO":
                return _avro_reader(self.text, self.references).shape
            if self.type == "PROTOBUF":
                return _protobuf_reader(self.text, self.references, self.message, self.times).shape
        except (CorruptData, Unsupported):
            return NOTHING
        return json_values.shape_of(self.kind) if self.type == "JSON" else NOTHING

    def decoder(self, registry: Registry, schema: RegisteredSchema) -> Decoder:
        """Make lines of this schema of the values of another. Never raises: what does not fit refuses."""
        if schema.type != self.type:
            return refusing(f"the table's schema is of another type, {self.type or 'none'}")
        if schema.type == "JSON":
            return Decoder(WAY_PYTHON, decode=json_values.Documents(self.kind).line)
        if schema.text is None:
            return refusing("the schema's text is encrypted or too large")
        try:
            references = tuple(registry.references(schema))
            if schema.type == "AVRO":
                reader = _avro_reader(self.text, self.references)
                program = reader.program(schema.text, [reference.text for reference in references])
                return Decoder(WAY_AVRO, program)
            if schema.type == "PROTOBUF":
                found = _protobuf_reader(self.text, self.references, self.message, self.times)
                return Decoder(WAY_PYTHON, decode=found.decoder(schema.text, references))
        except (CorruptData, Unsupported) as error:
            return refusing(str(error))
        return refusing(f"the schema's type {schema.type[:100]!r} is not AVRO, PROTOBUF or JSON")


@cache
def _avro_reader(text: str, references: References) -> ColumnSchema:
    return ColumnSchema(text, [reference.text for reference in references])


@cache
def _protobuf_reader(text: str, references: References, message: str, times: tuple[str, ...]) -> "ProtobufReader":
    try:
        from kafkafs.tables.typed.protobuf_typed import ProtobufReader  # takes what an extra installs
    except ImportError:
        raise Unsupported(f"decoding Protobuf takes {INSTALL}") from None
    return ProtobufReader(text, references, message, times)


class NamedPayload(NamedTuple):
    """A key or value without its prefix, the schema that it names, and what a header holds behind the id."""

    schema: RegisteredSchema
    payload: bytes
    header: bytes | None


def reader_schemas_of(
    registry: Registry, topic: str, field: FieldName, named: Iterable[NamedPayload]
) -> Iterator[ReaderSchema]:
    """Those that a topic could have, by all versions of its subject, the newest first, deleted ones last. If it has no
    subject, that of the first of its `named` keys or values counts."""
    first = next(iter(named), None)
    own = f"{topic}-{field}"
    subjects = {schema.subject for schema in registry if split_subject(schema.subject)[1] == own}
    if subjects:
        subject = min(subjects, key=lambda each: (split_subject(each)[0] != DEFAULT_CONTEXT, each))
    elif first is not None:
        subject = first.schema.subject
    else:
        return
    versions = [schema for schema in registry if schema.subject == subject and schema.text is not None]
    for schema in sorted(versions, key=lambda each: (each.deleted or each.gone, -each.version)):
        yield _reader_schema(registry, schema, first)


def _reader_schema(registry: Registry, schema: RegisteredSchema, first: NamedPayload | None) -> ReaderSchema:
    try:
        references = () if schema.type == "JSON" else tuple(registry.references(schema))
        message = _message(registry, schema, references, first) if schema.type == "PROTOBUF" else ""
    except (CorruptData, Unsupported):
        return ReaderSchema(schema.type, schema.subject, schema.version)
    return ReaderSchema(
        schema.type, schema.subject, schema.version, schema.text or "", references, message,
        times=TIMES if schema.type == "PROTOBUF" else (),
    )  # fmt: skip


def _message(registry: Registry, newest: RegisteredSchema, references: References, first: NamedPayload | None) -> str:
    """The full name of the message that the first value is; of the text's first message where that is not to be had."""
    try:
        from kafkafs.format.schemas import protobuf  # takes what an extra installs
    except ImportError:
        raise Unsupported(f"decoding Protobuf takes {INSTALL}") from None
    assert newest.text is not None
    if first is not None and first.schema.type == "PROTOBUF" and first.schema.text is not None:
        try:
            writer = protobuf.ProtobufSchema(first.schema.text, registry.references(first.schema))
            return writer.message_of(first.payload, first.header)[0].DESCRIPTOR.full_name
        except CorruptData:
            pass
    return protobuf.ProtobufSchema(newest.text, references).message_of(b"\0", None)[0].DESCRIPTOR.full_name


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
        """The same of those that name a schema of the registry."""
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
    return [Pass(piece, size, field, look.isolation, _passed_over) for field in fields for piece, size in pieces]


def _passed_over(_: str) -> None:
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
    """That of each topic, the first of its `candidates`; JSON takes a pass over all that is there."""
    some = candidates(registry, topics, field, passes)
    found = {topic: next(each, ReaderSchema()) for topic, each in some.items()}
    types = kinds(mapped, [each for each in passes if found[each.topic].type == "JSON"], infer)
    return {topic: replace(reader, kind=types.get(topic)) for topic, reader in found.items()}


def candidates(
    registry: Registry, topics: Iterable[str], field: FieldName, passes: Sequence[Pass]
) -> dict[str, Iterator[ReaderSchema]]:
    """Those that each topic could have, by its subject, or by what its first records name."""
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
    """Those of the first records of some ranges, in order."""
    for each, _ in zip(passes, range(_MOST_ASKED), strict=False):
        piece = next(records_of(each.range, each.isolation, each.lost), None)
        if piece is not None:
            yield from named_payloads(piece, registry, each.topic, each.field)
