"""Keys or values that name a schema of the registry, as columns of one schema: in an executor, a partition at a time.

A kernel decodes Avro to lines of typed JSON, of which `TypedLines` makes columns; Protobuf and JSON come to such lines
by Python. A value that names no schema, or does not fit, stays in `valueBytes`, and `valueError` says why. Keys
likewise.

Lines of typed JSON (`format.schemas.shape`) are read by Arrow's own JSON reader. It knows neither maps, nor base64, nor
the bits of numbers: those become columns here, whole arrays at a time.

`fastavro` with `pyarrow.array` was measured in place of the kernel. For records of six fields it took 4.5 us of
processor time a record, this module 1.3 us. The kernel would also stay, because `.decoded.jsonl` needs it.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from kafkafs.cluster.registry import Registry
from kafkafs.errors import CorruptData
from kafkafs.format import kernels
from kafkafs.format.fields import NAME, Fields, OneField, find_fields, payload_of
from kafkafs.format.memory import Array
from kafkafs.format.native import layout
from kafkafs.format.native.layout import AVRO_SCRATCH, DECODED_NO_ROOM, FIELD_SLOT
from kafkafs.format.records import Records
from kafkafs.format.schemas.decoder_table import DecoderTable, FoundSchema, SchemaName
from kafkafs.format.schemas.shape import Shape
from kafkafs.format.tables import Numbers
from kafkafs.tables.typed.reader_schema import ReaderSchema
from kafkafs.tables.typed.typed_columns import READ_TYPES, FieldName, column_type, fields_of

_SIXES = np.full(256, 0, np.uint32)
"""The six bits that each character of base64 stands for."""
_SIXES[np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)] = np.arange(64)


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
        case kind if "timestamp" in kind or "duration" in kind:
            return pa.int64()
    return READ_TYPES.get(shape.kind, pa.string())


class TypedLines:
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
    """The values that were read, as the wanted column; ArrowException for what it cannot hold. `read` begins at its
    buffers' beginning, as a reader makes it."""
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
    made = pa.Array.from_buffers(kind, len(read), read.buffers())
    if pa.types.is_timestamp(kind) and kind.unit == "ms":
        made.cast(pa.timestamp("us", kind.tz))  # raises for a time for which readers of the file would do so
    return made


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


_ROOM = 8 << 20  # bytes of lines that are made columns at once, where one line does not need more
_UNNAMED = "it names no schema of the registry"


class RegisteredColumn:
    """Brings the keys or the values of one partition into the columns of its topic's reader schema, of type `kind`."""

    def __init__(
        self, field: FieldName, topic: str, reader: ReaderSchema, registry: Registry, kind: pa.DataType
    ) -> None:
        self._name: FieldName = field
        self._topic, self._reader, self._registry = topic, reader, registry
        self.fields = (
            pa.field(field, kind), pa.field(f"{field}Bytes", pa.binary()), pa.field(f"{field}Error", pa.string()),
        )  # fmt: skip
        self._decoders = DecoderTable(self._find)
        self._lines = TypedLines(reader.shape(), kind)
        self._scratch = np.empty(AVRO_SCRATCH, np.uint8)
        self._room: Array = np.empty(_ROOM, np.uint8)

    def _find(self, name: SchemaName, _: bool) -> FoundSchema | None:
        """A payload's schema with what decodes it for the reader schema."""
        schema = self._registry.find(name, self._topic, self._name)
        if schema is None:
            return None
        decoder = self._reader.decoder(self._registry, schema)
        return FoundSchema(decoder, schema.id, schema.subject, schema.version, schema.type)

    def parts(self, pieces: list[Records], content: pa.Array) -> Iterator[list[pa.Array]]:
        """See `Column`: parts take some megabytes each."""
        if self._decoders.is_full():
            self._decoders.forget()
        open_ = _Part(0)
        for piece, fields, first in self._fields(pieces):
            done = 0
            while done < len(piece):
                used = open_.size
                stop = self._fill(piece, fields, first, done, open_)
                is_full = stop < len(piece) or len(open_.others) > _ROOM
                if is_full and (open_.size or stop > done or open_.others):
                    yield self._part(content, open_, first + stop)
                    open_ = _Part(first + stop)
                    if len(self._room) > _ROOM:
                        self._room = np.empty(_ROOM, np.uint8)
                elif is_full and not used:
                    self._room = np.empty(8 * len(self._room), np.uint8)
                done = stop
        yield self._part(content, open_, len(content))

    def _fields(self, pieces: list[Records]) -> Iterator[tuple[Records, Fields, int]]:
        """Each piece, its fields with their decoders, and which row of the batch is its first."""
        first = 0
        for piece in pieces:
            fields, _ = find_fields(piece)
            values = fields_of(fields, self._name)
            places = np.flatnonzero(values[:, FIELD_SLOT.kind] >= layout.FIELD_PREFIX_ID)
            if len(places):
                values[places, FIELD_SLOT.decoder] = self._decoders.rows(
                    values[places, NAME], np.zeros(len(places), np.int64)
                )
            yield piece, fields, first
            first += len(piece)

    def _fill(self, piece: Records, fields: Fields, first: int, done: int, part: "_Part") -> int:
        """Adds the lines of rows [done, ...) of a piece to a part: the row before which there was no more room."""
        decoders = self._decoders
        answer, stopped, used = kernels.decode_fields(
            fields, 2 * done, len(fields), piece.data, decoders.table, decoders.code, decoders.literals,
            self._room, part.size, self._scratch, True,
        )  # fmt: skip
        stop = stopped // 2 if answer == DECODED_NO_ROOM else len(piece)
        values = fields_of(fields, self._name)[done:stop]
        made = np.flatnonzero(values[:, FIELD_SLOT.text_in])
        part.rows.append(made + (first + done))
        part.ends.append(part.size + np.cumsum(values[made, FIELD_SLOT.text_size], dtype=np.int64))
        part.size = used
        for row in np.flatnonzero((values[:, FIELD_SLOT.text_in] == 0) & (values[:, FIELD_SLOT.decoder] >= 0)).tolist():
            self._other(piece, values[row], first + done + row, part)
        return stop

    def _other(self, piece: Records, field: OneField, row: int, part: "_Part") -> None:
        """A value of which no kernel made a line: Python does, or says why not."""
        number, error = int(field[FIELD_SLOT.decoder]), int(field[FIELD_SLOT.error])
        decoder = self._decoders.decoder(number)
        if decoder.decode is None:
            refusal = self._decoders.refusal(number)
            part.errors[row] = refusal or self._decoders.misfit(number, error, int(field[FIELD_SLOT.error_at]))
            return
        try:
            part.others += decoder.decode(*payload_of(piece, field))
        except CorruptData as refused:
            part.errors[row] = self._decoders.misfit(number, str(refused))
            return
        part.other_rows.append(row)
        part.other_ends.append(len(part.others))

    def _part(self, content: pa.Array, part: "_Part", stop: int) -> list[pa.Array]:
        """Rows [part.first, stop) of a batch."""
        rows = np.concatenate((*part.rows, np.array(part.other_rows, np.int64))) - part.first
        made, refused = self._lines.column(self._room[: part.size], part.all_ends())
        others, also = self._lines.column(np.frombuffer(bytes(part.others), np.uint8), np.array(part.other_ends))
        refused += [(len(made) + line, why) for line, why in also]
        part.errors |= {part.first + int(rows[line]): why for line, why in refused}
        count = stop - part.first
        fits = np.zeros(count, np.bool_)
        places = np.zeros(count, np.int64)
        fits[rows], places[rows] = True, np.arange(len(rows))
        for row in part.errors:
            fits[row - part.first] = False
        values = pa.concat_arrays([made, others]).take(pa.array(places, mask=~fits))
        return self._beside(content.slice(part.first, count), values, fits, part)

    def _beside(self, content: pa.Array, values: pa.Array, fits: np.ndarray, part: "_Part") -> list[pa.Array]:
        as_bytes = pc.if_else(pa.array(fits), pa.scalar(None, pa.binary()), content)
        errors = pc.if_else(as_bytes.is_valid(), pa.scalar(_UNNAMED), pa.scalar(None, pa.string()))
        if part.errors:
            rows = sorted(part.errors)
            mask = np.zeros(len(values), np.bool_)
            mask[np.array(rows) - part.first] = True
            errors = pc.replace_with_mask(errors, pa.array(mask), pa.array([part.errors[row] for row in rows]))
        return [values, as_bytes, errors]


class _Part:
    """Rows of a batch from `first` on, of which lines were made: by a kernel, in the room; by Python, in `others`."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.rows: list[Numbers] = []
        self.ends: list[Numbers] = []
        self.size = 0
        self.others = bytearray()
        self.other_rows: list[int] = []
        self.other_ends: list[int] = []
        self.errors: dict[int, str] = {}

    def all_ends(self) -> Numbers:
        """Return the place at which the lines in the room end."""
        return np.concatenate((np.empty(0, np.int64), *self.ends))
