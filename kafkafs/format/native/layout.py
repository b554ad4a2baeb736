"""The tables that kernels fill, as numpy sees them: a row a batch, a row a record; and where each field lies in a row.

A record's row is one cache line. Fields are in the machine's own byte order.
"""

import numpy as np

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
        ("magic", "i1"),  # of the record itself: v0 can stand inside v1
        ("padding", "V2"),
    ]
)
NO_TIMESTAMP_TYPE, CREATE_TIME, LOG_APPEND_TIME = -1, 0, 1


def _places(row: np.dtype[np.void]) -> tuple[int, ...]:
    return tuple(row.fields[name][1] for name in row.names or () if row.fields and name != "padding")


BATCH_ROW, RECORD_ROW = BATCH.itemsize, RECORD.itemsize
(
    BATCH_POSITION,
    BATCH_SIZE,
    BATCH_BASE_OFFSET,
    BATCH_LAST_OFFSET,
    BATCH_BASE_TIMESTAMP,
    BATCH_MAX_TIMESTAMP,
    BATCH_PRODUCER_ID,
    BATCH_LEADER_EPOCH,
    BATCH_CRC,
    BATCH_BASE_SEQUENCE,
    BATCH_COUNT,
    BATCH_ATTRIBUTES,
    BATCH_PRODUCER_EPOCH,
    BATCH_MAGIC,
    BATCH_VALID,
) = _places(BATCH)
(
    RECORD_OFFSET,
    RECORD_TIMESTAMP,
    RECORD_KEY_AT,
    RECORD_VALUE_AT,
    RECORD_HEADERS_AT,
    RECORD_KEY_SIZE,
    RECORD_VALUE_SIZE,
    RECORD_HEADER_COUNT,
    RECORD_HEADERS_SIZE,
    RECORD_BATCH,
    RECORD_TIMESTAMP_TYPE,
    RECORD_MAGIC,
) = _places(RECORD)

# What a dump's lines show of a record: two bits, then two each for the decoders of key and value.
DUMP_METADATA, DUMP_CONTENTS = 1, 2
DUMP_KEY, DUMP_VALUE = 2, 4
DUMP_STRING, DUMP_LONG, DUMP_INTEGER, DUMP_BYTES = range(4)
DUMP_ODD = -1  # a record that its kernel does not know

# The table that `arrow_columns` and `arrow_headers` work from: places in bytes. Each column of bytes has six numbers.
COLUMN_ENDS, COLUMN_BYTES, COLUMN_BITS, COLUMN_ROWS, COLUMN_USED, COLUMN_NULLS = range(0, 48, 8)
ARROW_ROW, ARROW_OFFSETS, ARROW_TIMESTAMPS, ARROW_TYPES = range(0, 32, 8)
ARROW_KEYS, ARROW_VALUES, ARROW_HEADER_LISTS, ARROW_HEADER_NAMES, ARROW_HEADER_VALUES = range(32, 32 + 5 * 48, 48)
ARROW_TABLE = 32 + 5 * 48

# How a walk over batches ends.
WALK_END, WALK_CUT, WALK_BROKEN, WALK_FULL = range(4)

# How a batch is decoded; OUTSIDE: its row and the data do not belong together.
WAY_PLAIN_V2, WAY_PLAIN_LEGACY, WAY_PACKED_V2, WAY_PACKED_LEGACY, WAY_BAD_CRC, WAY_TOO_LARGE, WAY_OUTSIDE = range(7)

# What is wrong inside a batch. `records` has a sentence for each.
(
    SOUND,
    COUNT_NEGATIVE,
    RECORDS_CUT,
    VARINT_BAD,
    LENGTH_BAD,
    KEY_BAD,
    VALUE_BAD,
    HEADERS_BAD,
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

# The table of a glance: int64 numbers by the byte they lie at, see kernels.glance.
(
    GLANCE_LOG,  # descriptor
    GLANCE_INDEX,  # descriptor of the offset index, how many entries it has; what its first and its last page begin
    GLANCE_ENTRIES,  # with, where that is known: it is noted for the next glance
    GLANCE_FIRST,
    GLANCE_LAST,
    GLANCE_TIMES,  # the same of the time index
    GLANCE_TIME_ENTRIES,
    GLANCE_TIME_FIRST,
    GLANCE_TIME_LAST,
    GLANCE_FLAGS,  # of each read
    GLANCE_ROOM,  # address and size of the buffer to read into
    GLANCE_ROOM_SIZE,
    GLANCE_SOUGHT,  # the offset from which on a batch may be wanted
    GLANCE_BASE,  # offset of the segment: all offsets lie at or behind it
    GLANCE_NEXT_BASE,  # all offsets lie below
    GLANCE_END,  # position at which the log ends
    GLANCE_SEEN_SIZE,  # the log's size and time of change, in nanoseconds, when it was looked at
    GLANCE_SEEN_TIME,
    GLANCE_OFFSET,  # of the batch wanted: its last offset is at or after this one
    GLANCE_TIMESTAMP,  # and its largest timestamp at or after this one
    GLANCE_NEED,  # what is needed of a batch that is known: all of it (NEED_ALL), its header, or one record
    GLANCE_KNOWN,  # address of the table of batches that were found sound, see kernels.known
    GLANCE_WAYPOINTS,  # address of the table of places inside of large ones
    GLANCE_GENERATION,  # what the segment's batches are known by in both
    GLANCE_PROVEN,  # answer: where the batch was known, how many bytes of it were read; else 0
    GLANCE_BEFORE,  # answer: where its first records were left out, the offset of the last of those; else ANY
    GLANCE_POSITION,  # answer: of the batch, in the segment
    GLANCE_AT,  # answer: of the batch, in the buffer
    GLANCE_SHORT,  # answer: whether a read failed, or brought less than was asked for
    GLANCE_PLACE,  # an iovec: address and size
    GLANCE_PLACE_SIZE,
    GLANCE_ABOUT,  # what `statx` says of the log
) = range(0, 32 * 8, 8)
GLANCE_TABLE = GLANCE_ABOUT // 8 + 32
GLANCE_ANY = -(2**63)
GLANCE_UNSURE, GLANCE_FOUND, GLANCE_CHANGED = range(3)
NEED_ALL, NEED_HEADER, NEED_RECORD = range(3)

# What is known of a batch: its checksum holds and another follows; also, its records reach its largest timestamp.
KNOWN_SOUND, KNOWN_TIMES = range(2)
KNOWN_SLOTS_BITS = 15
WAYPOINT_SLOTS_BITS = 16
WAYPOINT_ROW = 32
WAYPOINT_EVERY = 16 << 10  # bytes of a batch
KNOWN_FACTOR = 0x9E3779B97F4A7C15 - 2**64

# What a search for one record of a batch ends with.
SEEK_NONE, SEEK_FOUND = range(2)

# What unpacking answers instead of a number of bytes.
CODEC_BROKEN, CODEC_NO_ROOM = -1, -2
