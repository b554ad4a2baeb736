"""The decoders that one partition's keys and values have asked for so far, as the table that `decode_fields` takes."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kafkafs.format.memory import Array
from kafkafs.format.native import layout
from kafkafs.format.native.layout import FIELD_HEADER_GUID, FIELD_HEADER_ID, FIELD_PREFIX_GUID, TEXT_MOST, WAY_NONE
from kafkafs.format.schemas.decoders import Decoder
from kafkafs.format.strings import json_string, shown_json

_MOST, _MOST_BYTES = 4096, 64 << 20
"""Decoders that are kept, and bytes that they take: a topic may name as many schemas as it has records."""

Numbers = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
MIX = np.array([1 << 40, 0x5851F42D4C957F2D, 0x14057B7EF767814F, 1], np.int64)
"""Factors that make one number of a name; where two names share one, it costs time."""

_REASONS = {
    layout.AVRO_NO_ROOM: f"it would become too large a text (at most {TEXT_MOST} bytes, and less of a small payload)",
    layout.AVRO_CUT: "it ends inside a value",
    layout.AVRO_NUMBER_MISFIT: "a number is out of its type's range",
    layout.AVRO_LENGTH_MISFIT: "a length runs past its end",
    layout.AVRO_BOOL_MISFIT: "a boolean is neither 0 nor 1",
    layout.AVRO_TEXT_MISFIT: "a string is not valid UTF-8",
    layout.AVRO_CHOICE_MISFIT: "it names a branch or a symbol that the schema does not have",
    layout.AVRO_COUNT_MISFIT: "it announces more elements than it can hold",
    layout.AVRO_TOO_DEEP: f"it is nested deeper than {layout.AVRO_DEPTH} levels",
    layout.AVRO_LEFTOVER: "bytes are left after its end",
    layout.AVRO_DECIMAL_MISFIT: "a decimal is malformed or too long",
    layout.AVRO_TIME_MISFIT: "a time of day is outside the day",
    layout.AVRO_NO_COLUMN: "it has fields that no column can hold",
    layout.JSON_MISFIT: "it is not JSON text",
}


class SchemaName(NamedTuple):
    """The name of a schema in a key or value: an id, or a GUID in two halves. The kind is one of the layout's FIELD_...
    kinds."""

    kind: int
    number: int
    rest: int

    @property
    def in_header(self) -> bool:
        """True if a header named the schema. Then the name was meant, whereas a prefix may be chance."""
        return self.kind in (FIELD_HEADER_ID, FIELD_HEADER_GUID)

    @property
    def guid(self) -> bytes | None:
        """The 16 bytes of a GUID; None for an id."""
        if self.kind not in (FIELD_PREFIX_GUID, FIELD_HEADER_GUID):
            return None
        return b"".join((number % (1 << 64)).to_bytes(8) for number in (self.number, self.rest))

    def __str__(self) -> str:
        return f"schema {self.number}" if self.guid is None else f"schema {self.guid.hex()}"


class FoundSchema(NamedTuple):
    """A schema of the registry: how its payloads are decoded, and how a line names it."""

    decoder: Decoder
    id: int
    subject: str
    version: int
    type: str

    def tail(self, field: str) -> bytes:
        """The text behind a decoded key or value."""
        about = {"id": self.id, "subject": self.subject, "version": self.version, "type": self.type}
        return f',"{field}Schema":'.encode() + shown_json(about)


def error_tail(field: str, sentence: str) -> bytes:
    """The text behind a key or value whose schema was named and did not help."""
    return f',"{field}Error":{json_string(sentence)}'.encode()


class _Bytes:
    """Bytes that only get more, and room for some of those."""

    def __init__(self) -> None:
        self.array: Array = np.empty(256, np.uint8)
        self._size = 0

    def add(self, more: Numbers | Array) -> int:
        """Puts the bytes of an array behind the others: where they begin."""
        place, size = self._size, self._size + more.nbytes
        if size > len(self.array):
            self.array = np.concatenate((self.array[:place], np.empty(2 * size - place, np.uint8)))
        self.array[place:size] = more.reshape(-1).view(np.uint8)
        self._size = size
        return place


class DecoderTable:
    """The decoders of one partition's keys and values. `find` looks a schema up by name, and whether it is a key's."""

    def __init__(self, find: Callable[[SchemaName, bool], FoundSchema | None]) -> None:
        self._find = find
        self.forget()

    def forget(self) -> None:
        """Start again with an empty table."""
        self._rows: dict[tuple[SchemaName, bool], int] = {}
        self._found: list[tuple[SchemaName, FoundSchema | None]] = []
        self._refusals: list[str] = []
        self._size = 0
        self.table = np.zeros((16, 4), np.int64)
        """Rows as DECODER_ROW has them; the last column is the place of the tail."""
        self.tail_sizes = np.zeros(16, np.int64)
        self._code, self._literals, self._tails = _Bytes(), _Bytes(), _Bytes()

    @property
    def code(self) -> Array:
        """The programs of all decoders, one behind the other."""
        return self._code.array

    @property
    def literals(self) -> Array:
        """The pools of all decoders."""
        return self._literals.array

    @property
    def tails(self) -> Array:
        """The text behind the values that each decoder has decoded."""
        return self._tails.array

    def is_full(self) -> bool:
        """True if it is time to forget."""
        return len(self._found) >= _MOST or self._size > _MOST_BYTES

    def row(self, name: SchemaName, is_key: bool) -> int:
        """The row of the decoder for what is named; -1 if a prefix alone names a schema that is not known."""
        known = self._rows.get((name, is_key))
        if known is not None:
            return known
        found = self._find(name, is_key)
        if found is None and not name.in_header:
            return -1
        self._rows[name, is_key] = number = self._append(name, is_key, found)
        return number

    def rows(self, names: Numbers, is_key: Numbers) -> Numbers:
        """The rows of many: `names` has three columns, as `SchemaName`, and `is_key` is 1 for keys' names."""
        asked = np.column_stack((names, is_key))
        mixed = asked @ MIX  # sorting numbers takes a twentieth of sorting rows
        _, first, which = np.unique(mixed, return_index=True, return_inverse=True)
        if not np.array_equal(asked[first][which], asked):
            first, which = np.unique(asked, axis=0, return_index=True, return_inverse=True)[1:]
        rows = [self.row(SchemaName(*name[:3]), name[3] == 1) for name in asked[first].tolist()]
        found: Numbers = np.array(rows, np.int64)[which.reshape(-1)]
        return found

    def decoder(self, row: int) -> Decoder:
        """The decoder of a row; one that refuses where the schema is not known."""
        found = self._found[row][1]
        return found.decoder if found is not None else Decoder(WAY_NONE)

    def refusal(self, row: int) -> str:
        """The sentence for all payloads of a row that has no decoder; none if it has one."""
        return self._refusals[row]

    def misfit(self, row: int, reason: int | str, at: int = 0) -> str:
        """The sentence for a payload that does not fit: why, by a code of the layout (at which byte) or in words."""
        if isinstance(reason, int):
            where = "" if reason in (layout.JSON_MISFIT, layout.AVRO_LEFTOVER) else f" (at byte {at})"
            reason = _REASONS[reason] + where
        return f"the payload does not fit {self._found[row][0]}: {reason}"

    def _append(self, name: SchemaName, is_key: bool, found: FoundSchema | None) -> int:
        field, number = "key" if is_key else "value", len(self._found)
        if number == len(self.table):
            self.table = np.concatenate((self.table, np.zeros_like(self.table)))
            self.tail_sizes = np.concatenate((self.tail_sizes, np.zeros_like(self.tail_sizes)))
        refusal = ""
        if found is None:
            refusal = f"{name} is in no _schemas topic on these disks"
        elif found.decoder.refusal:
            refusal = f"{name} ({found.type}): {found.decoder.refusal}"
        tail = found.tail(field) if found is not None and not refusal else error_tail(field, refusal)
        self._refusals.append(refusal)
        self._found.append((name, found))
        decoder = self.decoder(number)
        self._size += decoder.size
        code = literals = 0
        if decoder.program is not None:
            code, literals = self._code.add(decoder.program.code), self._literals.add(decoder.program.pool)
            self._size += decoder.program.code.nbytes + decoder.program.pool.nbytes
        self.table[number] = decoder.way, code, literals, self._tails.add(np.frombuffer(tail, np.uint8))
        self.tail_sizes[number] = len(tail)
        return number
