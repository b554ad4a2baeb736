"""Which schema each key and value names, and what is left of it as a payload."""

import numpy as np

from kafkafs.format.batch import walk
from kafkafs.format.fields import find_fields, payload_of
from kafkafs.format.native import layout
from kafkafs.format.native.layout import FIELD_SLOT
from kafkafs.format.records import Records, decode
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record

GUID = bytes(range(16))
VALUES: list[tuple[bytes | None, dict[str, bytes | None], tuple[int, bytes, bytes | None]]] = [
    (None, {"__value_schema_id": b"\0\0\0\0\1"}, (layout.FIELD_NULL, b"", None)),
    (b"\0\0\0\1", {}, (layout.FIELD_PLAIN, b"", None)),
    (b"\0\0\0\0\1", {}, (layout.FIELD_PREFIX_ID, b"", None)),
    (b"\0\0\0\0\1abc", {}, (layout.FIELD_PREFIX_ID, b"abc", None)),
    (b"\1" + GUID + b"abc", {}, (layout.FIELD_PREFIX_GUID, b"abc", None)),
    (b"\0abc", {"__value_schema_id": b"\0\0\0\0\1"}, (layout.FIELD_HEADER_ID, b"\0abc", b"")),
    (b"abc", {"__value_schema_id": b"\1" + GUID + b"\2\4"}, (layout.FIELD_HEADER_GUID, b"abc", b"\2\4")),
    (b"\0\0\0\0\1abc", {"__value_schema_id": b"\0\0\0\1"}, (layout.FIELD_PREFIX_ID, b"abc", None)),
    (b"\0\0\0\0\1abc", {"__value_schema_id": None, "__key_schema_id": b"\0\0\0\0\1"},
     (layout.FIELD_PREFIX_ID, b"abc", None)),
    (b"abc", {"__value_schema_idx": b"\0\0\0\0\1"}, (layout.FIELD_PLAIN, b"", None)),
]  # fmt: skip


def _records() -> Records:
    reported = [
        Record(
            offset,
            0,
            0,
            b"\0\0\0\0\5k" if offset % 2 else None,
            value,
            tuple((name.encode(), content) for name, content in headers.items()),
        )
        for offset, (value, headers, _) in enumerate(VALUES)
    ]
    batch = v2_batch(reported)
    (piece,) = decode(batch, 0, walk(batch, 0).rows, 1 << 20)
    assert isinstance(piece, Records)
    return piece


def test_a_field_tells_the_schema_and_the_payload() -> None:
    """What is a prefix to one reader and data to another is a record lost."""
    records = _records()
    fields, named = find_fields(records)
    for number, (_, headers, (kind, payload, header)) in enumerate(VALUES):
        key, value = fields[2 * number], fields[2 * number + 1]
        assert value[FIELD_SLOT.kind] == kind, number
        if kind >= layout.FIELD_PREFIX_ID:
            assert payload_of(records, value) == (payload, header)
        expected = layout.FIELD_PREFIX_ID if number % 2 else layout.FIELD_NULL
        in_header = headers.get("__key_schema_id") is not None and number % 2
        assert key[FIELD_SLOT.kind] == (layout.FIELD_HEADER_ID if in_header else expected)
    assert named == int(np.count_nonzero(fields[:, FIELD_SLOT.kind] >= layout.FIELD_PREFIX_ID))


def test_rows_that_do_not_lie_together_are_taken_too() -> None:
    """Isolation and windows leave rows out."""
    records = _records()
    fields, _ = find_fields(Records(records.data, records.rows[::3]))
    assert fields[1::2, FIELD_SLOT.kind].tolist() == [reported[2][0] for reported in VALUES[::3]]
