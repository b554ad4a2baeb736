"""The door to all decoders: what it says where there is none."""

import sys

import pytest

from kafkafs.format.schemas.decoders import make_decoder

PROTO = 'syntax = "proto3"; message A { int32 x = 1; }'


def test_without_the_extra_a_sentence_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever meets it wants to read their data, not to learn how packages are built."""
    for name in [name for name in sys.modules if name.startswith("kafkafs.format.schemas.protobuf")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "proto_schema_parser", None)
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    assert "pip install 'kafkafs[schemas]'" in make_decoder("PROTOBUF", PROTO).refusal
    assert make_decoder("AVRO", '"long"').refusal == make_decoder("JSON", "{}").refusal == ""


@pytest.mark.parametrize(("kind", "text"), [("PROTOBUF", "message {"), ("AVRO", "{"), ("XML", "<a/>")])
def test_a_schema_that_is_none_refuses(kind: str, text: str) -> None:
    assert "schema" in make_decoder(kind, text).refusal
