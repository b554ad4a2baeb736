"""The tables that kernels fill, as numpy sees them: a row a batch, a row a record; and where each field lies in a row.

A record's row is one cache line. Fields are in the machine's own byte order.
"""

from typing import NamedTuple

import numpy as np


class HeaderV2(NamedTuple):
    """The place of each field of a v2 batch header, in bytes from its first. Big-endian. Source: DefaultRecordBatch."""

    base_offset: int = 0  # int64
    length: int = 8  # int32, of all that follows
    leader_epoch: int = 12  # int32; outside the CRC, as is all before it
    magic: int = 16  # int8
    crc: int = 17  # uint32, CRC-32C of all that follows
    attributes: int = 21  # int16
    last_offset_delta: int = 23  # int32
    base_timestamp: int = 27  # int64, or delete horizon; [ms]
    max_timestamp: int = 35  # int64, [ms]
    producer_id: int = 43  # int64
    producer_epoch: int = 51  # int16
    base_sequence: int = 53  # int32
    record_count: int = 57  # int32
    records: int = 61  # the first byte behind the header


class LegacyHeader(NamedTuple):
    """The place of each field of a v0 or v1 message, as in `HeaderV2`. v0 has no timestamp. Source: LegacyRecord."""

    offset: int = 0  # int64; of a wrapper its last one
    length: int = 8  # int32, of all that follows
    crc: int = 12  # uint32, CRC-32 of all that follows
    magic: int = 16  # int8
    attributes: int = 17  # int8
    timestamp: int = 18  # int64, [ms]


V2, MESSAGE = HeaderV2(), LegacyHeader()  # constants of C when compiled
LENGTH_END = 12
"""The length does not count itself and the offset before it."""

BATCH = np.dtype(
    [
        ("position", "i8"),  # in the segment, of the entry's first byte
        ("size", "i8"),  # whole, with the 12 bytes that its own size field leaves out
        ("base_offset", "i8"),  # in a compressed v0 or v1 message: the last offset again
        ("last_offset", "i8"),
        ("base_timestamp", "i8"),  # or delete horizon; [ms]
        ("max_timestamp", "i8"),
        ("producer_id", "i8"),
        ("leader_epoch", "i4"),
        ("crc", "u4"),
        ("base_sequence", "i4"),
        ("count", "i4"),  # as stated; 1 for a v0 or v1 message
        ("attributes", "i2"),
        ("producer_epoch", "i2"),
        ("magic", "i1"),
        ("valid", "i1"),  # VALID, INVALID or UNCHECKED
        ("padding", "V2"),
    ]
)
VALID, INVALID, UNCHECKED = 1, 0, -1

RECORD = np.dtype(
    [
        ("offset", "i8"),
        ("timestamp", "i8"),  # [ms]; -1 for none
        ("key_at", "i8"),  # byte in the data buffer, also where the key is null or empty
        ("value_at", "i8"),
        ("headers_at", "i8"),  # behind their count
        ("key_size", "i4"),  # -1 for null
        ("value_size", "i4"),  # -1 for null
        ("header_count", "i4"),
        ("headers_size", "i4"),
        ("batch", "i4"),  # row of its batch in the table that was decoded
        ("timestamp_type", "i1"),  # NO_TIMESTAMP_TYPE, CREATE_TIME or LOG_APPEND_TIME
        ("magic", "i1"),  # the record's own: v0 can be inside v1
        ("padding", "V2"),
    ]
)
NO_TIMESTAMP_TYPE, CREATE_TIME, LOG_APPEND_TIME = -1, 0, 1

RECORD_ALONE, RECORD_SAME, RECORD_UNLIKE = 0, 1, 2
"""A record beside another log: nothing has its offset there, or the same record has it, or another one."""


RECORD_ROW = RECORD.itemsize

# The parts of a record in a dump's lines: two bits, then two each for the decoders of key and value.
DUMP_METADATA, DUMP_CONTENTS = 1, 2
DUMP_KEY, DUMP_VALUE = 2, 4
DUMP_STRING, DUMP_LONG, DUMP_INTEGER, DUMP_BYTES = range(4)
DUMP_ODD = -1  # a record that its kernel does not know

# The six numbers that a column of bytes begins with (native.columns): places in bytes. The first three tell places.
COLUMN_ENDS, COLUMN_BYTES, COLUMN_BITS, COLUMN_ROWS, COLUMN_USED, COLUMN_NULLS = range(0, 48, 8)
COLUMN_NUMBERS = 48

# The state between two calls that make indexes (native.indexing): places in bytes. And the sizes of entries.
INDEXED_AT, LARGEST_TIME, LARGEST_TIME_OFFSET, LAST_TIME_ENTRY = range(0, 32, 8)
OFFSET_ENTRY, TIME_ENTRY = 8, 12

# How a walk over batches ends.
WALK_END, WALK_CUT, WALK_CORRUPT, WALK_FULL = range(4)

# The kind of a batch for its decoder; OUTSIDE: its row and the data do not belong together.
KIND_PLAIN_V2, KIND_PLAIN_LEGACY, KIND_PACKED_V2, KIND_PACKED_LEGACY = range(4)
KIND_INVALID, KIND_TOO_LARGE, KIND_OUTSIDE = range(4, 7)

# The faults inside a batch. `records` has a sentence for each.
(
    SOUND,
    COUNT_NEGATIVE,
    RECORDS_CUT,
    VARINT_CORRUPT,
    LENGTH_CORRUPT,
    KEY_CORRUPT,
    VALUE_CORRUPT,
    HEADERS_CORRUPT,
    RECORD_LEFTOVER,
    BATCH_LEFTOVER,
    OFFSET_ORDER,
    MESSAGE_SIZE,
    MESSAGE_MAGIC,
    MESSAGE_CRC,
    MESSAGE_NESTED,
    MESSAGE_NONE,
    MESSAGE_OFFSETS,
) = range(17)

# Results of a check of a JSON text, and its deepest nesting: Python's json reads 990 levels, jq 1.6 only 256.
JSON_NONE, JSON_AS_IS, JSON_TO_CLEAN = range(3)
JSON_DEPTH = 500

# A hash of the shape of a JSON value needs so many bytes beside those of the value, and tells of values nested so deep.
SHAPE_DEPTH = 64
SHAPE_ODD = 0

# A program that decodes Avro (format.schemas.avro_program): CODE_WORDS int64 an instruction.
CODE_OP, CODE_A, CODE_B, CODE_LITERAL, CODE_LITERAL_SIZE = range(0, 40, 8)
CODE_WORDS = 5
(
    AVRO_BOOL,
    AVRO_INT,
    AVRO_LONG,
    AVRO_FLOAT,
    AVRO_DOUBLE,
    AVRO_BYTES,  # b: 1 where all that is left is the value, unless it begins with its length
    AVRO_STRING,
    AVRO_FIXED,  # b: size
    AVRO_ENUM,  # a: where in the pool pairs of (place, size) stand, int32; b: how many
    AVRO_DECIMAL,  # a: scale; b: as of AVRO_BYTES
    AVRO_FIXED_DECIMAL,  # a: scale; b: size
    AVRO_BIG_DECIMAL,  # b: as of AVRO_BYTES
    AVRO_DATE,
    AVRO_TIME,  # a: digits of a second's fraction
    AVRO_TIMESTAMP,  # a: digits of a second's fraction; b: 1 for Z
    AVRO_UUID,  # b: 16
    AVRO_DURATION,  # b: 12
    AVRO_BITS,  # the bits of a double or a float as a number. a: AVRO_LONG, AVRO_FLOAT or AVRO_DOUBLE; b: 64 or 32 bits
    AVRO_LITERAL,  # the first that takes no single value
    AVRO_UNION,  # a: where in the pool the places of instructions stand, int32; b: how many
    AVRO_JUMP,  # a: instruction
    AVRO_ARRAY,  # a: instruction of its AVRO_NEXT
    AVRO_MAP,  # a: the same
    AVRO_NEXT,  # a: first instruction of the body; b: least bytes of an element, times four, and one of AVRO_...
    AVRO_CALL,  # a: instruction
    AVRO_RETURN,
    AVRO_REFUSE,  # columns have no place for it
    AVRO_END,
) = range(28)
AVRO_ITEMS, AVRO_ENTRIES, AVRO_PAIRS = range(3)  # an array; a map, as an object or as an array of keys and values
AVRO_DEPTH = 500  # containers and named types that are open at once
AVRO_FRAME = 16  # bytes of one
AVRO_SCRATCH = 16 << 10  # bytes: for frames, and for the digits of a decimal

# Why a payload does not fit its schema. `schemas.decoder_table` has a sentence for each; NO_ROOM is not its fault.
(
    AVRO_NO_ROOM,
    AVRO_CUT,
    AVRO_NUMBER_MISFIT,
    AVRO_LENGTH_MISFIT,
    AVRO_BOOL_MISFIT,
    AVRO_TEXT_MISFIT,
    AVRO_CHOICE_MISFIT,
    AVRO_COUNT_MISFIT,
    AVRO_TOO_DEEP,
    AVRO_LEFTOVER,
    AVRO_DECIMAL_MISFIT,
    AVRO_TIME_MISFIT,
    AVRO_NO_COLUMN,
) = range(-1, -14, -1)
JSON_MISFIT = -14  # a payload of a JSON schema that is no JSON text
ASKED_MISFIT = -15  # one that Python could not decode, for a reason of its own


class FieldRow(NamedTuple):
    """The facts about a key or a value on its way to a decoded line: int64, two fields a record, the key's first."""

    kind: int  # one of those below
    id: int  # the id of the schema, or the first half of its GUID
    guid_rest: int
    payload_at: int  # in the data, without a prefix
    payload_size: int
    text_in: int  # the place of the JSON text made of it: NOWHERE, IN_DATA, IN_TEXTS or IN_HELD,
    text: int  # at which byte there
    text_size: int
    tail_in: int  # the place of the text behind it (`,"valueSchema":...`, `,"valueError":...`): IN_HELD or IN_TAILS
    tail: int
    tail_size: int
    decoder: int  # row in the table of decoders; -1: none
    indexes_at: int  # in the data: what a header holds behind the id, Protobuf's message indexes
    indexes_size: int
    error: int  # AVRO_... or JSON_MISFIT where the payload does not fit; 0: none
    error_at: int  # byte of the payload
    size: int  # bytes of the whole key or value; -1 for null
    at: int


FIELD = np.dtype([(name, "i8") for name in FieldRow._fields])
FIELD_SLOT = FieldRow(*range(len(FieldRow._fields)))
FIELD_WORDS = len(FieldRow._fields)
NOWHERE, IN_DATA, IN_TEXTS, IN_HELD, IN_TAILS = range(5)  # the records' data; what the kernel wrote; what Python did
FIELD_NULL, FIELD_PLAIN, FIELD_PREFIX_ID, FIELD_PREFIX_GUID, FIELD_HEADER_ID, FIELD_HEADER_GUID = range(6)

# A row of the table of decoders: four int64; where the program and its literals begin, in bytes; the tail.
DECODER_ROW = 32
DECODER_WAY, DECODER_CODE, DECODER_POOL = range(0, 24, 8)
WAY_NONE, WAY_AVRO, WAY_JSON, WAY_PYTHON = range(4)  # what decodes

# Why `decode_fields` ended before the last field.
DECODED_ALL, DECODED_NO_ROOM, DECODED_ASKS = range(3)

# A payload may become this many bytes of text: some, and a multiple of its size.
TEXT_LEAST, TEXT_FACTOR, TEXT_MOST = 4 << 20, 256, 256 << 20

# In which fields of a record a needle is sought: bits.
NEEDLE_KEY, NEEDLE_VALUE, NEEDLE_HEADERS = 1, 2, 4
