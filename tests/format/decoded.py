"""Decoded lines of payloads without a log: what `DecodedLines` makes of records with these values."""

import json
from collections.abc import Sequence
from typing import Any

from kafkafs.format.batch import walk
from kafkafs.format.decoding import DecodedLines
from kafkafs.format.records import Records, decode
from kafkafs.format.schemas.decoder_table import DecoderTable, FoundSchema, SchemaName
from kafkafs.format.schemas.decoders import Decoder, make_decoder
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record

LIMIT = 256 << 20


def records_of(*values: bytes | None) -> Records:
    """Records with these values, as they come out of a batch."""
    batch = v2_batch([Record(offset, 0, 0, None, value, ()) for offset, value in enumerate(values)])
    (piece,) = decode(batch, 0, walk(batch, 0).rows, LIMIT)
    assert isinstance(piece, Records)
    return piece


def table_of(decoder: Decoder) -> DecoderTable:
    """A registry that has one schema, with id 1."""
    found = FoundSchema(decoder, 1, "t-value", 1, "ANY")
    return DecoderTable(lambda name, _: found if name == SchemaName(name.kind, 1, 0) else None)


def shown(kind: str, schema: Any, *payloads: bytes, references: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """The lines of payloads in the wire format of that schema."""
    text = schema if isinstance(schema, str) else json.dumps(schema)
    lines = DecodedLines("t", 0, table_of(make_decoder(kind, text, references)))
    made = b"".join(bytes(piece) for piece in lines.pieces(records_of(*(b"\0\0\0\0\1" + one for one in payloads))))
    return [json.loads(line) for line in made.splitlines()]


def value_of(kind: str, schema: Any, payload: bytes, references: Sequence[Any] = ()) -> Any:
    """What one payload is decoded to; its sentence where it does not fit."""
    (line,) = shown(kind, schema, payload, references=references)
    return line.get("valueError", line.get("value"))
