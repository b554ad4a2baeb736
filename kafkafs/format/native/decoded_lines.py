"""Keys and values on their way to decoded lines: which schema each one names, the JSON text that it becomes, and the
lines, as `json_lines` writes them, with the text and the tail of each.

The wire format is Confluent's: a byte 0 and an int32 id, or a byte 1 and a GUID of 16 bytes, in front of the payload or
in the last header of a reserved name. Source: confluentinc/schema-registry, SchemaId.
"""

import cython

from kafkafs.format.native.avro import put_avro
from kafkafs.format.native.json_lines import WORDS, WORST, headers_bound, put_all_headers, put_prefix, put_times
from kafkafs.format.native.json_text import check_json, put_clean_json
from kafkafs.format.native.layout import *
from kafkafs.format.native.primitives import *
from kafkafs.format.native.text import put_field, put_number
from kafkafs.format.native.varint import varint

_ID, _GUID = 5, 17  # bytes, with the first that tells which
_KEY_HEADER, _VALUE_HEADER = b"__key_schema_id", b"__value_schema_id"


@inlined
def _is_name(data: Span, at: Int, size: Int, name: Span) -> Int:
    return 1 if size == name.nbytes and same_bytes(data, at, name, 0, size) else 0


@inlined
def _names_schema(data: Span, at: Int, size: Int) -> Int:
    """_ID or _GUID, the bytes of a schema's name that stand at `at`; 0 where none does."""
    if size >= _ID and load_u8(data, at) == 0:
        return _ID
    return _GUID if size >= _GUID and load_u8(data, at) == 1 else 0


@inlined
def _take_name(field: Field, data: Span, at: Int, named: Int, with_id: Int, with_guid: Int) -> None:
    if named == _ID:
        field.kind = with_id
        field.id = load_i32be(data, at + 1)
    else:
        field.kind = with_guid
        field.id = load_i64be(data, at + 1)
        field.guid_rest = load_i64be(data, at + 9)


@native
def _take_from_header(field: Field, data: Span, at: Int, size: Int) -> None:
    """The schema that a header's value names, if it names one and there is a payload."""
    named = _names_schema(data, at, size)
    if field.kind != FIELD_NULL and named:
        _take_name(field, data, at, named, FIELD_HEADER_ID, FIELD_HEADER_GUID)
        field.payload_at = field.at
        field.payload_size = field.size
        field.indexes_at = at + named
        field.indexes_size = size - named


@native
def _look_in_headers(row: Record, data: Span, key: Field, value: Field) -> None:
    """Takes the schemas that headers name: the last header of a name counts."""
    at: Int = row.headers_at
    end: Int = at + row.headers_size
    for _ in range(row.header_count):
        name_size, name_at = varint(data, at, end)
        if name_at < 0 or name_size < 0 or name_size > end - name_at:  # cannot be: decoding looked at them
            return
        size, value_at = varint(data, name_at + name_size, end)
        if value_at < 0 or size > end - value_at:
            return
        at = value_at + max(size, 0)
        if _is_name(data, name_at, name_size, _VALUE_HEADER):
            _take_from_header(value, data, value_at, size)
        elif _is_name(data, name_at, name_size, _KEY_HEADER):
            _take_from_header(key, data, value_at, size)


@native
def _look(fields: Span, number: Int, data: Span, at: Int, size: Int) -> None:
    """Fills a field by the bytes of the key or value alone."""
    for word in range(FIELD_WORDS):
        store_64(fields, 8 * (number * FIELD_WORDS + word), 0)
    field = field_at(fields, number)
    field.decoder = -1
    field.at = at
    field.size = size
    if size < 0:
        return
    field.kind = FIELD_PLAIN
    named = _names_schema(data, at, size)
    if named:
        _take_name(field, data, at, named, FIELD_PREFIX_ID, FIELD_PREFIX_GUID)
        field.payload_at = at + named
        field.payload_size = size - named


def find_fields(record_table: object, count: Int, source: object, target: object) -> int:
    """Kernel: two fields for each of `count` records, the key's and the value's; how many name a schema."""
    rows, data, fields = span(record_table), span(source), room(target)
    named: Int = 0
    with cython.nogil:
        for index in range(count):
            row = record_at(rows, index)
            _look(fields, 2 * index, data, row.key_at, row.key_size)
            _look(fields, 2 * index + 1, data, row.value_at, row.value_size)
            key, value = field_at(fields, 2 * index), field_at(fields, 2 * index + 1)
            if row.header_count:
                _look_in_headers(row, data, key, value)
            named += (1 if key.kind > FIELD_PLAIN else 0) + (1 if value.kind > FIELD_PLAIN else 0)
    return named


@inlined
def _allowed(size: Int) -> Int:
    return min(TEXT_LEAST + TEXT_FACTOR * size, TEXT_MOST)


@native
def _put_json(field: Field, data: Span, at: Int, size: Int, out: Span, to: Int, scratch: Span) -> Int:
    """Takes a JSON text for the field's: the place behind what is written; AVRO_NO_ROOM; JSON_MISFIT if it is none."""
    verdict = check_json(data, at, size, scratch)
    if verdict == JSON_NONE:
        return JSON_MISFIT
    if verdict == JSON_AS_IS:
        field.text_in = IN_DATA
        field.text = at
        field.text_size = size
        return to
    if 6 * size + 64 > TEXT_MOST:
        return JSON_MISFIT
    if out.nbytes - to < 6 * size + 64:
        return AVRO_NO_ROOM
    behind = put_clean_json(out, to, data, at, size)
    field.text_in = IN_TEXTS
    field.text = to
    field.text_size = behind - to
    return behind


@native
def _put_by_program(
    field: Field, decoders: Span, code: Span, pool: Span, data: Span, out: Span, to: Int, scratch: Span
) -> Int:  # fmt: skip
    """The text of a payload of Avro: the place behind what is written; why not, where it is negative."""
    start = load_i64(decoders, field.decoder * DECODER_ROW + DECODER_CODE)
    base = load_i64(decoders, field.decoder * DECODER_ROW + DECODER_POOL)
    end: Int = min(out.nbytes, to + _allowed(field.payload_size))
    behind, seen = put_avro(
        code, start, pool, base, data, field.payload_at, field.payload_size, out, to, end, scratch
    )  # fmt: skip
    field.error_at = seen
    if behind >= 0:
        field.text_in = IN_TEXTS
        field.text = to
        field.text_size = behind - to
    return behind


@inlined
def _lacks_room(field: Field, behind: Int, room_left: Int) -> Int:
    """True if the text did not fit only for want of room, so that there may be more."""
    return 1 if behind == AVRO_NO_ROOM and room_left < _allowed(field.payload_size) else 0


@inlined
def _way_of(field: Field, decoders: Span) -> Int:
    return load_i64(decoders, field.decoder * DECODER_ROW + DECODER_WAY) if field.decoder >= 0 else WAY_NONE


@native
def _decode(
    field: Field, way: Int, typed: Int, decoders: Span, code: Span, pool: Span, data: Span, out: Span, to: Int,
    scratch: Span,
) -> Int:  # fmt: skip
    """The text of one field: the place behind what is written, `to` where nothing is; AVRO_NO_ROOM."""
    behind: Int = JSON_MISFIT
    if way in (WAY_AVRO, WAY_JSON):
        if way == WAY_AVRO:
            behind = _put_by_program(field, decoders, code, pool, data, out, to, scratch)
        else:
            behind = _put_json(field, data, field.payload_at, field.payload_size, out, to, scratch)
        if _lacks_room(field, behind, out.nbytes - to):
            return AVRO_NO_ROOM
        if behind < 0:
            field.error = behind
    if typed:
        return max(behind, to)
    if behind < 0:
        behind = _put_json(field, data, field.at, field.size, out, to, scratch)
    return to if behind == JSON_MISFIT else behind


def decode_fields(
    field_table: object, first: Int, stop: Int, source: object, decoder_table: object, program: object,
    literals: object, target: object, used: Int, working: object, typed: Int,
) -> tuple[int, int, int]:  # fmt: skip
    """Kernel: the JSON texts of fields [first, stop), one behind the other in `target`, of which `used` bytes are full.

    A field whose payload does not fit keeps why; one that is JSON text points to itself. `program` and `literals` have
    those of all decoders. The answer: DECODED_ALL; DECODED_NO_ROOM before a field whose text has no room; DECODED_ASKS
    before one that no kernel can decode; then that field, and how many bytes are taken. `typed`: the texts become
    columns, so a field has one only if a program decodes it, and no other is asked for.
    """
    fields, data, out, scratch = room(field_table), span(source), room(target), room(working)
    decoders, code, pool = span(decoder_table), span(program), span(literals)
    answer: Int = DECODED_ALL
    with cython.nogil:
        while first < stop:
            field = field_at(fields, first)
            way = _way_of(field, decoders)
            if way == WAY_AVRO if typed else field.kind != FIELD_NULL:
                if way == WAY_PYTHON:
                    answer = DECODED_ASKS
                    break
                behind = _decode(field, way, typed, decoders, code, pool, data, out, used, scratch)
                if behind < 0:
                    answer = DECODED_NO_ROOM
                    break
                used = behind
            first += 1
    return answer, first, used


@inlined
def _field_bound(field: Field) -> Int:
    text: Int = field.text_size if field.text_in else max(field.size, 0) * WORST
    tail: Int = field.tail_size
    return text + tail


@inlined
def _decoded_bound(row: Record, key: Field, value: Field, prefix_size: Int) -> Int:
    """More bytes than the line of a record can have."""
    return prefix_size + WORDS + _field_bound(key) + _field_bound(value) + headers_bound(row)


@inlined
def _copied(out: Span, to: Int, data: Span, at: Int, size: Int) -> Int:
    copy_bytes(out, to, data, at, size)
    return to + size


@native
def _put_field_and_tail(out: Span, to: Int, field: Field, data: Span, texts: Span, held: Span, tails: Span) -> Int:
    """The rest of a field whose name has been begun, and its tail."""
    if field.text_in == IN_DATA:
        to = _copied(out, put(out, to, b'":'), data, field.text, field.text_size)
    elif field.text_in == IN_TEXTS:
        to = _copied(out, put(out, to, b'":'), texts, field.text, field.text_size)
    elif field.text_in == IN_HELD:
        to = _copied(out, put(out, to, b'":'), held, field.text, field.text_size)
    else:
        to = put_field(out, to, data, field.at, field.size)
    if field.tail_in == IN_TAILS:
        return _copied(out, to, tails, field.tail, field.tail_size)
    if field.tail_in == IN_HELD:
        return _copied(out, to, held, field.tail, field.tail_size)
    return to


def decoded_lines(
    record_table: object, field_table: object, first: Int, stop: Int, source: object, text_source: object,
    held_source: object, tail_source: object, beginning: object, prefix_size: Int, target: object,
) -> tuple[int, int]:  # fmt: skip
    """Kernel: the lines of rows [first, stop) with their fields, two a row, whose texts and tails are in those sources.

    As `json_lines`: ends before a line that might not fit into `target`. The answer: how many bytes the lines have, and
    the row that it ended before.
    """
    rows, fields, prefix, out = span(record_table), span(field_table), span(beginning), room(target)
    data, texts, held, tails = span(source), span(text_source), span(held_source), span(tail_source)
    to: Int = 0
    with cython.nogil:
        while first < stop:
            row, key, value = record_at(rows, first), field_at(fields, 2 * first), field_at(fields, 2 * first + 1)
            if _decoded_bound(row, key, value, prefix_size) > out.nbytes - to:
                break
            to = put_number(out, put_prefix(out, to, prefix, prefix_size), row.offset)
            to = put(out, _put_field_and_tail(out, put_times(out, to, row), key, data, texts, held, tails), b',"value')
            to = _put_field_and_tail(out, to, value, data, texts, held, tails)
            to = put_all_headers(out, to, data, row)
            first += 1
    return to, first
