"""Records to decoded lines: chunk by chunk, whatever decodes them, and however large what comes of it is."""

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafkafs.errors import BatchMemoryFull, CorruptData
from kafkafs.format.decoding import DecodedLines
from kafkafs.format.memory import MemoryBudget
from kafkafs.format.native.layout import WAY_PYTHON
from kafkafs.format.schemas.decoder_table import DecoderTable, FoundSchema, SchemaName
from kafkafs.format.schemas.decoders import Decoder, make_decoder
from tests.format.decoded import records_of, table_of
from tests.format.schemas.avro_drawn import encoded

AVRO, JSON, PYTHON = 1, 2, 3
"""Ids of the schemas that there are: a record of Avro, JSON, and what only Python decodes."""
SCHEMA = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}, {"name": "n", "type": "double"}]}


def by_python(payload: bytes, _: bytes | None) -> bytes:
    """A payload of digits is a text so large; others are none."""
    if not payload.isdigit():
        raise CorruptData("it is no number")
    return json.dumps("p" * int(payload)).encode()


def decoders() -> DecoderTable:
    made = {AVRO: make_decoder("AVRO", json.dumps(SCHEMA)), JSON: make_decoder("JSON", "{}"),
            PYTHON: Decoder(WAY_PYTHON, decode=by_python)}  # fmt: skip
    found = {number: FoundSchema(one, number, f"s{number}", 1, "ANY") for number, one in made.items()}
    return DecoderTable(
        lambda name, _: found.get(name.number) if name == SchemaName(name.kind, name.number, 0) else None
    )


def payload(number: int, content: bytes) -> bytes:
    return b"\0" + number.to_bytes(4) + content


def avro(text: str, number: float = 0.5) -> bytes:
    return payload(AVRO, encoded(SCHEMA, {"a": text, "n": number}))


def lines(*values: bytes | None, made_by: DecodedLines | None = None) -> list[dict[str, Any]]:
    pieces = (made_by or DecodedLines("t", 0, decoders())).pieces(records_of(*values))
    return [json.loads(line) for line in b"".join(map(bytes, pieces)).splitlines()]


def reported(line: dict[str, Any]) -> dict[str, Any]:
    """Of a line what is not the place of its record."""
    return {name: content for name, content in line.items() if name not in ("offset", "timestamp")}


TEXTS = st.text(max_size=20)
VALUES = st.one_of(
    st.none(), st.binary(max_size=12), TEXTS.map(str.encode), st.builds(avro, TEXTS, st.floats(width=32)),
    st.binary(max_size=12).map(lambda data: payload(AVRO, data)),
    st.recursive(TEXTS | st.integers(), st.lists).map(lambda made: payload(JSON, json.dumps(made).encode())),
    st.integers(0, 50).map(lambda size: payload(PYTHON, b"%d" % size)),
    st.sampled_from([payload(PYTHON, b"-"), payload(JSON, b"{"), payload(9, b"unknown")]),
)  # fmt: skip


@given(st.lists(VALUES, min_size=1, max_size=12), st.sampled_from([1, 2, 3, 1024]))
def test_a_record_is_the_same_line_among_others_as_alone(values, chunk):
    """Whatever decodes its neighbours, and wherever a chunk ends."""
    among = lines(*values, made_by=DecodedLines("t", 0, decoders(), chunk=chunk))
    assert [line["offset"] for line in among] == list(range(len(values)))
    assert [reported(line) for line in among] == [reported(line) for value in values for line in lines(value)]


@given(st.lists(VALUES, min_size=1, max_size=12))
@example([b"null", b'"a"', b" 1 ", b" null", b' "a"\n', b"\xff", payload(JSON, b"null")])
def test_fields_are_what_the_lines_show(values):
    """JSON text, of a string what it says, null, or the bytes as they are where they are no JSON."""
    fields = list(DecodedLines("t", 0, decoders()).fields(records_of(*values)))
    for (key, field), line, value in zip(fields, lines(*values), values, strict=True):
        assert key is None
        shown = line.get("value")
        if "valueBase64" in line or "valueError" in line:
            assert field == value
        elif shown is None:
            assert field is None
        elif isinstance(shown, str):
            assert field == shown.encode("utf-8", "surrogatepass")
        else:
            assert field is not None
            assert json.dumps(json.loads(field)) == json.dumps(shown)


@pytest.mark.parametrize("count", [1, 1023, 1024, 1025, 2500])
def test_any_number_of_records_comes_whole(count):
    assert [line["value"]["a"] for line in lines(*(avro(str(at)) for at in range(count)))] == [
        str(at) for at in range(count)
    ]


SIZES = [5, 900_000, 0, 3_000_000, 1, 2_000_000, 2_097_152, 10, 700_000, 700_000, 700_000]


@pytest.mark.parametrize("number", [AVRO, JSON, PYTHON])
def test_large_texts_come_whole_and_in_order(number):
    """Larger than any buffer, one behind the other: each as if it were small."""
    make = {AVRO: lambda size: avro("p" * size), JSON: lambda size: payload(JSON, json.dumps("p" * size).encode()),
            PYTHON: lambda size: payload(PYTHON, b"%d" % size)}[number]  # fmt: skip
    found = [line["value"] for line in lines(*map(make, SIZES))]
    assert [len(value["a"] if number == AVRO else value) for value in found] == SIZES


def test_a_large_text_takes_its_room_from_the_memory_that_all_share():
    """Who gets none is told to ask again, and the same lines then come whole."""
    memory = MemoryBudget(256 << 20)
    mine = DecodedLines("t", 0, decoders(), memory)
    held = [memory.take(256 << 20)]
    with pytest.raises(BatchMemoryFull):
        lines(avro("p" * 3_000_000), made_by=mine)
    held.clear()
    assert len(lines(avro("p" * 3_000_000), made_by=mine)[0]["value"]["a"]) == 3_000_000
    assert memory.taken == 0


def test_the_first_piece_is_written_into_the_room_that_is_given():
    """A reader that has a buffer needs no copy."""
    room = np.zeros(1 << 16, np.uint8)
    first, *rest = DecodedLines("t", 0, decoders()).pieces(records_of(avro("x")), room)
    assert np.shares_memory(np.frombuffer(first, np.uint8), room)
    assert rest == []


CONTROLS = st.text(st.characters(max_codepoint=0xA0), max_size=5)
SPACE = st.text(" \t\r\n", max_size=3)


@given(st.lists(SPACE, min_size=8, max_size=8), CONTROLS, CONTROLS)
def test_no_control_character_comes_out(space: list[str], name: str, value: str) -> None:
    """Regression: a tab between two values came out as it was; a terminal and tools for columns obey it."""
    field, text = (json.dumps(each, ensure_ascii=False) for each in (name, value))
    written = "".join(a + b for a, b in zip(space, ["{", field, ":", "[", text, "]", "}", ""], strict=True))
    enum = {"type": "enum", "name": "E", "symbols": [value]}
    avro = {"type": "record", "name": "R", "fields": [{"name": name, "type": enum}]}
    for kind, schema, payload, shown in (
        ("JSON", "{}", written.encode(), {name: [value]}),
        ("AVRO", json.dumps(avro), b"\0", {name: value}),
        ("AVRO", json.dumps("string"), bytes([2 * len(value.encode())]) + value.encode(), value),
    ):
        decoders = table_of(make_decoder(kind, schema))
        for records in (records_of(b"\0\0\0\0\1" + payload), records_of(payload)):
            line = b"".join(map(bytes, DecodedLines("t", 0, decoders).pieces(records))).decode()
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", line)
            assert line.index("\n") == len(line) - 1
            if "valueSchema" in line:
                assert json.loads(line)["value"] == shown


def test_secrets_stay_hidden_where_a_record_cannot_be_read() -> None:
    """Of the cluster's metadata no bytes are shown that may hold a password."""
    lines = DecodedLines("__cluster_metadata", 0, DecoderTable(lambda *_: None))
    line = json.loads(b"".join(lines.pieces(records_of(b"\1\xff\xffsecret"))))
    assert line["value"] is None
    assert "secret" not in str(line)
    assert line["valueError"]
