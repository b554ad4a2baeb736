"""The schema of a topic that all its keys or values are brought to: its *reader schema*, as Avro calls it.

It is the newest version of `<topic>-value` (`-key`); without such a subject, that of the first value that names one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from kafkafs.cluster.registry import DEFAULT_CONTEXT, RegisteredSchema, Registry, split_subject
from kafkafs.errors import CorruptData, Unsupported
from kafkafs.format.native.layout import WAY_AVRO, WAY_PYTHON
from kafkafs.format.schemas.avro_typed import ColumnSchema
from kafkafs.format.schemas.decoders import INSTALL, Decoder, refusing
from kafkafs.format.schemas.reference import Reference
from kafkafs.format.schemas.shape import Shape
from kafkafs.tables.typed import json_values
from kafkafs.tables.typed.typed_columns import FieldName

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
    """The full name of the values' message type, for Protobuf."""

    kind: Any = None
    """The type of all values, a `json_values.Kind`, found by a pass over them, for JSON."""

    times: tuple[str, ...] = ()
    """The members of `TIMES` that become columns of such a type, for Protobuf; the others are text. A plan of an
    earlier release does not have this field, and its table goes on with text."""

    @classmethod
    def of_words(cls, words: dict[str, Any]) -> Self:
        """The value that `words` made."""
        references = tuple(Reference(*one) for one in words["references"])
        return cls(**words | {"references": references, "times": tuple(words.get("times", ()))})

    def words(self) -> dict[str, Any]:
        """The schema in a form to be written down as JSON."""
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
    """The reader schemas that a topic could have, by all versions of its subject, the newest first, deleted ones last.
    If it has no subject, the subject of the first of its `named` keys or values counts."""
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
