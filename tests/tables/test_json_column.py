"""JSON values as columns: one type for all, and what does not fit it keeps its bytes."""

import json

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafkafs.errors import CorruptData
from kafkafs.tables.typed import json_column
from kafkafs.tables.typed.json_column import JsonColumn
from kafkafs.tables.typed.json_parser import parsed
from kafkafs.tables.typed.json_values import converter, kind_of_values
from tests.tables.test_json_shapes import records
from tests.tables.test_json_values import DRAWN, OBJECTS, ODD


@pytest.mark.parametrize(
    "value",
    [b'{"a":"\\ud800"}', b'{"\\uDFFF":1}', b'{"a":1' + b"0" * 400 + b"}", b'{"a":"\xed\xa0\x80"}',
     b'{"a":' + b"[" * 900 + b"]" * 900 + b"}", b'{"a":' * 300 + b"1" + b"}" * 300],
)  # fmt: skip
def test_an_object_that_columns_cannot_hold_keeps_its_bytes(value):
    """Regression: one such value ended the whole export with an error of Python's."""
    reported = [b'{"a":1}', value, b'{"a":"\\ud83d\\ude00"}']
    kind = kind_of_values(reported)
    objects, others = json_columns(kind, reported)
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


def json_columns(kind, reported):
    """The two columns that these values become."""
    column = JsonColumn("value", kind)
    (made,) = column.parts([records(reported, "value")], pa.array(reported, pa.binary()))
    for array, field in zip(made, column.fields, strict=True):
        array.validate(full=True)
        assert array.type == field.type
    return [array.to_pylist() for array in made]


def one_by_one(kind, reported):
    """The same by Python's parser, a value at a time."""
    (field, _), convert = JsonColumn("value", kind).fields, converter(kind)
    objects, others = [], []
    for value in reported:
        document = None if value is None else parsed(value)
        try:
            objects.append(None if document is None else convert(document))
            others.append(value if document is None else None)
        except CorruptData:
            objects.append(None)
            others.append(value)
    return [pa.array(objects, field.type).to_pylist(), others]


def is_checked(before, reported):
    kind = kind_of_values(before)
    assert repr(json_columns(kind, reported)) == repr(one_by_one(kind, reported)), (before, reported)


@given(st.lists(DRAWN, max_size=4), st.lists(DRAWN, max_size=6))
@example([b'{"a":1.5}'], [b'{"a":9007199254740994}', b'{"a":9007199254740993}', b'{"a":-0}', b'{"a":[]}'])
@example([b'{"a":[{"b":1.5}]}'], [b'{"a":[{"b":9007199254740994},null]}', b'{"a":[{"b":1,"b":2}]}', b'{"a":[{"c":1}]}'])
def test_columns_are_those_of_one_value_at_a_time(before, reported):
    is_checked(before, reported)
    is_checked([*before, *reported], reported)


def test_no_odd_value_changes_others():
    for odd in ODD:
        is_checked([b'{"a":1.5}', odd], [b'{"a":1}', odd, b'{"a":2}', None, b'{"a":"x"}'])


NUMBER = st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
TEXT = st.lists(
    st.sampled_from([*"aZ é日\U0001f600\u2028\x7f", "\\u0000", "\\u00e9", "\\/", '\\"', "\\n", "\\\\"]), max_size=9
)
SPACE = st.sampled_from(["", " ", "\n", "\r\t"])


@given(st.lists(NUMBER, min_size=1, max_size=6), SPACE)
@example(["1.5", "1e-400", "4.9e-324", "1e308", "0.1", "-0.0", "2.2250738585072011e-308"], "\n")
def test_numbers_are_those_of_python(numbers, space):
    reported = [f'{{"a":{space}{each}{space}}}'.encode() for each in numbers]
    for before in ([b'{"a":1}'], [b'{"a":0.5}'], [b'{"a":"x"}'], reported):
        is_checked(before, reported)


@given(st.lists(TEXT.map("".join), min_size=1, max_size=6), SPACE)
def test_texts_are_those_of_python(texts, space):
    reported = [f'{{{space}"a":"{each}","":["{each}"]{space}}}'.encode() for each in texts]
    is_checked(reported, reported)


@pytest.mark.parametrize("most", [0, 1 << 16])
def test_python_parses_one_value_of_each_shape_that_arrow_reads(calls, most):
    asked = calls(json_column, "all_parsed")
    column = JsonColumn("value", ["object", {"a": "long", "b": "string"}], most_shapes=most)
    for number in range(3):
        reported: list[bytes | None] = [b'{"a":%d}' % number, b'{"b":"x","a":%d}' % number, b'{"a":5}', b'{"a":"x"}']
        list(column.parts([records(reported[:1], "value"), records(reported[1:], "value")], pa.array(reported)))
    assert len([value for (values,) in asked for value in values if value != b'{"a":"x"}']) == (2 if most else 6)


def by_one_type(*reported: bytes) -> list[tuple[object, bytes | None]]:
    """Values beside what of them stays bytes, where these are all that a topic has."""
    return list(zip(*json_columns(kind_of_values(reported), reported), strict=True))


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
