"""Typed columns side by side, without Spark: keys and values of the same records, each in parts of its own."""

import json
from typing import Any

import pyarrow as pa

from kafkafs.cluster.registry import Registry, parse_schema_record
from kafkafs.format.batch import walk
from kafkafs.format.records import Records, decode
from kafkafs.tables import arrow
from kafkafs.tables.arrow import BatchMaker
from kafkafs.tables.typed.json_column import JsonColumn
from kafkafs.tables.typed.json_values import kind_of_values
from kafkafs.tables.typed.reader_schema import reader_schemas_of
from kafkafs.tables.typed.registered import RegisteredColumn
from kafkafs.tables.typed.typed_columns import Columns, column_type
from tests.format.batch_maker import v2_batch
from tests.format.decoded import LIMIT
from tests.format.golden import Record
from tests.format.schemas.avro_drawn import encoded

KEY = {"type": "record", "name": "K", "fields": [{"name": "id", "type": "int"}, {"name": "x", "type": "string"}]}


def keys_registry() -> Registry:
    value = {"subject": "t-key", "version": 1, "id": 1, "schema": json.dumps(KEY)}
    return Registry([parse_schema_record(value, value, 0)])


def payload(number: int, size: int) -> bytes:
    return b"\0\0\0\0\1" + encoded(KEY, {"id": number, "x": "x" * size})


def test_keys_and_values_are_of_the_same_record() -> None:
    """Their parts end at different rows: keys that need much room come a few at a time."""
    sizes = [5, 3_000_000, 1, 3_000_000, 2_999_999, 0, 4_000_000, 7]
    reported: list[tuple[bytes, bytes | None]] = [
        (payload(number, size), b'{"n":%d}' % number) for number, size in enumerate(sizes)
    ]
    reported[5] = b"no Avro", b"no JSON"
    reported[6] = reported[6][0], None
    data = v2_batch([Record(n, 0, 0, key, value, ()) for n, (key, value) in enumerate(reported)])
    pieces = [piece for piece in decode(data, 0, walk(data, 0).rows, LIMIT) if isinstance(piece, Records)]
    known = keys_registry()
    reader = next(reader_schemas_of(known, "t", "key", ()))
    columns = Columns(
        BatchMaker("t", 0, headers=False),
        arrow.schema(False),
        {
            "value": JsonColumn("value", kind_of_values([value for _, value in reported])),
            "key": RegisteredColumn("key", "t", reader, known, column_type(reader.shape())),
        },
    )
    batches = list(columns.batches(pieces))
    assert len(batches) > 1
    assert columns.schema.names[:6] == ["key", "keyBytes", "keyError", "value", "valueBytes", "topic"]
    rows: list[dict[str, Any]] = pa.Table.from_batches(batches).to_pylist()
    assert [row["offset"] for row in rows] == list(range(len(reported)))
    odd, without = rows.pop(5), rows.pop(5)
    assert (odd["key"], odd["keyBytes"], odd["value"], odd["valueBytes"]) == (None, b"no Avro", None, b"no JSON")
    assert "no schema" in odd["keyError"]
    assert (without["key"]["id"], without["value"], without["valueBytes"]) == (6, None, None)
    for row in rows:
        number = row["offset"]
        assert row["key"] == {"id": number, "x": "x" * sizes[number]}
        assert row["value"] == {"n": number}
        assert (row["keyBytes"], row["keyError"], row["valueBytes"]) == (None, None, None)
