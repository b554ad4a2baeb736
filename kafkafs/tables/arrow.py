"""Decoded records as Arrow batches, with the columns of Spark's Kafka source; no Python object for a record.

Pieces of records are gathered until a batch is worth sending; one kernel call a piece moves offsets, times, keys and
values into the batch's buffers, another the headers.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from kafkafs.errors import Unsupported
from kafkafs.format import kernels
from kafkafs.format.native import layout
from kafkafs.format.records import Records
from kafkafs.format.tables import Flags, Numbers

ROWS, BYTES = 1 << 14, 2 << 20
"""A batch is closed with the piece that reaches either."""

_SPARE = 16
_LAST_MS = (2**63 - 1) // 1000  # columns tell microseconds
_HEADER = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
_FIELDS = (
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("timestamp", pa.timestamp("us", tz="UTC")),
    pa.field("timestampType", pa.int32()),
)
HEADERS = pa.field("headers", pa.list_(_HEADER))
Item = TypeVar("Item")


def schema(headers: bool) -> pa.Schema:
    """The columns of Spark's Kafka source, `headers` among them where `includeHeaders` asks for them."""
    return pa.schema([*_FIELDS, HEADERS] if headers else _FIELDS)


def groups(pieces: Iterable[Records]) -> Iterator[list[Records]]:
    """The pieces that make a batch each."""
    return grouped((piece for piece in pieces if len(piece)), lambda piece: (len(piece), _size_of(piece)), ROWS, BYTES)


def grouped(
    items: Iterable[Item], measure: Callable[[Item], tuple[int, int]], rows: int, size: int
) -> Iterator[list[Item]]:
    """Items in order, in groups: each ends with the item that reaches so many rows or bytes, by `measure`."""
    group: list[Item] = []
    rows_so_far = size_so_far = 0
    for item in items:
        group.append(item)
        more_rows, more_bytes = measure(item)
        rows_so_far += more_rows
        size_so_far += more_bytes
        if rows_so_far >= rows or size_so_far >= size:
            yield group
            group, rows_so_far, size_so_far = [], 0, 0
    if group:
        yield group


def rows_and_bytes(batch: pa.RecordBatch) -> tuple[int, int]:
    """Rows and bytes of a batch."""
    return batch.num_rows, batch.nbytes


def together(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows with small batches combined: a task can have hundreds of partitions of a few records."""
    return map(_one, grouped(batches, rows_and_bytes, ROWS, BYTES))


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


class BatchMaker:
    """Makes the batches of one partition."""

    def __init__(self, topic: str, partition: int, headers: bool, *, far_as_null: bool = False) -> None:
        """`far_as_null`: a timestamp that no column can hold is null, and no error."""
        self._constant, self._headers, self._far_as_null = _Constants(topic, partition), headers, far_as_null

    def batch(self, group: list[Records]) -> pa.RecordBatch:
        """The columns of all records of some pieces."""
        if not self._far_as_null:
            _check_times(group, self._constant)
        return _batch(group, sum(map(len, group)), self._constant, self._headers)


def _size_of(piece: Records) -> int:
    return _sum(piece, "key_size") + _sum(piece, "value_size") + _sum(piece, "headers_size")


def _sum(piece: Records, field: str) -> int:
    return int(np.maximum(piece.rows[field], 0).sum(dtype=np.int64))


class _Constants:
    """The columns that are the same in each row, made for the longest batch so far and cut to length.

    The first ones are no longer than their batch: many partitions have one small batch, and it keeps them in memory.
    """

    def __init__(self, topic: str, partition: int) -> None:
        self._topic, self._partition = topic, partition
        self.place = f"{topic}-{partition}"
        self._made = 0

    def of(self, rows: int) -> tuple[pa.Array, pa.Array]:
        """Topics and partitions for so many rows, as slices of what is made once."""
        if rows > self._made:
            self._made = max(rows, ROWS) if self._made else rows
            topic = self._topic.encode()
            ends = np.array([0, len(topic)], np.int32)
            texts = pa.StringArray.from_buffers(1, pa.py_buffer(ends), pa.py_buffer(topic))
            self._topics = pa.repeat(texts[0], self._made)
            self._partitions = numbers_column(np.full(self._made, self._partition, np.int32), pa.int32())
        return self._topics.slice(0, rows), self._partitions.slice(0, rows)


class _Bytes:
    """A column of bytes as the kernels fill it: a block of six numbers, ends, bits that tell null, and the bytes."""

    def __init__(self, rows: int, size: int) -> None:
        ends = layout.COLUMN_NUMBERS
        bits = ends + (rows + 2) // 2 * 8
        content = bits + rows // 64 * 8 + 8
        self.block = np.empty(content + size + _SPARE, np.uint8)
        self.block[:content] = 0
        self._numbers = self.block[: layout.COLUMN_NUMBERS].view(np.int64)
        self._numbers[:3] = ends, content, bits

    def _buffer(self, place: int, size: int | None = None) -> pa.Buffer:
        return pa.py_buffer(self.block).slice(int(self._numbers[place // 8]), size)

    @property
    def rows(self) -> int:
        """How many the kernel has put in."""
        return int(self._numbers[layout.COLUMN_ROWS // 8])

    def array(self, kind: pa.DataType) -> pa.Array:
        """The column as an Arrow array that owns these buffers."""
        used, nulls = int(self._numbers[layout.COLUMN_USED // 8]), int(self._numbers[layout.COLUMN_NULLS // 8])
        bits = self._buffer(layout.COLUMN_BITS) if nulls else None
        content = self._buffer(layout.COLUMN_BYTES, used)
        return pa.Array.from_buffers(kind, self.rows, [bits, self._buffer(layout.COLUMN_ENDS), content], nulls)

    def lists(self, content: pa.Array) -> pa.Array:
        """The column as lists of what `content` holds."""
        nulls = int(self._numbers[layout.COLUMN_NULLS // 8])
        bits = self._buffer(layout.COLUMN_BITS) if nulls else None
        ends = self._buffer(layout.COLUMN_ENDS)
        return pa.Array.from_buffers(HEADERS.type, self.rows, [bits, ends], nulls, 0, [content])


def _batch(group: list[Records], rows: int, constant: _Constants, headers: bool) -> pa.RecordBatch:
    offsets, timestamps, types = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows, np.int32)
    keys = _Bytes(rows, sum(_sum(piece, "key_size") for piece in group))
    values = _Bytes(rows, sum(_sum(piece, "value_size") for piece in group))
    for piece in group:
        table, first = np.ascontiguousarray(piece.rows), keys.rows
        kernels.arrow_columns(
            table, len(table), piece.data, first, offsets, timestamps, types, keys.block, values.block
        )
    topics, partitions = constant.of(rows)
    columns = [
        keys.array(pa.binary()),
        values.array(pa.binary()),
        topics,
        partitions,
        numbers_column(offsets, pa.int64()),
        _times(group, timestamps),
        numbers_column(types, pa.int32()),
    ]
    if headers:
        columns.append(_headers(group, rows))
    return pa.RecordBatch.from_arrays(columns, schema=schema(headers))


def numbers_column(numbers: "np.ndarray[tuple[int], np.dtype[np.signedinteger[Any]]]", kind: pa.DataType) -> pa.Array:
    """A column without nulls. `pa.array` and `pa.scalar` would import pandas, which takes 0.3 s in each process."""
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)], 0)


def _is_beyond(piece: Records) -> Flags:
    """For each record, true if its timestamp has no place in a column."""
    times = piece.rows["timestamp"]
    return (times > _LAST_MS) | (times < -_LAST_MS)


def _times(group: list[Records], timestamps: Numbers) -> pa.Array:
    """The column, null where a timestamp has no place in it."""
    beyond = [_is_beyond(piece) for piece in group]
    buffer = pa.py_buffer(timestamps)
    if not any(each.any() for each in beyond):
        return pa.Array.from_buffers(_FIELDS[5].type, len(timestamps), [None, buffer], 0)
    bits = np.packbits(~np.concatenate(beyond), bitorder="little")
    return pa.Array.from_buffers(_FIELDS[5].type, len(timestamps), [pa.py_buffer(bits), buffer])


def _check_times(group: list[Records], constant: _Constants) -> None:
    """Unsupported if a timestamp does not fit: Spark's own source fails there as well, with "long overflow"."""
    for piece in group:
        beyond = np.flatnonzero(_is_beyond(piece))
        if len(beyond):
            row = piece.rows[int(beyond[0])]
            raise Unsupported(
                f"the record at offset {row['offset']} of {constant.place} has the timestamp {row['timestamp']} ms, "
                "which is beyond what a timestamp of Spark or Parquet can be; choose offsets around it"
            )


def _headers(group: list[Records], rows: int) -> pa.Array:
    count = sum(_sum(piece, "header_count") for piece in group)
    size = sum(_sum(piece, "headers_size") for piece in group)
    lists, names, values = _Bytes(rows, 0), _Bytes(count, size), _Bytes(count, size)
    for piece in group:
        table = np.ascontiguousarray(piece.rows)
        kernels.arrow_headers(table, len(table), piece.data, lists.block, names.block, values.block)
    pairs = pa.StructArray.from_arrays([_names(names), values.array(pa.binary())], fields=list(_HEADER))
    return lists.lists(pairs)


def _names(column: _Bytes) -> pa.Array:
    """Text, as Kafka's own consumer makes it: U+FFFD in place of what is no UTF-8, and which no reader would take."""
    names = column.array(pa.string())
    try:
        names.validate(full=True)
    except pa.ArrowInvalid:
        as_bytes: list[bytes] = column.array(pa.binary()).to_pylist()
        return pa.array([each.decode(errors="replace") for each in as_bytes], pa.string())
    return names
