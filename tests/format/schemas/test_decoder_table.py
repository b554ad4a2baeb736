"""The table of decoders: many names at once are the rows that each would have alone."""

import numpy as np

from kafkafs.format.native.layout import FIELD_HEADER_GUID, FIELD_PREFIX_ID, WAY_JSON
from kafkafs.format.schemas.decoder_table import MIX, DecoderTable, FoundSchema, SchemaName
from kafkafs.format.schemas.decoders import Decoder


def _decoders() -> DecoderTable:
    return DecoderTable(
        lambda name, _: FoundSchema(Decoder(WAY_JSON), name.number, "s", 1, "JSON") if name.rest else None
    )


def _signed(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def test_many_names_have_the_rows_that_each_has() -> None:
    """A record must not be decoded by its neighbour's schema, whatever ids a stranger chose: two that share the number
    by which names are told apart quickly."""
    factors = MIX.tolist()
    twin = [FIELD_HEADER_GUID, _signed(5 + factors[2]), _signed(7 - factors[1])]
    names = np.array([[FIELD_HEADER_GUID, 5, 7], twin, [FIELD_PREFIX_ID, 5, 0], [FIELD_HEADER_GUID, 5, 7]], np.int64)
    is_key = np.array([0, 0, 0, 1], np.int64)
    mixed = (np.column_stack((names, is_key)) @ MIX)[:2]
    assert mixed[0] == mixed[1]
    rows = _decoders().rows(names, is_key)
    alone = _decoders()
    assert rows[2] == alone.row(SchemaName(FIELD_PREFIX_ID, 5, 0), False) == -1
    assert len({*rows.tolist()}) == 4
    decoders = _decoders()
    assert decoders.rows(names, is_key).tolist() == decoders.rows(names, is_key).tolist()
    for name, key, row in zip(names.tolist(), is_key.tolist(), decoders.rows(names, is_key).tolist(), strict=True):
        assert decoders.row(SchemaName(*name), key == 1) == row
