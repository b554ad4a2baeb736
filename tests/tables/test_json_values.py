"""JSON values: one type for all of them, parsed many at a time."""

import json
from functools import reduce
from itertools import product

from hypothesis import example, given
from hypothesis import strategies as st

from kafkafs.format.schemas.shape import double_bits
from kafkafs.tables.typed import json_parser
from kafkafs.tables.typed.json_parser import all_parsed, parsed
from kafkafs.tables.typed.json_values import Documents, kind_of, kind_of_values, merged

NAMES = st.sampled_from("abc")
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([2**63, 1.5, "x", {}, []]))
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2))
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=2).map(lambda each: json.dumps(each).encode())


MARK = json_parser.MARK
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


def test_values_are_parsed_in_lists_of_bounded_length():
    values = [b'{"a":%d}' % number for number in range(10)]
    assert all_parsed(values, 3) == [{"a": number} for number in range(10)]


def test_a_line_has_all_fields_of_the_type_and_the_bits_of_doubles():
    """A JSON reader that rounds would lose them. A field that a document lacks is null in its line."""
    values = [
        b'{"b":[1,0.5,null],"t":true,"o":{"x":"a\\"\\n\\u007f"},"e":{},"n":null}',
        b'{"l":-9223372036854775808,"o":{}}',
    ]
    lines = Documents(kind_of_values(values))
    assert [json.loads(lines.line(each, None))["value"] for each in values] == [
        {"b": [double_bits(1.0), double_bits(0.5), None], "e": "{}", "l": None, "n": None, "o": {"x": 'a"\n\x7f'},
         "t": True},
        {"b": None, "e": None, "l": -(2**63), "n": None, "o": {"x": None}, "t": None},
    ]  # fmt: skip
