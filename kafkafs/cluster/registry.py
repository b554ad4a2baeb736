"""The schema registry as its topic `_schemas` has it: subjects, versions, ids, GUIDs, contexts, references.

Source: confluentinc/schema-registry, core/.../storage, SchemaValue, KafkaStoreMessageHandler; Karapace writes the same
with other orders of fields. A registry is a value: what `SchemaTopic` has read so far, and never changes.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeGuard

from kafkafs.errors import CorruptData
from kafkafs.format.native.layout import FIELD_HEADER_ID, FIELD_PREFIX_ID
from kafkafs.format.schemas.decoder_table import FoundSchema, SchemaName
from kafkafs.format.schemas.decoders import Decoder, known_decoder, refusing
from kafkafs.format.schemas.reference import Reference

DEFAULT_CONTEXT = "."
_MOST_REFERENCES = 500


class ReferenceTo(NamedTuple):
    """A reference of a schema to another schema, with the name that it uses for it."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """One version of a subject. `text` is None if it is encrypted or too large to be kept."""

    subject: str
    version: int
    id: int
    type: str
    text: str | None
    references: tuple[ReferenceTo, ...]
    guid: bytes
    deleted: bool
    offset: int
    """The offset of the first record that had this schema."""

    gone: bool = False
    """Deleted for good: the record that says so has come, and compaction has not yet been there."""

    @property
    def context(self) -> str:
        """The context that its id belongs to."""
        return split_subject(self.subject)[0]


def split_subject(subject: str) -> tuple[str, str]:
    """The context of a subject, and its name there: `:.ctx:name`; without a prefix it is the default one."""
    if subject.startswith(":."):
        context, colon, name = subject[1:].partition(":")
        if colon:
            return context, name
    return DEFAULT_CONTEXT, subject


def parse_schema_record(key: Mapping[str, object], value: Mapping[str, object], offset: int) -> RegisteredSchema:
    """The schema of a record with keytype SCHEMA. CorruptData if a field is missing or of another type."""
    subject, version, number = (value.get(name, key.get(name)) for name in ("subject", "version", "id"))
    text, kind = value.get("schema"), value.get("schemaType") or "AVRO"
    if not isinstance(subject, str) or not _is_int(version) or not _is_int(number):
        raise CorruptData("a schema's record has no subject, version or id")
    if not isinstance(text, str) or not isinstance(kind, str):
        raise CorruptData("a schema's record has no schema")
    text = _text(text)
    references = tuple(_references(value.get("references")))
    metadata = _mapping(value.get("metadata"))
    encrypted = "__enc__" in _mapping(metadata.get("properties"))
    return RegisteredSchema(
        _text(subject), version, number, _text(kind).upper(), None if encrypted else text, references,
        _schema_guid(value) or _guid(text, references, metadata), value.get("deleted") is True, offset,
    )  # fmt: skip


def _is_int(value: object) -> TypeGuard[int]:
    """True if Java takes it for an `int`."""
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 31) <= value < 1 << 31


def _text(text: str) -> str:
    """JSON may name half a character, which no file and no frame can hold; Java writes a question mark for it."""
    return text.encode("utf-8", "replace").decode()


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _references(listed: object) -> Iterator[ReferenceTo]:
    for one in listed if isinstance(listed, list) else []:
        name, subject, version = (_mapping(one).get(field) for field in ("name", "subject", "version"))
        if not isinstance(name, str) or not isinstance(subject, str) or not _is_int(version):
            raise CorruptData("a schema's record has a reference without a name, subject or version")
        yield ReferenceTo(_text(name), _text(subject), version)


def _schema_guid(value: Mapping[str, object]) -> bytes | None:
    """The 16 bytes by which newer clients name a schema, where newer registries noted them."""
    recorded = value.get("md5")
    if isinstance(recorded, str):
        with suppress(ValueError, binascii.Error):
            made = base64.b64decode(recorded, validate=True)
            return made if len(made) == 16 else None
    return None


def _guid(text: str, references: Iterable[ReferenceTo], metadata: Mapping[str, object]) -> bytes:
    """A schema's GUID as the registry makes it: a checksum over the text, the references and the metadata. (Over rules
    too, but who knows rules notes it.) Source: Schema.updateHash, Metadata.updateHash."""
    checksum = hashlib.md5(text.encode(), usedforsecurity=False)
    for reference in references:
        checksum.update(reference.name.encode() + reference.subject.encode())
        checksum.update((reference.version & 0xFFFFFFFF).to_bytes(4))
    if metadata:
        checksum.update(b"\1")
        for name in ("tags", "properties"):
            for key, tagged in sorted(_mapping(metadata.get(name)).items()):
                words = (
                    [tagged] if name == "properties" else sorted(map(str, tagged if isinstance(tagged, list) else []))
                )
                checksum.update(_text(key + "".join(map(str, words))).encode())
        sensitive = metadata.get("sensitive")
        for word in sorted(map(str, sensitive if isinstance(sensitive, list) else [])):
            checksum.update(_text(word).encode())
    return checksum.digest()


class Registry:
    """The schemas of the registry, by name, id and GUID."""

    def __init__(self, schemas: Iterable[RegisteredSchema] = ()) -> None:
        """If several texts have the same id in a context, the id means the first one."""
        self._versions: dict[tuple[str, int], RegisteredSchema] = {}
        self._by_id: dict[int, list[RegisteredSchema]] = {}
        self._by_guid: dict[bytes, list[RegisteredSchema]] = {}
        for schema in sorted(schemas, key=lambda schema: schema.offset):
            self._versions[schema.subject, schema.version] = schema
            self._by_id.setdefault(schema.id, []).append(schema)
            self._by_guid.setdefault(schema.guid, []).append(schema)

    def __iter__(self) -> Iterator[RegisteredSchema]:
        """All versions, by subject and version."""
        return iter(sorted(self._versions.values(), key=lambda schema: (schema.subject, schema.version)))

    def __len__(self) -> int:
        """How many versions there are."""
        return len(self._versions)

    def find(self, name: SchemaName, topic: str, field: str) -> RegisteredSchema | None:
        """The schema that a record of `topic` names; of several, the one of the topic's own subject, then of the
        default context, then what is not deleted."""
        if name.kind in (FIELD_PREFIX_ID, FIELD_HEADER_ID):
            found = self._by_id.get(name.number, [])
        else:
            found = self._by_guid.get(name.guid or b"", [])
        if not found:
            return None
        own = f"{topic}-{field}"

        def rank(schema: RegisteredSchema) -> tuple[bool, bool, bool, bool, str, int]:
            """Least for the one that is meant: where all else is alike, for the newest version."""
            context, subject = split_subject(schema.subject)
            return (
                subject != own, context != DEFAULT_CONTEXT, schema.gone, schema.deleted, schema.subject, -schema.version
            )  # fmt: skip

        chosen = min(found, key=rank)
        if name.guid is not None:
            return chosen
        meant = next(schema for schema in found if schema.context == chosen.context)
        return replace(chosen, type=meant.type, text=meant.text, references=meant.references)

    def found(self, name: SchemaName, topic: str, is_key: bool) -> FoundSchema | None:
        """The schema that a record names (see `find`), with its decoder, for a `DecoderTable`."""
        schema = self.find(name, topic, "key" if is_key else "value")
        if schema is None:
            return None
        return FoundSchema(self.decoder(schema), schema.id, schema.subject, schema.version, schema.type)

    def decoder(self, schema: RegisteredSchema) -> Decoder:
        """The decoder of payloads of a schema."""
        if schema.type == "JSON":  # JSON payloads need neither their schema nor its references
            return known_decoder(schema.type, "")
        if schema.text is None:
            return refusing("the schema's text is encrypted or too large")
        try:
            references = tuple(self.references(schema))
        except CorruptData as error:
            return refusing(str(error))
        return known_decoder(schema.type, schema.text, references)

    def references(self, schema: RegisteredSchema) -> list[Reference]:
        """The schemas that one uses, each behind those that it uses itself. CorruptData if one is missing."""
        found: dict[str, Reference] = {}
        open_: set[tuple[str, int]] = set()

        def add(user: RegisteredSchema) -> None:
            """Puts what a schema refers to into `found`, first what that refers to itself."""
            for reference in user.references:
                if reference.name in found:
                    continue
                used = self._used(user, reference)
                if used is None or used.text is None:
                    raise CorruptData(
                        f"it refers to {reference.subject[:200]!r} version {reference.version}, not found"
                    )
                place = (used.subject, used.version)
                if place in open_ or len(open_) > 50 or len(found) >= _MOST_REFERENCES:
                    raise CorruptData("its references lead in a circle, or are too many")
                open_.add(place)
                add(used)
                open_.discard(place)
                found[reference.name] = Reference(reference.name, used.text)

        add(schema)
        return list(found.values())

    def _used(self, user: RegisteredSchema, reference: ReferenceTo) -> RegisteredSchema | None:
        """The meaning of a reference: a subject of the user's own context, unless it names another context. The version
        -1 is the newest."""
        subject = reference.subject
        if not subject.startswith(":.") and user.context != DEFAULT_CONTEXT:
            subject = f":{user.context}:{subject}"
        if reference.version >= 0:
            return self._versions.get((subject, reference.version))
        versions = [schema for (name, _), schema in self._versions.items() if name == subject and not schema.deleted]
        return max(versions, key=lambda schema: schema.version, default=None)
