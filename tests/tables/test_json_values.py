"""JSON values as columns: one type for all, and what does not fit it keeps its bytes."""

import json
from functools import reduce
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafkafs.tables.typed import json_values
from kafkafs.tables.typed.json_values import JsonColumn, all_parsed, kind_of, kind_of_values, merged, parsed

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


MARK = json_values._MARK
ODD = [
    b'{"a":1', b"{}}", b"{},{}", b'{"a":[{}', b"{}]}", b'{},%d,{}' % MARK, b'{"a":%d}' % MARK, b'{"a":"%d"}' % MARK,
    b"{},7.34918250617395283e17,{}", b'{},"\\u0037",{}', b'{"a":"\\ud800"}', b'{"a":"\\ud83d\\ude00"}', b'{"a":"\xff"}',
    b"null", b"[1]", b" {}", b"{} ", b'\xef\xbb\xbf{"a":1}', b"{\0}\0", '{"a":1}'.encode("utf-16"), b"", b"1", b"{",
    '{"a":"\u2028"}'.encode(), '{"a":1}'.encode("utf-16-le"), '{"a":1}'.encode("utf-32"), b'{"a":NaN,"b":-Infinity}',
    b'{"a":1,"a":"x"}', b'{"a":{"b":1},"a":{}}', b'{"a":1e400}', b'{"a":-0}', b'{"a":1' + b"0" * 307 + b"}",
    b'{"a":1' + b"0" * 308 + b"}", b'{"a":1' + b"0" * 400 + b"}", b'{"a":' + b"9" * 5000 + b"}",
    b'{"a":"' + b"9" * 400 + b'"}', b'{"a":' + b"[" * 99 + b"]" * 99 + b"}", b'{"a":' + b"[" * 100 + b"]" * 100 + b"}",
    b'{"a":"' + b"[" * 200 + b'"}', b'{"a":' * 5000 + b"1" + b"}" * 5000, b'{"a":\n1}', b'{"a":"\n"}', b"{}}null{}",
]  # fmt: skip
DRAWN = st.one_of(st.none(), OBJECTS, st.sampled_from(ODD), st.binary(max_size=4).map(b'{"a":'.__add__))


def checked(values: list[bytes | None]) -> None:
    """By lists as by one at a time, and so the type."""
    one_by_one = [parsed(value) for value in values]
    assert repr(all_parsed(values)) == repr(one_by_one), values
    assert kind_of_values(values) == reduce(merged, (kind_of(each) for each in one_by_one if each is not None), None)


@given(st.lists(DRAWN, max_size=6))
@example([b'{"a":[{}', b"{}]}", b"{},%d,{}" % MARK])
@example([b'{"a":9223372036854775808}', b'{"a":9223372036854775809}', b'{"a":null}', b'{"a":1.5}'])
def test_many_values_at_once_are_what_they_are_one_at_a_time(values):
    checked(values)


def test_no_two_odd_values_join_into_others():
    """Each beside each, in both orders, with sound ones around them."""
    for one, other in product(ODD, ODD):
        checked([b'{"a":1}', one, other, b'{"a":2}'])


def test_values_are_parsed_in_lists_of_bounded_length(monkeypatch):
    monkeypatch.setattr(json_values, "_MANY", 3)
    values = [b'{"a":%d}' % number for number in range(10)]
    assert all_parsed(values) == [{"a": number} for number in range(10)]
