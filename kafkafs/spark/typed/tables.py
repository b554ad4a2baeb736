"""The table that a topic's keys or values become: by which schema of the registry, chosen once by the driver.

It is the newest version of `<topic>-value` (`-key`); without such a subject, of that of the first value that names a
schema. The plan of an export keeps it, so that a later run writes the same columns.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from kafkafs.cluster.registry import DEFAULT_CONTEXT, RegisteredSchema, Registry, split_subject
from kafkafs.errors import CorruptData, Unsupported
from kafkafs.format.native.layout import WAY_AVRO, WAY_PYTHON
from kafkafs.format.schemas.avro_typed import ColumnSchema
from kafkafs.format.schemas.decoders import INSTALL, Decoder, refusing
from kafkafs.format.schemas.reference import Reference
from kafkafs.format.schemas.shape import Shape
from kafkafs.spark.typed import values
from kafkafs.spark.typed.columns import Field

if TYPE_CHECKING:
    from kafkafs.spark.typed.protobuf_typed import ProtobufReader

References = tuple[Reference, ...]
NOTHING = Shape("null")


@dataclass(frozen=True)
class Table:
    """A schema as the plan keeps it: its type is empty where a topic's values name none."""

    type: str = ""
    subject: str = ""
    version: int = 0
    text: str = ""
    references: References = ()
    message: str = ""
    """Of Protobuf: the full name of the message that values are."""

    kind: Any = None
    """Of JSON: the type of all values, a `values.Kind`, found by a pass over them."""

    @classmethod
    def of_words(cls, told: dict[str, Any]) -> Self:
        """What `words` made."""
        return cls(**told | {"references": tuple(Reference(*one) for one in told["references"])})

    def words(self) -> dict[str, Any]:
        """In a form to be written down as JSON."""
        return asdict(self)

    def shape(self) -> Shape:
        """What columns values have; none where the schema is no schema, or one that columns cannot follow."""
        try:
            if self.type == "AVRO":
                return _avro_reader(self.text, self.references).shape
            if self.type == "PROTOBUF":
                return _protobuf_reader(self.text, self.references, self.message).shape
        except (CorruptData, Unsupported):
            return NOTHING
        return values.shape_of(self.kind) if self.type == "JSON" else NOTHING

    def decoder(self, registry: Registry, schema: RegisteredSchema) -> Decoder:
        """What makes lines for this table of the values of a schema. Never raises: what does not fit refuses."""
        if schema.type != self.type:
            return refusing(f"the table's schema is of another type, {self.type or 'none'}")
        if schema.type == "JSON":
            return Decoder(WAY_PYTHON, decode=values.Documents(self.kind).line)
        if schema.text is None:
            return refusing("the schema's text is encrypted or too large")
        try:
            references = tuple(registry.references(schema))
            if schema.type == "AVRO":
                reader = _avro_reader(self.text, self.references)
                program = reader.program(schema.text, [reference.text for reference in references])
                return Decoder(WAY_AVRO, program)
            if schema.type == "PROTOBUF":
                found = _protobuf_reader(self.text, self.references, self.message)
                return Decoder(WAY_PYTHON, decode=found.decoder(schema.text, references))
        except (CorruptData, Unsupported) as error:
            return refusing(str(error))
        return refusing(f"the schema's type {schema.type[:100]!r} is none of AVRO, PROTOBUF and JSON")


@cache
def _avro_reader(text: str, references: References) -> ColumnSchema:
    return ColumnSchema(text, [reference.text for reference in references])


@cache
def _protobuf_reader(text: str, references: References, message: str) -> "ProtobufReader":
    try:
        from kafkafs.spark.typed.protobuf_typed import ProtobufReader
    except ImportError:
        raise Unsupported(f"decoding Protobuf takes {INSTALL}") from None
    return ProtobufReader(text, references, message)


One = tuple[RegisteredSchema, bytes, bytes | None]
Named = Iterable[One]
"""Keys or values in order, with the schemas that they name, and with what a header holds behind the id."""


def tables_of(registry: Registry, topic: str, field: Field, named: Named) -> Iterator[Table]:
    """The tables that a topic could have, by all versions of its subject, the newest first, deleted ones last."""
    first = next(iter(named), None)
    own = f"{topic}-{field}"
    subjects = {schema.subject for schema in registry if split_subject(schema.subject)[1] == own}
    if subjects:
        subject = min(subjects, key=lambda each: (split_subject(each)[0] != DEFAULT_CONTEXT, each))
    elif first is not None:
        subject = first[0].subject
    else:
        return
    versions = [schema for schema in registry if schema.subject == subject and schema.text is not None]
    for schema in sorted(versions, key=lambda each: (each.deleted or each.gone, -each.version)):
        yield _table(registry, schema, first)


def _table(registry: Registry, schema: RegisteredSchema, first: One | None) -> Table:
    try:
        references = () if schema.type == "JSON" else tuple(registry.references(schema))
        message = _message(registry, schema, references, first) if schema.type == "PROTOBUF" else ""
    except (CorruptData, Unsupported):
        return Table(schema.type, schema.subject, schema.version)
    return Table(schema.type, schema.subject, schema.version, schema.text or "", references, message)


def _message(
    registry: Registry,
    newest: RegisteredSchema,
    references: References,
    first: One | None,
) -> str:
    """The full name of the message that the first value is; of the text's first message where that is not to be had."""
    try:
        from kafkafs.format.schemas import protobuf
    except ImportError:
        raise Unsupported(f"decoding Protobuf takes {INSTALL}") from None
    assert newest.text is not None
    if first is not None and first[0].type == "PROTOBUF" and first[0].text is not None:
        schema, payload, header = first
        try:
            writer = protobuf.ProtobufSchema(first[0].text, registry.references(schema))
            return writer.message_of(payload, header)[0].DESCRIPTOR.full_name
        except CorruptData:
            pass
    return protobuf.ProtobufSchema(newest.text, references).message_of(b"\0", None)[0].DESCRIPTOR.full_name
