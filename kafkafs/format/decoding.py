"""Records as JSON lines with their keys and values decoded (docs/queries.md): columns in, bytes out.

A chunk of records at a time: a kernel looks which schema each key and value names, `DecoderTable` says how those are
decoded, a second kernel makes JSON text of Avro and checks what is JSON already, a third writes the lines. Only
Protobuf comes by Python. A value that does not fit is in the line as in `.jsonl`, with a sentence.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from kafkafs.errors import CorruptData
from kafkafs.format import kernels
from kafkafs.format.connect_secrets import config_records, redacted_values
from kafkafs.format.fields import NAME, TAIL, TEXT, Fields, OneField, find_fields, payload_of
from kafkafs.format.jsonl import line_head, long_field, long_line, padded_prefix
from kafkafs.format.known_topics import known_texts
from kafkafs.format.memory import UNLIMITED, Array, Buffers, Memory
from kafkafs.format.messages.message_json import decoded_json
from kafkafs.format.messages.topic_records import InternalTopic, internal_topic
from kafkafs.format.native import layout
from kafkafs.format.native.layout import AVRO_SCRATCH, DECODED_ASKS, FIELD_SLOT, IN_HELD, IN_TAILS, NOWHERE, TEXT_MOST
from kafkafs.format.records import Records
from kafkafs.format.schemas.decoder_table import DecoderTable, error_tail
from kafkafs.format.strings import json_string

_ROOMS = Buffers(2 << 20, keep=4)
_TEXTS = Buffers(2 << 20, keep=4)
_GROWTH = 8
_PIECE = 1 << 20


class DecodedLines:
    """The decoded lines of one partition's records."""

    def __init__(
        self, topic: str, partition: int, decoders: DecoderTable, memory: Memory = UNLIMITED, first: str = "",
        chunk: int = 1024,
    ) -> None:  # fmt: skip
        """Large texts take their room from `memory`, or raise BatchMemoryFull. `first`: see `padded_prefix`. `chunk`:
        records at a time."""
        self._records_at_a_time = chunk
        self._memory = memory
        self._prefix, self._padded = padded_prefix(topic, partition, first)
        self._decoders = decoders
        self._topic = internal_topic(topic)
        self._known = known_texts(topic)
        self._held = bytearray()  # texts and tails that Python has made
        self._reasons: dict[int, str] = {}  # for fields of a chunk that Python could not decode
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
                key, value = part.fields[2 * number], part.fields[2 * number + 1]
                yield _content(part, key, part.records.key(number)), _content(part, value, part.records.value(number))

    def _decoded(self, records: Records) -> Iterator["_Part"]:
        """All those records by and by."""
        rows = np.ascontiguousarray(records.rows)  # the kernel of lines needs contiguous rows
        configs = config_records(records)
        most = self._records_at_a_time
        for start in range(0, len(rows), most):
            own = [number - start for number in configs if 0 <= number - start < most]
            yield from self._chunk(Records(records.data, rows[start : start + most]), own)

    def _chunk(self, records: Records, configs: Sequence[int]) -> Iterator["_Part"]:
        fields, named = find_fields(records)
        if named and self._topic is None:
            if self._decoders.is_full():
                self._decoders.forget()
            self._choose(fields)
        self._reasons.clear()
        done, size = 0, _TEXTS.size
        while done < len(records):
            texts = _TEXTS.take() if size == _TEXTS.size else self._memory.take(size)
            if self._topic is not None:
                stop = fill_fields(self._topic, records, fields, done, self._hold)
            else:
                stop = self._decode(records, fields, 2 * done, texts) // 2
                self._replace(records, fields, (done, stop), configs)
            if stop == done:
                size *= _GROWTH
                size = min(size, TEXT_MOST) if size < TEXT_MOST * _GROWTH else size
                continue
            size = _TEXTS.size
            yield _Part(records, fields, done, stop, texts, self._held, self._decoders.tails)
            self._held.clear()
            done = stop
            del texts

    def _choose(self, fields: Fields) -> None:
        """Sets the decoder of each field that names a schema."""
        places = np.nonzero(fields[:, FIELD_SLOT.kind] >= layout.FIELD_PREFIX_ID)[0]
        if len(places):
            fields[places, FIELD_SLOT.decoder] = self._decoders.rows(fields[places, NAME], places & 1 ^ 1)

    def _decode(self, records: Records, fields: Fields, first: int, texts: Array) -> int:
        """The texts and tails of the fields from `first` on: the field before which there was no more room."""
        decoders, number, used, held, answer = self._decoders, first, 0, 0, DECODED_ASKS
        while answer == DECODED_ASKS:
            answer, number, used = kernels.decode_fields(
                fields, number, len(fields), records.data, decoders.table, decoders.code, decoders.literals, texts,
                used, self._scratch, False,
            )  # fmt: skip
            if answer == DECODED_ASKS:
                held += self._ask(records, fields, number)
                number += 1
                if held > len(texts) and number - first > 1:
                    break
        self._tell(fields, first, number)
        return number

    def _ask(self, records: Records, fields: Fields, number: int) -> int:
        """Decodes a field that no kernel can: how many bytes its text has."""
        field = fields[number]
        decoder = self._decoders.decoder(int(field[FIELD_SLOT.decoder]))
        try:
            text = decoder.decode(*payload_of(records, field)) if decoder.decode is not None else b"null"
        except CorruptData as error:
            field[FIELD_SLOT.error], self._reasons[number] = layout.ASKED_MISFIT, str(error)
            return 0
        field[TEXT] = IN_HELD, *self._hold(text)
        return len(text)

    def _replace(self, records: Records, fields: Fields, part: tuple[int, int], configs: Sequence[int]) -> None:
        """Sets the texts of a part of the records of which the topic's name or the key says what their bytes are.
        `configs`: the records that may be of a config topic of Kafka Connect."""
        known = self._known(records, *part) if self._known is not None else ()
        own = [number for number in configs if part[0] <= number < part[1]]
        for number, text in (*known, *redacted_values(records, own)):
            fields[number][TEXT] = IN_HELD, *self._hold(text)
            fields[number][TAIL] = NOWHERE, 0, 0

    def _tell(self, fields: Fields, first: int, stop: int) -> None:
        """Sets the tails of fields [first, stop)."""
        part = fields[first:stop]
        places = np.nonzero(part[:, FIELD_SLOT.decoder] >= 0)[0]
        rows = part[places, FIELD_SLOT.decoder]
        part[places, FIELD_SLOT.tail_in], part[places, FIELD_SLOT.tail] = IN_TAILS, self._decoders.table[rows, 3]
        part[places, FIELD_SLOT.tail_size] = self._decoders.tail_sizes[rows]
        for place in np.nonzero(part[:, FIELD_SLOT.error])[0].tolist():
            field = part[place]
            reason = self._reasons.get(first + place, int(field[FIELD_SLOT.error]))
            sentence = self._decoders.misfit(int(field[FIELD_SLOT.decoder]), reason, int(field[FIELD_SLOT.error_at]))
            tail = error_tail("value" if (first + place) & 1 else "key", sentence)
            field[TAIL] = IN_HELD, *self._hold(tail)

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
                part.records.rows, part.fields, number, part.stop, part.records.data, part.texts, part.held, part.tails,
                self._padded, len(self._prefix), room,
            )  # fmt: skip
            if made:
                yield room.data[:made]
            elif len(room) >= _ROOMS.size:
                head = line_head(self._prefix, part.records.rows[number])
                key, value = part.long_field(2 * number), part.long_field(2 * number + 1)
                yield from long_line(head, part.records, number, key, value)
                number += 1


class _Part(NamedTuple):
    """Some records of a chunk whose fields tell now, and what those point to."""

    records: Records
    fields: Fields
    first: int
    stop: int
    texts: Array
    held: bytearray
    tails: Array

    def bytes_at(self, place: OneField) -> bytes:
        """A text or a tail (TEXT, TAIL of a field)."""
        kept, at, size = place.tolist()
        if kept == NOWHERE:
            return b""
        sources = (self.records.data, self.texts, self.held, self.tails)
        return bytes(sources[kept - 1][at : at + size])

    def long_field(self, number: int) -> Iterator[memoryview]:
        """The rest of a field behind its name, and its tail, in pieces."""
        field = self.fields[number]
        if field[FIELD_SLOT.text_in]:
            text = self.bytes_at(field[TEXT])
            yield memoryview(b'":')
            for start in range(0, len(text), _PIECE):
                yield memoryview(text[start : start + _PIECE])
        else:
            yield from long_field(self.records, int(field[FIELD_SLOT.at]), int(field[FIELD_SLOT.size]))
        yield memoryview(self.bytes_at(field[TAIL]))


_JSON_SPACE = b" \t\n\r"
"""Whitespace that is allowed around a JSON text (RFC 8259)."""


def _content(part: _Part, field: OneField, raw: memoryview | None) -> bytes | None:
    """Return the value of a field, or else the bytes that it stands for."""
    if field[FIELD_SLOT.text_in]:
        text = part.bytes_at(field[TEXT]).strip(_JSON_SPACE)
        if text.startswith(b'"'):
            return json.loads(text).encode("utf-8", "surrogatepass")  # type: ignore[no-any-return]
        return None if text == b"null" else text
    return None if raw is None else bytes(raw)


_ENOUGH = 2 << 20
"""Bytes of text after which the lines are written."""

Hold = Callable[[bytes], tuple[int, int]]
"""Keeps a text as long as fields point to it: its place there and its size."""


def fill_fields(topic: InternalTopic, records: Records, fields: Fields, first: int, hold: Hold) -> int:
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
        for field, text in zip(fields[2 * number : 2 * number + 2], texts, strict=True):
            if text is not None:
                field[TEXT] = IN_HELD, *hold(text.encode())
                made += len(text)
        if decoded.error is not None:
            name, field = ("key", fields[2 * number]) if value is None else ("value", fields[2 * number + 1])
            field[TAIL] = IN_HELD, *hold(error_tail(name, decoded.error))
        if made > _ENOUGH:
            return number + 1
    return len(records)
