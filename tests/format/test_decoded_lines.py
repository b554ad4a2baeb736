"""`.decoded.jsonl`: keys and values with their schemas, over what a real broker wrote."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkafs.format.decoding import DecodedLines
from kafkafs.format.schemas.decoder_table import DecoderTable
from kafkafs.format.schemas.decoders import make_decoder
from tests.format.decoded import records_of, table_of
from tests.kafka import registered
from tests.kafka.dataset import Dataset
from tests.kafka.registered import Case
from tests.view.trees import cat, tree

AROUND = ("topic", "partition", "offset", "timestamp", "timestampType", "headers")
CASES = registered.cases()


@pytest.fixture(scope="module")
def data() -> Path:
    return registered.data()


@pytest.fixture(scope="module")
def lines(data: Path) -> dict[str, list[str]]:
    """The decoded lines of each topic."""
    root = tree(data)
    return {
        topic: cat(root, f"{topic}-0/by-offset/0...decoded.jsonl").decode().splitlines()
        for topic in {case.topic for case in CASES}
    }


def _matches(case: Case, line: str) -> None:
    told = json.loads(line)
    assert list(told)[:5] == list(AROUND[:5])
    assert list(told)[-1] == "headers"
    shown = {name: content for name, content in told.items() if name not in AROUND}
    assert list(shown) == list(case.shown), "the fields, in their order"
    for name, content in shown.items():
        if name.endswith("Error"):
            assert case.shown[name] in content
        else:
            assert content == case.shown[name], name


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_record_is_shown_with_its_schema(number: int, lines: dict[str, list[str]]) -> None:
    """Most production topics hold such payloads, and no payload may be lost, changed or end the range."""
    case = CASES[number]
    before = [each for each in CASES[:number] if each.topic == case.topic]
    _matches(case, lines[case.topic][len(before)])


def test_no_record_is_lost(lines: dict[str, list[str]]) -> None:
    assert sum(map(len, lines.values())) == len(CASES)


def test_a_point_is_the_same_line(data: Path, lines: dict[str, list[str]]) -> None:
    root = tree(data)
    for topic, expected in lines.items():
        for offset, line in enumerate(expected):
            assert cat(root, f"{topic}-0/by-offset/{offset}.decoded.jsonl").decode() == line + "\n"
            time = json.loads(line)["timestamp"]
            assert cat(root, f"{topic}-0/by-time/{time}...decoded.jsonl").decode().splitlines()[0] == expected[0]


def test_json_text_stands_as_it_is(data: Path) -> None:
    """A number too large for any reader, and a key that stands there twice, are what was written."""
    text = cat(tree(data), "documents-0/by-offset/1.decoded.jsonl").decode()
    assert '"value":{"big":123456789012345678901234567890,  "a":1,"a":2},"headers"' in text


CONTROLS = st.text(st.characters(max_codepoint=0xA0), max_size=5)
SPACE = st.text(" \t\r\n", max_size=3)


@settings(max_examples=200, deadline=None)
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


def test_plain_lines_are_as_they_were(data: Path) -> None:
    line: dict[str, Any] = json.loads(cat(tree(data), "orders-0/by-offset/0.jsonl"))
    assert list(line) == [*AROUND[:5], "keyBase64" if "keyBase64" in line else "key", "value", "headers"]


@pytest.mark.parametrize("topic", ["__cluster_metadata", "__consumer_offsets", "__transaction_state"])
def test_kafkas_own_topics_are_shown_as_the_dump_prints_them(topic: str, stopped: Dataset) -> None:
    """What a group committed is to be read, not base64 of it."""
    root = tree(stopped.path)
    partitions = [name for name in root._names() if name.rpartition("-")[0] == topic]
    lines = [
        json.loads(line)
        for name in partitions
        for line in cat(root, f"{name}/by-offset/0...decoded.jsonl").splitlines()
    ]
    raw = [json.loads(line) for name in partitions for line in cat(root, f"{name}/by-offset/0...jsonl").splitlines()]
    assert [line["offset"] for line in lines] == [line["offset"] for line in raw]
    for line in lines:
        assert {"keyError", "valueError"}.isdisjoint(line)
        for field in ("key", "value"):
            assert line[field] is None or {"data"} < set(line[field])
    assert lines or stopped.release == "2.8.0" or topic == "__cluster_metadata"


def test_secrets_stay_hidden_where_a_record_cannot_be_read() -> None:
    """Of the cluster's metadata no bytes are shown that may hold a password."""
    cells = DecodedLines("__cluster_metadata", 0, DecoderTable(lambda *_: None))
    line = json.loads(b"".join(cells.pieces(records_of(b"\1\xff\xffsecret"))))
    assert line["value"] is None
    assert "secret" not in str(line)
    assert line["valueError"]
