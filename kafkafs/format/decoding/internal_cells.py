"""Records of Kafka's own topics as cells of decoded lines: what the dump's decoders print, without secrets."""

from collections.abc import Callable

from kafkafs.format.cells import TAIL, TEXT, Cells
from kafkafs.format.columns import Records
from kafkafs.format.json_string import json_string
from kafkafs.format.messages.records import InternalTopic
from kafkafs.format.messages.redaction import decoded_json
from kafkafs.format.native.layout import IN_HELD
from kafkafs.format.schemas.codebook import error_tail

_ENOUGH = 2 << 20
"""Bytes of text after which the lines are written."""

Hold = Callable[[bytes], tuple[int, int]]
"""Keeps a text as long as cells point to it: its place there and its size."""


def fill_cells(topic: InternalTopic, records: Records, cells: Cells, first: int, hold: Hold) -> int:
    """The texts and tails of records from `first` on: the record before which it has made enough of them."""
    made = 0
    for number in range(first, len(records)):
        parts = records.key(number), records.value(number)
        key, value = (None if part is None else bytes(part) for part in parts)
        decoded = decoded_json(topic, key, value, json_string)
        texts = [decoded.key, decoded.value]
        if decoded.hides_raw:
            texts = ["null", "null"]
        for cell, text in zip(cells[2 * number : 2 * number + 2], texts, strict=True):
            if text is not None:
                cell[TEXT] = IN_HELD, *hold(text.encode())
                made += len(text)
        if decoded.error is not None:
            field, cell = ("key", cells[2 * number]) if value is None else ("value", cells[2 * number + 1])
            cell[TAIL] = IN_HELD, *hold(error_tail(field, decoded.error))
        if made > _ENOUGH:
            return number + 1
    return len(records)
