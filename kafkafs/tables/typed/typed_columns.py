"""A batch of records with keys and values in the form that was asked for, in an executor.

A typed column is null where a value does not fit, and a column beside it has the bytes: nothing is lost, and no value
ends a job.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, Protocol

import pyarrow as pa

from kafkafs.format.fields import Fields
from kafkafs.format.records import Records
from kafkafs.format.schemas.shape import Shape
from kafkafs.tables.arrow import BatchMaker, groups

FieldName = Literal["key", "value"]

READ_TYPES = {
    "boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(), "unsigned": pa.uint64(), "float": pa.int32(),
    "double": pa.int64(), "date": pa.int32(),
}  # fmt: skip
"""The types as which a reader of lines of typed JSON takes them, by a shape's kind; of others it is text."""

COLUMNS = {
    "float": pa.float32(), "double": pa.float64(), "date": pa.date32(), "bytes": pa.binary(),
    "timestamp-millis": pa.timestamp("ms", tz="UTC"), "timestamp-micros": pa.timestamp("us", tz="UTC"),
    "duration-micros": pa.duration("us"),
    "local-timestamp-millis": pa.timestamp("ms"), "local-timestamp-micros": pa.timestamp("us"),
}  # fmt: skip


def fields_of(fields: Fields, name: FieldName) -> Fields:
    """The fields of all keys, or of all values."""
    return fields[name == "value" :: 2]


def column_type(shape: Shape) -> pa.DataType:
    """The type in Arrow and Parquet. A column that is always null is text. So is an object without fields."""
    match shape.kind:
        case "record" | "union" if shape.fields:
            return pa.struct([pa.field(name, column_type(each)) for name, each in shape.fields])
        case "array":
            return pa.list_(column_type(shape.fields[0][1]))
        case "map":
            return pa.map_(pa.string(), column_type(shape.fields[0][1]))
        case "decimal":
            return pa.decimal128(shape.precision, shape.scale)
    return COLUMNS.get(shape.kind) or READ_TYPES.get(shape.kind, pa.string())


class Column(Protocol):
    """Makes the columns of one field, its own and those beside it."""

    fields: tuple[pa.Field, ...]

    def parts(self, pieces: list[Records], content: pa.Array) -> Iterator[list[pa.Array]]:
        """The columns of the records of these pieces, whose bytes are `content`, in parts of some rows, in order."""


class Columns:
    """The columns of one partition in a file or a frame: those of `plain`, some of them typed."""

    def __init__(self, maker: BatchMaker, plain: pa.Schema, typed: Mapping[FieldName, Column]) -> None:
        self._maker, self._typed = maker, typed
        self.schema = pa.schema(
            [field for each in plain for field in (typed[each.name].fields if each.name in typed else (each,))]
        )

    def batches(self, records: Iterable[Records]) -> Iterator[pa.RecordBatch]:
        """The records in batches that take some megabytes each."""
        for pieces in groups(records):
            yield from self._batches(pieces, self._maker.batch(pieces))

    def _batches(self, pieces: list[Records], batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        first = 0
        for part in _abreast([each.parts(pieces, batch.column(name)) for name, each in self._typed.items()]):
            rows = len(part[0])
            yield self._batch(batch.slice(first, rows), part)
            first += rows
        if not self._typed:
            yield self._batch(batch, ())

    def _batch(self, plain: pa.RecordBatch, typed: Iterable[pa.Array]) -> pa.RecordBatch:
        names = [field.name for each in self._typed.values() for field in each.fields]
        made = dict(zip(names, typed, strict=True))
        arrays = [made[name] if name in made else plain.column(name) for name in self.schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _abreast(columns: list[Iterator[list[pa.Array]]]) -> Iterator[list[pa.Array]]:
    """The parts of several columns side by side: as many rows at a time as all of them have ready."""
    ready: list[list[pa.Array]] = [[pa.nulls(0)] for _ in columns]
    while columns:
        for number, column in enumerate(columns):
            while not len(ready[number][0]):
                part = next(column, None)
                if part is None:
                    return
                ready[number] = part
        rows = min(len(each[0]) for each in ready)
        yield [array.slice(0, rows) for each in ready for array in each]
        ready = [[array.slice(rows) for array in each] for each in ready]


class TextColumn:
    """Keys or values as text, as Kafka's own `StringDeserializer` makes it: U+FFFD in place of what is no UTF-8."""

    def __init__(self, field: FieldName) -> None:
        self.fields = (pa.field(field, pa.string()),)

    def parts(self, _: list[Records], content: pa.Array) -> Iterator[list[pa.Array]]:
        """See `Column`."""
        try:
            yield [content.cast(pa.string())]
        except pa.ArrowInvalid:
            texts = [None if each is None else each.decode(errors="replace") for each in content.to_pylist()]
            yield [pa.array(texts, pa.string())]
