"""JSON values as a column of one type, and the bytes of those that are of another.

Arrow's JSON reader makes the column of values that a kernel has found well-formed (`json_shapes`), if one value of
their shape shows that Arrow and `json_values.converter` make the same of it. It takes a seventh of the time of Python's
parser, which takes all other values.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyarrow import json as arrow_json

from kafkafs.errors import CorruptData
from kafkafs.format.native.layout import SHAPE_ODD
from kafkafs.format.records import Records
from kafkafs.tables.typed.json_parser import all_parsed
from kafkafs.tables.typed.json_shapes import Shapes
from kafkafs.tables.typed.json_values import Kind, converter, shape_of
from kafkafs.tables.typed.typed_columns import FieldName, column_type

_EXACT = 1 << 53  # up to that a double is the same whole number, and shapes tell such numbers apart from larger ones
_TYPES = {"boolean": (bool,), "long": (int,), "double": (float, int), "string": (str,)}


def is_read_alike(kind: Kind, value: object) -> bool:
    """True if Arrow's reader, too, makes of all values of the shape of `value` what a column of `kind` holds."""
    match kind:
        case _ if value is None:
            return True
        case ["list", inner]:
            return type(value) is list and all(is_read_alike(inner, each) for each in value)
        case ["object", fields]:
            return (
                bool(fields) and isinstance(value, dict) and value.keys() <= fields.keys()
                and all(is_read_alike(fields[name], each) for name, each in value.items())
            )  # fmt: skip
        case str():
            is_exact = kind != "double" or not isinstance(value, int) or abs(value) <= _EXACT
            return is_exact and type(value) in _TYPES[kind]
    return False


class JsonColumn:
    """Keys or values as objects of one type, and the bytes of those that are of another, as a later export may meet."""

    def __init__(
        self, field: FieldName, kind: Kind, as_type: pa.DataType | None = None, most_shapes: int = 1 << 16
    ) -> None:
        """`as_type` has the same fields in another order. `most_shapes` are known at a time."""
        self._most_shapes = most_shapes
        self._kind, self._convert = kind, converter(kind)
        self._type = as_type or column_type(shape_of(kind))
        self.fields = pa.field(field, self._type), pa.field(f"{field}Bytes", pa.binary())
        self._shapes = Shapes(field)
        self._alike = {SHAPE_ODD: False}

    def parts(self, pieces: list[Records], content: pa.Array) -> Iterator[list[pa.Array]]:
        """See `Column`."""
        is_alike = self._are_alike(pieces, content)
        read = self._read(content.filter(pa.array(is_alike)))
        if read is None:
            is_alike[:] = False
        others = self._converted(content.filter(pa.array(~is_alike)).to_pylist())
        if read is None or not is_alike.any():
            yield others
            return
        if is_alike.all():
            yield [read, pa.nulls(len(read), pa.binary())]
            return
        places = np.where(is_alike, np.cumsum(is_alike), len(read) + np.cumsum(~is_alike)) - 1
        both = [read, others[0]], [pa.nulls(len(read), pa.binary()), others[1]]
        yield [pa.concat_arrays(each).take(pa.array(places)) for each in both]

    def _are_alike(self, pieces: list[Records], content: pa.Array) -> np.ndarray:
        """The values that Arrow's reader can take."""
        if len(self._alike) > self._most_shapes:
            self._alike = {SHAPE_ODD: False}
        shapes = np.concatenate([self._shapes.of(piece) for piece in pieces])
        found, first, which = np.unique(shapes, return_index=True, return_inverse=True)
        new = {shape: place for shape, place in zip(found.tolist(), first, strict=True) if shape not in self._alike}
        documents = all_parsed(content.take(pa.array(list(new.values()), pa.int64())).to_pylist())
        for shape, document in zip(new, documents, strict=True):
            self._alike[shape] = document is not None and is_read_alike(self._kind, document)
        return np.array([self._alike[shape] for shape in found.tolist()], np.bool_)[which]

    def _read(self, values: pa.Array) -> pa.Array | None:
        """The column of objects that a kernel has checked. None if the reader refuses one: for 1e400, or a name that is
        twice."""
        if not len(values):
            return pa.nulls(0, self._type)
        _, places, content = values.buffers()
        text = content.slice(0, int(np.frombuffer(places, np.int32, len(values) + 1)[-1]))
        options = arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1)
        kind = pa.schema(self._type.fields)
        parsing = arrow_json.ParseOptions(explicit_schema=kind, unexpected_field_behavior="error")
        try:
            read = arrow_json.read_json(pa.BufferReader(text), options, parsing).to_struct_array()
        except pa.ArrowException:
            return None
        return pa.concat_arrays(read.chunks) if len(read) == len(values) else None

    def _converted(self, values: Sequence[bytes | None]) -> list[pa.Array]:
        """The two columns, by Python's parser."""
        objects, others = [], []
        for value, document in zip(values, all_parsed(values), strict=True):
            try:
                objects.append(None if document is None else self._convert(document))
                others.append(value if document is None else None)
            except CorruptData:
                objects.append(None)
                others.append(value)
        return [pa.array(made, field.type) for made, field in zip((objects, others), self.fields, strict=True)]
