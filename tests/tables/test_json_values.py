"""JSON values as columns: one type for all, and what does not fit it keeps its bytes."""

import json

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafkafs.tables.typed.json_values import JsonColumn, kind_of_values

NAMES = st.sampled_from("abc")
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([2**63, 1.5, "x", {}, []]))
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2))
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=2).map(lambda each: json.dumps(each).encode())


@pytest.mark.parametrize(
    "value",
    [b'{"a":"\\ud800"}', b'{"\\uDFFF":1}', b'{"a":1' + b"0" * 400 + b"}", b'{"a":"\xed\xa0\x80"}',
     b'{"a":' + b"[" * 900 + b"]" * 900 + b"}", b'{"a":' * 300 + b"1" + b"}" * 300],
)  # fmt: skip
def test_an_object_that_columns_cannot_hold_keeps_its_bytes(value):
    """Regression: one such value ended the whole export with an error of Python's."""
    told = [b'{"a":1}', value, b'{"a":"\\ud83d\\ude00"}']
    kind = kind_of_values(told)
    objects, others = json_columns(kind, told)
    assert objects == [{"a": "1"}, None, {"a": "\U0001f600"}]
    assert others == [None, value, None]


def test_types_of_json_meet():
    documents = [
        {"a": 1, "b": [1, 2.5], "c": {"x": None, "y": "s"}, "d": True, "e": [], "big": 2**70},
        {"a": 2.5, "b": [], "c": {"x": 7}, "d": "yes", "f": {}},
        {"a": None, "c": {"y": {"deep": 1}}},
    ]
    kind = kind_of_values([json.dumps(each).encode() for each in documents] + [b"no json", b"[1]", None])
    objects, others = json_columns(kind, [*(json.dumps(each).encode() for each in documents), b"\xff", None])
    assert objects == [
        {"a": 1.0, "b": [1.0, 2.5], "big": 2.0**70, "c": {"x": None, "y": "s"}, "d": "true", "e": [],
         "f": None},
        {"a": 2.5, "b": [], "big": None, "c": {"x": 7, "y": None}, "d": "yes", "e": None, "f": "{}"},
        {"a": None, "b": None, "big": None, "c": {"x": None, "y": '{"deep":1}'}, "d": None, "e": None, "f": None},
        None,
        None,
    ]  # fmt: skip
    assert others == [None, None, None, b"\xff", None]


def json_columns(kind, told):
    """The two columns that these values become."""
    (made,) = JsonColumn("value", kind).parts([], pa.array(told, pa.binary()))
    return [column.to_pylist() for column in made]


def by_one_type(*told: bytes) -> list[tuple[object, bytes | None]]:
    """Values beside what of them stays bytes, where these are all that a topic has."""
    return list(zip(*json_columns(kind_of_values(told), told), strict=True))


@given(st.lists(OBJECTS, max_size=2), OBJECTS)
@example([b'{"a":1}'], b'{"a":9223372036854775808}')
@example([b'{"a":1}'], b'{"a":true}')
@example([b'{"a":{}}'], b'{"a":{"b":1}}')
@example([b'{"a":null}'], b'{"a":"x"}')
def test_a_later_object_fits_where_it_changes_nothing_of_the_type(before, later):
    kind = kind_of_values(before)
    objects, others = json_columns(kind, [later])
    assert others == ([None] if kind_of_values([*before, later]) == kind else [later])
    assert (objects == [None]) == (others == [later])


def test_no_whole_number_of_json_becomes_another():
    """Regression: 9007199254740993 beside a 1.5, and any beyond 64 bits, came out as the double next to it."""
    large, huge = b'{"a":9007199254740993}', b'{"a":12345678901234567891}'
    assert by_one_type(large, b'{"a":1}') == [({"a": 2**53 + 1}, None), ({"a": 1}, None)]
    assert by_one_type(large, b'{"a":1.5}') == [(None, large), ({"a": 1.5}, None)]
    assert by_one_type(huge, b'{"a":1}') == [({"a": "12345678901234567891"}, None), ({"a": "1"}, None)]
