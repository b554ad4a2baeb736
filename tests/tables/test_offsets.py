"""Offsets as Spark's connector writes them, there and back, and what is none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import UsageError
from kafkafs.tables.offsets import (
    TopicPartition,
    from_dict,
    names,
    parse_offsets,
    parse_partitions,
    parse_timestamps,
    to_dict,
)

_places = st.builds(TopicPartition, st.text(min_size=1, max_size=4), st.integers(0, 2**31 - 1))
_offsets = st.dictionaries(_places, st.integers(-2, 2**63 - 1), max_size=8)


@given(_offsets)
def test_offsets_come_back_as_they_were(offsets):
    """A checkpoint of a stream is this text: what it loses is read twice or never."""
    text = json.dumps(to_dict(offsets))
    assert parse_offsets(text) == parse_timestamps(text) == from_dict(json.loads(text)) == offsets


@given(_offsets)
def test_equal_offsets_are_the_same_text(offsets):
    """Spark compares the texts to see whether anything has come."""
    backwards = dict(reversed(offsets.items()))
    assert json.dumps(to_dict(offsets)) == json.dumps(to_dict(backwards))
    assert [
        TopicPartition(topic, int(number)) for topic, reported in to_dict(offsets).items() for number in reported
    ] == sorted(offsets)


def test_partitions_are_named_in_the_order_given():
    assert parse_partitions('{"b":[2,0],"a":[1]}') == (("b", 2), ("b", 0), ("a", 1))
    assert parse_partitions("{}") == ()


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"t":0}', '{"t":["0"]}', '{"t":[true]}', '{"t":[0.5]}'])
def test_what_names_no_partitions_is_refused(text):
    with pytest.raises(UsageError, match="expected e"):
        parse_partitions(text)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"t":[0]}', '{"t":{"0":"1"}}', '{"t":{"0":true}}', '{"t":{"0":1.5}}', '{"t":{"0":null}}',
     '{"t":{"x":1}}', '{"t":{"-1":1}}', '{"t":{"":1}}', '{"t":{"\u0663":1}}'],
)  # fmt: skip
@pytest.mark.parametrize("parse", [parse_offsets, parse_timestamps])
def test_what_names_no_offsets_is_refused(text, parse):
    with pytest.raises(UsageError, match="expected e"):
        parse(text)


@given(st.lists(_places, unique=True, max_size=20))
def test_a_message_names_a_few_and_counts_the_rest(places):
    """A sentence about ten thousand partitions is no sentence."""
    shown, _, more = names(places).partition(" and ")
    first = [str(place) for place in sorted(places)[:8]]
    if "," not in "".join(first) and "and" not in "".join(first):
        assert shown.split(", ") == (first or ["none"])
        assert more == (f"{len(places) - 8} more" if len(places) > 8 else "")
