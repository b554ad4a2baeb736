"""The registry as a value: what its records say, and what a stranger's say."""

import base64
import hashlib
import json
from typing import Any

import pytest

from kafkafs.cluster.registry import RegisteredSchema, Registry, parse_schema_record
from kafkafs.errors import CorruptData
from kafkafs.format.native.layout import FIELD_HEADER_GUID, FIELD_HEADER_ID, FIELD_PREFIX_ID
from kafkafs.format.schemas.decoder_table import SchemaName
from kafkafs.view.cluster_directory import schema_lines, schema_texts


def schema(subject: str, version: Any, number: Any, text: str = '"int"', **more: Any) -> RegisteredSchema:
    """A schema, at the offset that its id is."""
    value = {"subject": subject, "version": version, "id": number, "schema": text, **more}
    return parse_schema_record(value, value, number)


def md5(*parts: bytes) -> bytes:
    return hashlib.md5(b"".join(parts)).digest()


GUIDS: list[tuple[dict[str, Any], bytes]] = [
    ({}, md5(b'"int"')),
    ({"md5": base64.b64encode(bytes(16)).decode()}, bytes(16)),
    ({"md5": "no base64"}, md5(b'"int"')),
    ({"references": [{"name": "a", "subject": "s", "version": -1}, {"name": "b", "subject": "u", "version": 258}]},
     md5(b'"int"', b"as\xff\xff\xff\xff", b"bu\0\0\1\2")),
    ({"metadata": {"properties": {"z": "1", "a": "2"}, "tags": {"t": ["y", "x"]}, "sensitive": ["s", "r"]}},
     md5(b'"int"', b"\1", b"txy", b"a2z1", b"rs")),
]  # fmt: skip


@pytest.mark.parametrize(("more", "guid"), GUIDS)
def test_a_guid_is_made_as_the_registry_makes_it(more: dict[str, Any], guid: bytes) -> None:
    """Newer clients name a schema by nothing else."""
    found = schema("t-value", 1, 5, **more)
    assert found.guid == guid
    halves = [int.from_bytes(half, signed=True) for half in (guid[:8], guid[8:])]
    assert Registry([found]).find(SchemaName(FIELD_HEADER_GUID, *halves), "t", "value") == found


NONE = [
    ("s", 1, 1 << 31),
    ("s", 1 << 40, 1),
    ("s", True, 1),
    ("s", 1, 1.0),
    ("s", 1, None),
    (None, 1, 1),
    ("s", "1", 1),
]


@pytest.mark.parametrize(("subject", "version", "number"), NONE)
def test_numbers_that_are_none_of_a_registrys_are_refused(subject: Any, version: Any, number: Any) -> None:
    """Regression: an id of seventy bits became a file's name, and no frame could hold it."""
    value = {"subject": subject, "version": version, "id": number, "schema": '"int"'}
    with pytest.raises(CorruptData, match="subject, version or id"):
        parse_schema_record(value, value, 0)


def test_half_a_character_ends_nothing() -> None:
    """Regression: a schema's file could not be read, as no UTF-8 holds it."""
    half = "\ud800"
    registry = Registry(
        [schema(f"a{half}", 1, 1, f'"{half}"'), schema("b", 1, 2, schemaType=f"X{half}"),
         schema("c", 1, 3, references=[{"name": half, "subject": half, "version": 1}])]
    )  # fmt: skip
    assert [json.loads(line)["subject"] for line in schema_lines(registry)] == ["a?", "b", "c"]
    assert schema_texts(registry)["1.avsc"].encode() == b'"?"'
    for number in (1, 2, 3):
        found = registry.found(SchemaName(FIELD_PREFIX_ID, number, 0), "t", False)
        assert found is not None
        assert found.tail("value").decode()
        assert found.decoder.refusal.encode()


def test_json_needs_no_schema_to_be_read() -> None:
    """A `$ref` to a subject that is gone, or a text that is encrypted, is nothing to whoever reads JSON text."""
    missing = [{"name": "x.json", "subject": "gone", "version": 1}]
    encrypted = {"properties": {"__enc__": "true"}}
    for more in ({"references": missing}, {"metadata": encrypted}):
        found = Registry([schema("t-value", 1, 1, "{}", schemaType="JSON", **more)]).found(
            SchemaName(FIELD_HEADER_ID, 1, 0), "t", False
        )
        assert found is not None
        assert found.decoder.refusal == ""
        refused = Registry([schema("t-value", 1, 1, **more)]).found(SchemaName(FIELD_HEADER_ID, 1, 0), "t", False)
        assert refused is not None
        assert refused.decoder.refusal


def test_of_several_subjects_the_topics_own_counts_then_the_default_context() -> None:
    def reported(topic: str, field: str, *found: RegisteredSchema) -> tuple[str, int]:
        chosen = Registry(found).find(SchemaName(FIELD_PREFIX_ID, 7, 0), topic, field)
        assert chosen is not None
        return chosen.subject, chosen.version

    own, key, other = schema("t-value", 1, 7), schema("t-key", 1, 7), schema("a", 3, 7)
    away, own_away = schema(":.x:a", 1, 7), schema(":.x:t-value", 1, 7)
    assert reported("t", "value", other, key, own, away, own_away) == ("t-value", 1)
    assert reported("t", "key", other, key, own, away, own_away) == ("t-key", 1)
    assert reported("u", "value", away, own_away, other) == ("a", 3)
    assert reported("t", "value", away, own_away, other) == (":.x:t-value", 1)
    assert reported("u", "value", schema("b", 1, 7), schema("c", 1, 7, deleted=True), schema("d", 1, 7)) == ("b", 1)
    assert reported("u", "value", schema("b", 1, 7, deleted=True), schema("c", 1, 7)) == ("c", 1)
    assert reported("u", "value", schema("b", 1, 7), schema("b", 2, 7)) == ("b", 2)


def test_an_id_is_another_schema_in_another_context() -> None:
    registry = Registry([schema(":.x:t-value", 1, 7, '"string"'), schema("a", 1, 7), schema("b", 1, 7, '"long"')])
    chosen = {topic: registry.find(SchemaName(FIELD_PREFIX_ID, 7, 0), topic, "value") for topic in ("t", "a", "b")}
    assert {topic: found.text for topic, found in chosen.items() if found is not None} == {
        "t": '"string"', "a": '"int"', "b": '"int"',  # the first registration of an id is what it means
    }  # fmt: skip
