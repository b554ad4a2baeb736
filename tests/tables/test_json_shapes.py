"""The type of many JSON values by their shapes: that of all of them, one by one."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.native.layout import RECORD
from kafkafs.format.records import Records
from kafkafs.tables.typed import json_shapes
from kafkafs.tables.typed.json_parser import parsed
from kafkafs.tables.typed.json_shapes import kind_of_records
from kafkafs.tables.typed.json_values import kind_of, merged
from kafkafs.tables.typed.typed_columns import FieldName
from tests.tables.test_json_values import DRAWN, ODD


def records(values: list[bytes | None], field: FieldName) -> Records:
    """A piece with these keys or values."""
    rows = np.zeros(len(values), RECORD)
    rows[f"{field}_size"] = [-1 if value is None else len(value) for value in values]
    rows[f"{field}_at"] = np.cumsum([0, *(len(value or b"") for value in values)])[:-1]
    return Records(np.frombuffer(b"".join(value or b"" for value in values), np.uint8), rows)


def checked(pieces: list[list[bytes | None]], field: FieldName = "value") -> None:
    """The type by shapes, and by all that Python's parser takes."""
    documents = [parsed(value) for values in pieces for value in values]
    expected = reduce(merged, (kind_of(each) for each in documents if each is not None), None)
    assert kind_of_records([records(values, field) for values in pieces], field) == expected, pieces


@given(st.lists(st.lists(DRAWN, max_size=4), max_size=3), st.sampled_from(["key", "value"]))
def test_the_type_is_that_of_all_values(pieces, field):
    checked(pieces, field)


def test_no_odd_value_changes_the_type_of_others():
    for odd in ODD:
        checked([[b'{"a":1}', odd], [odd, b'{"a":2}']])


PARTS = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"a"',
    '"b"',
    "1",
    "-0",
    "1.5",
    "null",
    "true",
    '"\\u00e9"',
    '"\\udc00"',
    " ",
    "e",
]


@given(st.lists(st.sampled_from(PARTS), max_size=8).map("".join), st.sampled_from(['{"a":1}', '{"a":%s}']))
def test_what_is_no_json_has_no_type(text, around):
    checked([[text.encode(), around.replace("%s", text).encode(), ("{" + text + "}").encode()]])


@pytest.mark.parametrize("most", [2, 1 << 16])
def test_one_value_of_each_shape_is_parsed(calls, most):
    """Known shapes are bounded: names that are numbers would make millions of them."""
    asked = calls(json_shapes, "kind_of_values")
    shapes = [b'{"a":%d}', b'{"b":%d}', b'{"c":%d}']
    pieces = [records([shape % number for shape in shapes], "value") for number in range(9)]
    kind_of_records(pieces, "value", most)
    assert sum(len(values) for (values,) in asked) == (27 if most == 2 else 3)
