"""Keys and values on their way to decoded lines: which schema each one names, and the JSON text that it becomes.

The wire format is Confluent's: a byte 0 and an int32 id, or a byte 1 and a GUID of 16 bytes, in front of the payload or
in the last header of a reserved name. Source: confluentinc/schema-registry, SchemaId.
"""

from kafkafs.format.native.kernels.avro import put_avro
from kafkafs.format.native.kernels.json_text import check_json, put_clean_json
from kafkafs.format.native.kernels.machine import (
    called,
    constant,
    inlined,
    load_i32,
    load_i32be,
    load_i64,
    load_i64be,
    load_u8,
    store_64,
)
from kafkafs.format.native.kernels.varint import varint
from kafkafs.format.native.layout import (
    AVRO_NO_ROOM,
    CELL_AT,
    CELL_HEADER_GUID,
    CELL_HEADER_ID,
    CELL_NULL,
    CELL_PLAIN,
    CELL_PREFIX_GUID,
    CELL_PREFIX_ID,
    CELL_WORDS,
    DECODED_ALL,
    DECODED_ASKS,
    DECODED_NO_ROOM,
    DECODER_CODE,
    DECODER_POOL,
    DECODER_ROW,
    DECODER_WAY,
    JSON_AS_IS,
    JSON_MISFIT,
    JSON_NONE,
    RECORD_AT,
    RECORD_ROW,
    TEXT_FACTOR,
    TEXT_LEAST,
    TEXT_MOST,
    WAY_AVRO,
    WAY_JSON,
    WAY_NONE,
    WAY_PYTHON,
)

_ID, _GUID = 5, 17  # bytes, with the first that tells which
_key_header = constant("key_schema_header", b"__key_schema_id")
_value_header = constant("value_schema_header", b"__value_schema_id")
_KEY_HEADER_SIZE, _VALUE_HEADER_SIZE = len(b"__key_schema_id"), len(b"__value_schema_id")


@inlined
def _is_name(at: int, size: int, name: int, name_size: int) -> bool:
    if size != name_size:
        return False
    same = True
    for index in range(name_size):
        same = same and load_u8(at + index) == load_u8(name + index)
    return same


@inlined
def _names_schema(at: int, size: int) -> int:
    """_ID or _GUID, the bytes of a schema's name that stand at `at`; 0 where none does."""
    if size >= _ID and load_u8(at) == 0:
        return _ID
    return _GUID if size >= _GUID and load_u8(at) == 1 else 0


@inlined
def _take_name(cell: int, at: int, named: int, with_id: int, with_guid: int) -> None:
    if named == _ID:
        store_64(cell + CELL_AT.kind, with_id)
        store_64(cell + CELL_AT.id, load_i32be(at + 1))
    else:
        store_64(cell + CELL_AT.kind, with_guid)
        store_64(cell + CELL_AT.id, load_i64be(at + 1))
        store_64(cell + CELL_AT.guid_rest, load_i64be(at + 9))


@called
def _look_in_headers(row: int, data: int, key: int, value: int) -> None:
    """Takes the schemas that headers name: the last header of a name counts."""
    at = data + load_i64(row + RECORD_AT.headers_at)
    end = at + load_i32(row + RECORD_AT.headers_size)
    for _ in range(load_i32(row + RECORD_AT.header_count)):
        size, name_at = varint(at, end)
        if name_at == 0 or size < 0 or size > end - name_at:  # cannot be: decoding looked at them
            return
        name_size = size
        size, value_at = varint(name_at + name_size, end)
        if value_at == 0 or size > end - value_at:
            return
        at = value_at + max(size, 0)
        cell = 0
        if _is_name(name_at, name_size, _value_header(), _VALUE_HEADER_SIZE):
            cell = value
        elif _is_name(name_at, name_size, _key_header(), _KEY_HEADER_SIZE):
            cell = key
        if cell and load_i64(cell + CELL_AT.kind) != CELL_NULL:
            named = _names_schema(value_at, size)
            if named:
                _take_name(cell, value_at, named, CELL_HEADER_ID, CELL_HEADER_GUID)
                store_64(cell + CELL_AT.payload_at, load_i64(cell + CELL_AT.at))
                store_64(cell + CELL_AT.payload_size, load_i64(cell + CELL_AT.size))
                store_64(cell + CELL_AT.indexes_at, value_at + named - data)
                store_64(cell + CELL_AT.indexes_size, size - named)


@inlined
def _look(cell: int, data: int, at: int, size: int) -> None:
    """Fills a cell by the bytes of the key or value alone."""
    for word in range(0, 8 * CELL_WORDS, 8):
        store_64(cell + word, 0)
    store_64(cell + CELL_AT.decoder, -1)
    store_64(cell + CELL_AT.at, at)
    store_64(cell + CELL_AT.size, size)
    if size < 0:
        return
    store_64(cell + CELL_AT.kind, CELL_PLAIN)
    named = _names_schema(data + at, size)
    if named:
        _take_name(cell, data + at, named, CELL_PREFIX_ID, CELL_PREFIX_GUID)
        store_64(cell + CELL_AT.payload_at, at + named)
        store_64(cell + CELL_AT.payload_size, size - named)


def find_cells(rows: int, count: int, data: int, cells: int) -> int:
    """Kernel: two cells for each of `count` records, the key's and the value's; how many name a schema."""
    named = 0
    for index in range(count):
        row, key = rows + index * RECORD_ROW, cells + index * 16 * CELL_WORDS
        value = key + 8 * CELL_WORDS
        _look(key, data, load_i64(row + RECORD_AT.key_at), load_i32(row + RECORD_AT.key_size))
        _look(value, data, load_i64(row + RECORD_AT.value_at), load_i32(row + RECORD_AT.value_size))
        if load_i32(row + RECORD_AT.header_count):
            _look_in_headers(row, data, key, value)
        named += 1 if load_i64(key + CELL_AT.kind) > CELL_PLAIN else 0
        named += 1 if load_i64(value + CELL_AT.kind) > CELL_PLAIN else 0
    return named


@inlined
def _allowed(size: int) -> int:
    return min(TEXT_LEAST + TEXT_FACTOR * size, TEXT_MOST)


@called
def _put_json(cell: int, at: int, size: int, limit: int, to: int, room_end: int, scratch: int) -> int:
    """Takes a JSON text for the cell's: the address behind what is written; 0: none, or too long; AVRO_NO_ROOM."""
    verdict = check_json(at, size, limit, scratch)
    if verdict == JSON_NONE:
        return 0
    if verdict == JSON_AS_IS:
        store_64(cell + CELL_AT.text, at)
        store_64(cell + CELL_AT.text_size, size)
        return to
    if 6 * size + 64 > TEXT_MOST:
        return 0
    if room_end - to < 6 * size + 64:
        return AVRO_NO_ROOM
    behind = put_clean_json(to, at, size, limit)
    store_64(cell + CELL_AT.text, to)
    store_64(cell + CELL_AT.text_size, behind - to)
    return behind


@called
def _decode(cell: int, decoder: int, data: int, limit: int, to: int, room_end: int, scratch: int) -> int:
    """By the schema that the cell names: the address behind what is written; why not, where it is negative."""
    at, size = data + load_i64(cell + CELL_AT.payload_at), load_i64(cell + CELL_AT.payload_size)
    if load_i64(decoder + DECODER_WAY) == WAY_JSON:
        behind = _put_json(cell, at, size, limit, to, room_end, scratch)
        return behind if behind else JSON_MISFIT
    code, pool = load_i64(decoder + DECODER_CODE), load_i64(decoder + DECODER_POOL)
    end = min(room_end, to + _allowed(size))
    behind = put_avro(code, pool, at, size, limit, to, end, scratch, cell + CELL_AT.error_at)
    if behind >= 0:
        store_64(cell + CELL_AT.text, to)
        store_64(cell + CELL_AT.text_size, behind - to)
    return behind


def decode_cells(
    cells: int, first: int, stop: int, data: int, size: int, decoders: int, out: int, capacity: int, scratch: int,
    result: int,
) -> int:  # fmt: skip
    """Kernel: the JSON texts of cells [first, stop), one behind the other in `capacity` bytes at `out`.

    A cell whose payload does not fit keeps why; one that is JSON text points to itself. Answers DECODED_ALL;
    DECODED_NO_ROOM before a cell whose text has no room; DECODED_ASKS before one that no kernel can decode. result:
    that cell, and the bytes used.
    """
    to, limit, room_end, number, answer = out, data + size, out + capacity, first, DECODED_ALL
    while number < stop:
        cell = cells + number * 8 * CELL_WORDS
        if load_i64(cell + CELL_AT.kind) != CELL_NULL:
            row = load_i64(cell + CELL_AT.decoder)
            decoder = decoders + max(row, 0) * DECODER_ROW
            way = load_i64(decoder + DECODER_WAY) if row >= 0 else WAY_NONE
            if way == WAY_PYTHON:
                answer = DECODED_ASKS
                break
            behind = 0
            if way in (WAY_AVRO, WAY_JSON):
                behind = _decode(cell, decoder, data, limit, to, room_end, scratch)
                allowed = _allowed(load_i64(cell + CELL_AT.payload_size))
                if behind == AVRO_NO_ROOM and room_end - to < allowed:
                    answer = DECODED_NO_ROOM
                    break
                if behind < 0:
                    store_64(cell + CELL_AT.error, behind)
            if behind <= 0:
                whole = load_i64(cell + CELL_AT.size)
                behind = _put_json(cell, data + load_i64(cell + CELL_AT.at), whole, limit, to, room_end, scratch)
                if behind < 0:
                    answer = DECODED_NO_ROOM
                    break
            to = max(behind, to)
        number += 1
    store_64(result, number)
    store_64(result + 8, to - out)
    return answer


def type_cells(
    cells: int, first: int, stop: int, data: int, size: int, decoders: int, out: int, capacity: int, scratch: int,
    result: int,
) -> int:  # fmt: skip
    """Kernel: as `decode_cells`, for what becomes columns: only what a program decodes, and nothing between the texts.

    A cell without a text keeps why, or names no schema.
    """
    to, limit, room_end, number, answer = out, data + size, out + capacity, first, DECODED_ALL
    while number < stop:
        cell = cells + number * 8 * CELL_WORDS
        row = load_i64(cell + CELL_AT.decoder)
        decoder = decoders + max(row, 0) * DECODER_ROW
        if row >= 0 and load_i64(decoder + DECODER_WAY) == WAY_AVRO:
            behind = _decode(cell, decoder, data, limit, to, room_end, scratch)
            if behind == AVRO_NO_ROOM and room_end - to < _allowed(load_i64(cell + CELL_AT.payload_size)):
                answer = DECODED_NO_ROOM
                break
            if behind < 0:
                store_64(cell + CELL_AT.error, behind)
            to = max(behind, to)
        number += 1
    store_64(result, number)
    store_64(result + 8, to - out)
    return answer
