"""What strangers wrote, in a typed export: it keeps its bytes, and the rest of the file is as it would be without."""

import time
from typing import Any

import pytest

from tests.format.schemas.avro_drawn import BOMBS, encoded, record
from tests.format.schemas.test_protobuf import HEAD
from tests.promises import at_most
from tests.tables.test_registered import FIRST, logical, registry, table_of, typed

GOOD = b"\0\x08\1"


@pytest.mark.parametrize(("schema", "payload", "sentence"), BOMBS)
def test_a_bomb_keeps_its_bytes(schema: Any, payload: bytes, sentence: str) -> None:
    """One record must not end the export of a topic, nor take the executor's memory."""
    begun = time.monotonic()
    rows = typed(registry(schema), FIRST + payload, b"plain")
    assert [row["valueBytes"] for row in rows] == [FIRST + payload, b"plain"]
    assert all(row["valueError"] for row in rows), sentence
    assert time.monotonic() - begun < at_most(10)


@pytest.mark.parametrize(
    "payload",
    [b"", b"\xff", b"\2\4", b"\0\x0a\x7f", b"\0\xff\xff\xff\xff\xff", b"\0" + b"\x0b" * 100_000, b"\0\x12\1\xff"],
)  # fmt: skip
def test_cut_messages_keep_their_bytes(payload: bytes) -> None:
    known = registry(HEAD + "message A { int32 x = 1; string s = 2; A a = 3; }", kind="PROTOBUF")
    first, hostile, last = typed(known, FIRST + GOOD, FIRST + payload, FIRST + GOOD)
    assert first["value"]["x"] == last["value"]["x"] == 1
    assert (hostile["value"], hostile["valueBytes"]) == (None, FIRST + payload)


@pytest.mark.parametrize("name", ["timestamp-millis", "local-timestamp-millis"])
@pytest.mark.parametrize(
    "around", [lambda kind: kind, lambda kind: ["null", kind], lambda kind: {"type": "array", "items": kind}]
)
def test_milliseconds_beyond_all_microseconds_keep_their_bytes(name: str, around: Any) -> None:
    """Regression: DuckDB and pyiceberg read no row of a file that has one, as of nanoseconds in the place of
    milliseconds."""
    kind = record(("a", around(logical("long", name))))
    plain, is_list = record(("a", around("long"))), around("long") == {"type": "array", "items": "long"}
    most = 2**63 // 1000
    numbers = [0, most, -most, most + 1, -most - 1, 1_790_000_000_000_000_000, 1]
    payloads = [FIRST + encoded(plain, {"a": [each] if is_list else each}) for each in numbers]
    made = table_of(registry(kind), *payloads)
    assert made["valueBytes"].to_pylist() == [None, None, None, *payloads[3:6], None]
    assert made["value"].is_null().to_pylist() == [False, False, False, True, True, True, False]
    assert "out of bounds timestamp: 1790000000000000000" in made["valueError"][5].as_py()
