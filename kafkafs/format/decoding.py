"""Records as JSON lines with their keys and values decoded (docs/queries.md): columns in, bytes out.

A chunk of records at a time: a kernel looks which schema each key and value names, `DecoderTable` says how those are
decoded, a second kernel makes JSON text of Avro and checks what is JSON already, a third writes the lines. Only
Protobuf comes by Python. Whatever does not fit stands in the line as in `.jsonl`, with a sentence.
"""

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from kafkafs.errors import CorruptData
from kafkafs.format import kernels
from kafkafs.format.cells import NAME, TAIL, TEXT, Cells, OneCell, find_cells, payload_of
from kafkafs.format.jsonl import line_head, long_field, long_headers, padded_prefix
from kafkafs.format.memory import UNLIMITED, Array, Buffers, Memory
from kafkafs.format.messages.message_json import decoded_json
from kafkafs.format.messages.topic_records import InternalTopic, internal_topic
from kafkafs.format.native import layout
from kafkafs.format.native.layout import AVRO_SCRATCH, CELL_SLOT, DECODED_ASKS, IN_HELD, IN_TAILS, NOWHERE, TEXT_MOST
from kafkafs.format.records import Records
from kafkafs.format.schemas.decoder_table import DecoderTable, error_tail
from kafkafs.format.strings import json_string

_CHUNK = 1024
"""Records at a time."""

_ROOMS = Buffers(2 << 20, keep=4)
_TEXTS = Buffers(2 << 20, keep=4)
_GROWTH = 8
_PIECE = 1 << 20


class DecodedLines:
    """The decoded lines of one partition's records."""

    def __init__(self, topic: str, partition: int, decoders: DecoderTable, memory: Memory = UNLIMITED) -> None:
        """Large texts take their room from `memory`: Crowded."""
        self._memory = memory
        self._prefix, self._padded = padded_prefix(topic, partition)
        self._decoders = decoders
        self._topic = internal_topic(topic)
        self._held = bytearray()  # texts and tails that Python has made
        self._reasons: dict[int, str] = {}  # of cells of a chunk that Python could not decode
        self._scratch = np.empty(AVRO_SCRATCH, np.uint8)

    def pieces(self, records: Records, room: Array | None = None) -> Iterator[memoryview]:
        """See `LineMaker`."""
        for part in self._decoded(records):
            yield from self._lines(part, room)
            room = None

    def fields(self, records: Records) -> Iterator[tuple[bytes | None, bytes | None]]:
        """Key and value of each record, in order, as its line shows them: JSON text, of a string what it says; None for
        null; bytes that are no JSON as they are."""
        for part in self._decoded(records):
            for number in range(part.first, part.stop):
                key, value = part.cells[2 * number], part.cells[2 * number + 1]
                yield _content(part, key, part.records.key(number)), _content(part, value, part.records.value(number))

    def _decoded(self, records: Records) -> Iterator["_Part"]:
        """All those records by and by."""
        rows = np.ascontiguousarray(records.rows)  # which the kernel of lines takes as they lie
        for start in range(0, len(rows), _CHUNK):
            yield from self._chunk(Records(records.data, rows[start : start + _CHUNK]))

    def _chunk(self, records: Records) -> Iterator["_Part"]:
        cells, named = find_cells(records)
        if named and self._topic is None:
            if self._decoders.is_full():
                self._decoders.forget()
            self._choose(cells)
        self._reasons.clear()
        done, size = 0, _TEXTS.size
        while done < len(records):
            texts = _TEXTS.take() if size == _TEXTS.size else self._memory.take(size)
            if self._topic is not None:
                stop = fill_cells(self._topic, records, cells, done, self._hold)
            else:
                stop = self._decode(records, cells, 2 * done, texts) // 2
            if stop == done:
                size *= _GROWTH
                size = min(size, TEXT_MOST) if size < TEXT_MOST * _GROWTH else size
                continue
            size = _TEXTS.size
            yield _Part(records, cells, done, stop, texts, self._held, self._decoders.tails)
            self._held.clear()
            done = stop
            del texts

    def _choose(self, cells: Cells) -> None:
        """Sets the decoder of each cell that names a schema."""
        places = np.nonzero(cells[:, CELL_SLOT.kind] >= layout.CELL_PREFIX_ID)[0]
        if len(places):
            cells[places, CELL_SLOT.decoder] = self._decoders.rows(cells[places, NAME], places & 1 ^ 1)

    def _decode(self, records: Records, cells: Cells, first: int, texts: Array) -> int:
        """The texts and tails of the cells from `first` on: the cell before which there was no more room."""
        decoders, number, used, held, answer = self._decoders, first, 0, 0, DECODED_ASKS
        while answer == DECODED_ASKS:
            answer, number, used = kernels.decode_cells(
                cells, number, len(cells), records.data, decoders.table, decoders.code, decoders.literals, texts, used,
                self._scratch,
            )  # fmt: skip
            if answer == DECODED_ASKS:
                held += self._ask(records, cells, number)
                number += 1
                if held > len(texts) and number - first > 1:
                    break
        self._tell(cells, first, number)
        return number

    def _ask(self, records: Records, cells: Cells, number: int) -> int:
        """Decodes a cell that no kernel can: how many bytes its text has."""
        cell = cells[number]
        decoder = self._decoders.decoder(int(cell[CELL_SLOT.decoder]))
        try:
            text = decoder.decode(*payload_of(records, cell)) if decoder.decode is not None else b"null"
        except CorruptData as error:
            cell[CELL_SLOT.error], self._reasons[number] = layout.ASKED_MISFIT, str(error)
            return 0
        cell[TEXT] = IN_HELD, *self._hold(text)
        return len(text)

    def _tell(self, cells: Cells, first: int, stop: int) -> None:
        """Sets the tails of cells [first, stop)."""
        part = cells[first:stop]
        places = np.nonzero(part[:, CELL_SLOT.decoder] >= 0)[0]
        rows = part[places, CELL_SLOT.decoder]
        part[places, CELL_SLOT.tail_in], part[places, CELL_SLOT.tail] = IN_TAILS, self._decoders.table[rows, 3]
        part[places, CELL_SLOT.tail_size] = self._decoders.tail_sizes[rows]
        for place in np.nonzero(part[:, CELL_SLOT.error])[0].tolist():
            cell = part[place]
            reason = self._reasons.get(first + place, int(cell[CELL_SLOT.error]))
            sentence = self._decoders.misfit(int(cell[CELL_SLOT.decoder]), reason, int(cell[CELL_SLOT.error_at]))
            tail = error_tail("value" if (first + place) & 1 else "key", sentence)
            cell[TAIL] = IN_HELD, *self._hold(tail)

    def _hold(self, text: bytes) -> tuple[int, int]:
        """Keeps a text until the lines of its chunk are written: its place and size."""
        place = len(self._held)
        self._held += text
        return place, len(text)

    def _lines(self, part: "_Part", given: Array | None) -> Iterator[memoryview]:
        number = part.first
        while number < part.stop:
            room, given = _ROOMS.take() if given is None else given, None
            made, number = kernels.decoded_lines(
                part.records.rows, part.cells, number, part.stop, part.records.data, part.texts, part.held, part.tails,
                self._padded, len(self._prefix), room,
            )  # fmt: skip
            if made:
                yield room.data[:made]
            elif len(room) >= _ROOMS.size:
                yield from self._long_line(part, number)
                number += 1

    def _long_line(self, part: "_Part", number: int) -> Iterator[memoryview]:
        """One line that is too large for one piece."""
        records, cells, row = part.records, part.cells, part.records.rows[number]
        yield memoryview(line_head(self._prefix, row))
        for cell, at, size, behind in (
            (cells[2 * number], row["key_at"], row["key_size"], b',"value'),
            (cells[2 * number + 1], row["value_at"], row["value_size"], b',"headers":['),
        ):
            if cell[CELL_SLOT.text_in]:
                text = part.bytes_at(cell[TEXT])
                yield memoryview(b'":')
                for start in range(0, len(text), _PIECE):
                    yield memoryview(text[start : start + _PIECE])
            else:
                yield from long_field(records, int(at), int(size))
            yield memoryview(part.bytes_at(cell[TAIL]) + behind)
        yield from long_headers(records, number)
        yield memoryview(b"]}\n")


class _Part(NamedTuple):
    """Some records of a chunk whose cells tell now, and what those point to."""

    records: Records
    cells: Cells
    first: int
    stop: int
    texts: Array
    held: bytearray
    tails: Array

    def bytes_at(self, place: OneCell) -> bytes:
        """A text or a tail (TEXT, TAIL of a cell)."""
        kept, at, size = place.tolist()
        if kept == NOWHERE:
            return b""
        sources = (self.records.data, self.texts, self.held, self.tails)
        return bytes(sources[kept - 1][at : at + size])


def _content(part: _Part, cell: OneCell, raw: memoryview | None) -> bytes | None:
    """What a cell tells, or else the bytes that it stands for."""
    if cell[CELL_SLOT.text_in]:
        text = part.bytes_at(cell[TEXT])
        if text.startswith(b'"'):
            return json.loads(text).encode("utf-8", "surrogatepass")  # type: ignore[no-any-return]
        return None if text == b"null" else text
    return None if raw is None else bytes(raw)


_ENOUGH = 2 << 20
"""Bytes of text after which the lines are written."""

Hold = Callable[[bytes], tuple[int, int]]
"""Keeps a text as long as cells point to it: its place there and its size."""


def fill_cells(topic: InternalTopic, records: Records, cells: Cells, first: int, hold: Hold) -> int:
    """The texts and tails of records of Kafka's own topics from `first` on, as the dump's decoders print them, without
    secrets: the record before which it has made enough of them."""
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
