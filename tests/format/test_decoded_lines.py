"""`.decoded.jsonl`: keys and values with their schemas, over what a real broker wrote."""

import json
from pathlib import Path
from typing import Any

import pytest

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
    reported = json.loads(line)
    assert list(reported)[:5] == list(AROUND[:5])
    assert list(reported)[-1] == "headers"
    shown = {name: content for name, content in reported.items() if name not in AROUND}
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


def test_plain_lines_are_as_they_were(data: Path) -> None:
    line: dict[str, Any] = json.loads(cat(tree(data), "orders-0/by-offset/0.jsonl"))
    assert list(line) == [*AROUND[:5], "keyBase64" if "keyBase64" in line else "key", "value", "headers"]


@pytest.mark.parametrize("topic", ["__cluster_metadata", "__consumer_offsets", "__transaction_state"])
def test_kafkas_own_topics_are_shown_as_the_dump_prints_them(topic: str, stopped: Dataset) -> None:
    """What a group committed is to be read, not base64 of it."""
    root = tree(stopped.path)
    partitions = [name for name in (entry.name for entry in root.entries()) if name.rpartition("-")[0] == topic]
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
