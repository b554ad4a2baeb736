"""Avro to JSON by the kernel: payloads that would kill another reader, and the same compiled and uncompiled."""

import json
import random
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format import kernels
from kafkafs.format.native import decoded_lines
from tests.format.decoded import shown, value_of
from tests.format.hostile import mutated
from tests.format.schemas.avro_drawn import BOMBS, LIST, encoded, schemas
from tests.format.schemas.test_avro_values import unions
from tests.promises import at_most


@pytest.mark.parametrize(("schema", "payload", "sentence"), BOMBS)
def test_a_bomb_ends_in_a_sentence(schema: Any, payload: bytes, sentence: str) -> None:
    """The usual library dies of some of these, and never ends on others."""
    begun = time.monotonic()
    assert sentence in str(value_of("AVRO", schema, payload))
    assert time.monotonic() - begun < at_most(10)


def test_many_bombs_take_little_memory() -> None:
    lines = shown("AVRO", {"type": "array", "items": "null"}, *[encoded("long", 1 << 40)] * 50)
    assert len(lines) == 50


def test_deep_data_within_the_limit_are_shown() -> None:
    value = value_of("AVRO", LIST, b"\2" * 400 + b"\0")
    assert json.dumps(value).count("next") == 401


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_written_as_python_does(number: float) -> None:
    (line,) = shown("AVRO", "double", struct.pack("<d", number))
    assert repr(line["value"]) == repr(number)


@contextmanager
def uncompiled() -> Iterator[None]:
    """The source as Python in the place of the compiled kernels: each access to memory is checked."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("find_fields", "decode_fields", "decoded_lines"):
            patch.setattr(kernels, name, getattr(decoded_lines, name))
        yield


@given(st.data(), st.integers(0, 1 << 30))
def test_damaged_payloads_are_the_same_uncompiled(data: st.DataObject, seed: int) -> None:
    """Under a debugger one must see what a mount does; and no payload, whatever is in it, reaches outside."""
    if data.draw(st.booleans()):
        schema, strategy = data.draw(schemas())
    else:
        union = data.draw(unions())
        schema, strategy = union.schema, union.pairs.map(lambda pair: pair[0])
    whole, chance = encoded(schema, data.draw(strategy)), random.Random(seed)
    payloads = [whole, *(mutated(whole + b"\0", chance) for _ in range(5))]
    compiled = {payload: shown("AVRO", schema, payload) for payload in payloads}
    with uncompiled():
        for payload, lines in compiled.items():
            if "too large a text" not in str(lines):  # of four million bytes, one by one
                assert json.dumps(shown("AVRO", schema, payload)) == json.dumps(lines)
