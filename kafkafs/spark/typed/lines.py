"""Lines of typed JSON (`format.schemas.shape`) as Arrow columns: Arrow's own JSON reader, and what it leaves to do.

It knows neither maps, nor base64, nor the bits of numbers: those become columns here, whole arrays at a time.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyarrow import json as arrow_json

from kafkafs.format.memory import Array
from kafkafs.format.schemas.shape import Shape

_READ = {
    "boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(), "unsigned": pa.uint64(), "float": pa.int32(),
    "double": pa.int64(), "date": pa.int32(),
}  # fmt: skip
_COLUMNS = {
    "float": pa.float32(), "double": pa.float64(), "date": pa.date32(), "bytes": pa.binary(),
    "timestamp-millis": pa.timestamp("ms", tz="UTC"), "timestamp-micros": pa.timestamp("us", tz="UTC"),
    "local-timestamp-millis": pa.timestamp("ms"), "local-timestamp-micros": pa.timestamp("us"),
}  # fmt: skip

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]

_SIXES = np.full(256, 0, np.uint32)
"""What the characters of base64 stand for."""
_SIXES[np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)] = np.arange(64)


def column_type(shape: Shape) -> pa.DataType:
    """The type in Arrow and Parquet. What is always null is text, an object without fields too."""
    match shape.kind:
        case "record" | "union" if shape.fields:
            return pa.struct([pa.field(name, column_type(each)) for name, each in shape.fields])
        case "array":
            return pa.list_(column_type(shape.fields[0][1]))
        case "map":
            return pa.map_(pa.string(), column_type(shape.fields[0][1]))
        case "decimal":
            return pa.decimal128(shape.precision, shape.scale)
    return _COLUMNS.get(shape.kind) or _READ.get(shape.kind, pa.string())


def _read_type(shape: Shape) -> pa.DataType:
    """The type as which the JSON reader takes it."""
    match shape.kind:
        case "record" | "union":
            return pa.struct([pa.field(name, _read_type(each)) for name, each in shape.fields])
        case "array":
            return pa.list_(_read_type(shape.fields[0][1]))
        case "map":
            entry = [pa.field("key", pa.string()), pa.field("value", _read_type(shape.fields[0][1]))]
            return pa.list_(pa.struct(entry))
        case "decimal":
            return pa.decimal128(shape.precision, shape.scale)
        case kind if "timestamp" in kind:
            return pa.int64()
    return _READ.get(shape.kind, pa.string())


class Lines:
    """Reads lines as a column of one shape, and of the Arrow type `kind`: what does not fit that is refused, too."""

    def __init__(self, shape: Shape, kind: pa.DataType) -> None:
        self._shape, self._kind = shape, kind
        self._options = arrow_json.ParseOptions(
            explicit_schema=pa.schema([pa.field("value", _read_type(shape))]), unexpected_field_behavior="ignore"
        )

    def column(self, text: Array, ends: Numbers) -> tuple[pa.Array, list[tuple[int, str]]]:
        """The column of the lines that end at the bytes `ends`; null in place of a line that columns cannot hold:
        (line, why not)."""
        refused: list[tuple[int, str]] = []
        parts = list(self._parts(text, ends, 0, len(ends), refused))
        if not parts:
            return pa.nulls(0, self._kind), refused
        return pa.concat_arrays(parts), refused

    def _parts(
        self, text: Array, ends: Numbers, first: int, stop: int, refused: list[tuple[int, str]]
    ) -> Iterator[pa.Array]:
        """The column in parts: a line that the reader refuses is found by halving."""
        if first == stop:
            return
        begin = int(ends[first - 1]) if first else 0
        part = text[begin : int(ends[stop - 1])]
        try:
            yield converted(self._read(part), self._shape).cast(self._kind)
        except pa.ArrowException as error:
            if stop - first > 1:
                middle = (first + stop) // 2
                yield from self._parts(text, ends, first, middle, refused)
                yield from self._parts(text, ends, middle, stop, refused)
            else:
                refused.append((first, f"columns cannot hold it: {str(error).splitlines()[0][:200]}"))
                yield pa.nulls(1, self._kind)

    def _read(self, part: Array) -> pa.Array:
        options = arrow_json.ReadOptions(use_threads=False, block_size=len(part) + 1)
        table = arrow_json.read_json(pa.BufferReader(pa.py_buffer(part)), options, self._options)
        return table.column("value").combine_chunks()


def converted(read: pa.Array, shape: Shape) -> pa.Array:
    """What was read, as the column that it is to be. `read` begins at its buffers' beginning, as a reader makes it."""
    bits, kind = read.buffers()[0], column_type(shape)
    match shape.kind:
        case "record" | "union" if shape.fields:
            inner = [converted(read.field(number), each) for number, (_, each) in enumerate(shape.fields)]
            return pa.Array.from_buffers(kind, len(read), [bits], children=inner)
        case "record":
            return pa.array(np.full(len(read), "{}"), mask=np.asarray(read.is_null())).cast(kind)
        case "array":
            inner = [converted(read.values, shape.fields[0][1])]
            return pa.Array.from_buffers(kind, len(read), read.buffers()[:2], children=inner)
        case "map":
            keys, values = read.values.field(0), converted(read.values.field(1), shape.fields[0][1])
            entries = pa.StructArray.from_arrays([keys, values], fields=[kind.key_field, kind.item_field])
            return pa.Array.from_buffers(kind, len(read), read.buffers()[:2], children=[entries])
        case "bytes":
            return _from_base64(read)
    if read.type == kind:
        return read
    return pa.Array.from_buffers(kind, len(read), read.buffers())


def _from_base64(read: pa.Array) -> pa.Array:
    """Bytes of texts in base64, each with its padding: all at once, as each takes whole groups of four."""
    bits, places, content = read.buffers()
    ends = np.frombuffer(places, np.int32)[: len(read) + 1].astype(np.int64)
    text = np.frombuffer(content or b"", np.uint8)[: ends[-1]]
    groups = _SIXES[text].reshape(-1, 4)
    numbers = groups[:, 0] << 18 | groups[:, 1] << 12 | groups[:, 2] << 6 | groups[:, 3]
    made = np.stack((numbers >> 16, numbers >> 8, numbers), axis=1).astype(np.uint8).reshape(-1)
    padded = (text.reshape(-1, 4)[:, 2:] == ord("=")).sum(axis=1)  # bytes that a group has less than three
    kept = np.ones((len(groups), 3), np.bool_)
    kept[padded >= 1, 2] = False
    kept[padded == 2, 1] = False
    behind = np.concatenate(([0], np.cumsum(3 - padded)))[ends // 4].astype(np.int32)
    buffers = [bits, pa.py_buffer(behind), pa.py_buffer(made[kept.reshape(-1)])]
    return pa.Array.from_buffers(pa.binary(), len(read), buffers)
