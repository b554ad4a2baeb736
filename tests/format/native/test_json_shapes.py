"""Shapes of JSON values, by the uncompiled source: alike where only texts and numbers differ."""

import numpy as np
import pytest

from kafkafs.format.native.json_shapes import hash_json_shapes
from kafkafs.format.native.layout import RECORD, SHAPE_DEPTH, SHAPE_ODD


def shapes(*values: bytes, of_keys: bool = False) -> list[int]:
    """The kernel's hash of each."""
    rows = np.zeros(len(values), RECORD)
    name = "key" if of_keys else "value"
    rows[f"{name}_size"] = [len(value) for value in values]
    rows[f"{name}_at"] = np.cumsum([0, *map(len, values)])[:-1]
    scratch, made = np.empty(SHAPE_DEPTH + max(map(len, values)), np.uint8), np.empty(len(values), np.int64)
    odd = hash_json_shapes(rows, len(values), b"".join(values), of_keys, b"0123456789abcdef", scratch, made)
    assert odd == np.count_nonzero(made == SHAPE_ODD)
    return made.tolist()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"a":1}', b' {"a":-234}'[1:]), (b'{"a":1}', b'{ "a"\t: 1 }\n'), (b'{"a":[1,2]}', b'{"a":[3]}'),
        (b'{"a":"x"}', b'{"a":"\\n\\u00e9"}'), (b'{"a":true}', b'{"a":false}'), (b'{"a":1.5}', b'{"a":1e400}'),
        (b'{"a":{"b":[null,null]}}', b'{"a":{"b":[null]}}'), (b'{"a":-9007199254740992}', b'{"a":9007199254740992}'),
        (b'{"a":-9223372036854775807}', b'{"a":9007199254740993}'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("of_keys", [True, False])
def test_texts_and_numbers_do_not_count(one, other, of_keys):
    first, second = shapes(one, other, of_keys=of_keys)
    assert first == second != SHAPE_ODD


def test_names_brackets_and_types_do():
    values = [b"{}", b'{"a":1}', b'{"b":1}', b'{"a":1.0}', b'{"a":"1"}', b'{"a":null}', b'{"a":true}', b'{"a":[]}',
              b'{"a":[1]}', b'{"a":[[1]]}', b'{"a":[1,1.5]}', b'{"a":[{},1]}', b'{"a":{}}', b'{"a":{"b":1}}',
              b'{"a":{},"b":1}', b'{"a":1,"b":1}', b'{"aL":1}', b'{"a":[[1],1]}', b'{"a":[[],1]}',
              b'{"a":9007199254740993}']  # fmt: skip
    assert len({*shapes(*values)} - {SHAPE_ODD}) == len(values)


def test_what_python_has_to_see_is_odd():
    deep = b'{"a":' * SHAPE_DEPTH
    values = [b"", b"1", b"[1]", b" {}", b"{", b"{}}", b"{},", b"{}{}", b'{"a"}', b'{"a":}', b'{"a":1,}', b'{"a":[1,]}',
              b'{"a":[,1]}', b'{,"a":1}', b'{"a":[1}', b'{"a":1]', b'{"a":01}', b'{"a":NaN}', b'{"a":"\xff"}', b'{1:1}',
              b'{"\\u0061":1}', b'{"a":"\\ud800"}', b'{"a":"\\uDFFF"}', b'{"a":9223372036854775808}', b'{"a":tru}',
              b'{"a":-9223372036854775808}', b'{"a":10000000000000000000}', b'{"a":-0}', b'{"a":[1,-0]}',
              deep + b'{"a":1}' + b"}" * SHAPE_DEPTH, deep, b"{\0}\0", b'{"a":"\n"}']  # fmt: skip
    assert shapes(*values) == [SHAPE_ODD] * len(values)
    assert shapes(deep + b"1" + b"}" * SHAPE_DEPTH) != [SHAPE_ODD]
