"""The columns of a schema's data, and the JSON that the data become on their way there.

A line is `{"value":...}`. Floats and doubles are whole numbers, their bits; dates and timestamps the numbers that they
are, bytes base64; a map is an array of keys and values. So a JSON reader that knows the shape loses nothing.
"""

import base64
import json
import struct
from contextlib import suppress
from decimal import Context, Decimal
from typing import NamedTuple

from kafkafs.errors import CorruptData
from kafkafs.format.strings import json_string

MOST_DIGITS = 38
"""Of a decimal in columns."""

MOST_COLUMNS = 5_000
"""Of one schema, inner ones counted; one with more is refused."""


class Shape(NamedTuple):
    """A column's type: `kind` is `null`, `boolean`, `int`, `long`, `unsigned`, `float`, `double`, `bytes`, `string`,
    `decimal`, `date`, an Avro timestamp's name, `duration-micros`, `record`, `union`, `array` or `map`. `fields` are
    those of a record and the members of a union, by name; of an array or a map it is what is inside."""

    kind: str
    fields: tuple[tuple[str, "Shape"], ...] = ()
    precision: int = 0
    scale: int = 0


def float_bits(value: float) -> int:
    """The bits of a float, with their sign."""
    return int(struct.unpack("<i", struct.pack("<f", value))[0])


def double_bits(value: float) -> int:
    """The bits of a double, with their sign."""
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def default_text(shape: Shape, default: object) -> str:
    """A field's default as the same JSON that data become. CorruptData if it does not fit the type."""
    if default is None:
        return "null"
    match shape.kind:
        case "double" | "float" if isinstance(default, int | float) and not isinstance(default, bool):
            try:
                number = float(default)
                return str(double_bits(number) if shape.kind == "double" else float_bits(number))
            except OverflowError:
                raise CorruptData("a field's default is not a number of its type") from None
        case "array" if isinstance(default, list):
            return "[" + ",".join(default_text(shape.fields[0][1], each) for each in default) + "]"
        case "map" if isinstance(default, dict):
            inner = shape.fields[0][1]
            pairs = (f'{{"key":{json_string(key)},"value":{default_text(inner, default[key])}}}' for key in default)
            return "[" + ",".join(pairs) + "]"
        case "union":
            return _member_text(shape, default)
        case "record" if isinstance(default, dict):
            fields = (f"{json_string(name)}:{default_text(one, default.get(name))}" for name, one in shape.fields)
            return "{" + ",".join(fields) + "}"
    return _leaf_text(shape, default)


def _member_text(shape: Shape, default: object) -> str:
    """A default of a union is of the first branch that it can be of."""
    for name, member in shape.fields[:-1]:
        with suppress(CorruptData):
            return f'{{"{name}":{default_text(member, default)}}}'
    name, member = shape.fields[-1]
    return f'{{"{name}":{default_text(member, default)}}}'


def _leaf_text(shape: Shape, default: object) -> str:
    match shape.kind:
        case "bytes" if isinstance(default, str):
            return json_string(base64.b64encode(_latin(default)).decode())
        case "decimal" if isinstance(default, str):
            unscaled = int.from_bytes(_latin(default), signed=True)
            return f'"{Decimal(unscaled).scaleb(-shape.scale, Context(prec=100)):f}"'
        case "boolean" if isinstance(default, bool):
            return json.dumps(default)
        case "string" if isinstance(default, str):
            return json_string(default)
        case kind if isinstance(default, int) and not isinstance(default, bool):
            if kind in ("int", "long", "date") or "timestamp" in kind:
                return str(default)
    raise CorruptData("a field's default is of another type than the field")


def _latin(text: str) -> bytes:
    """Bytes in a schema are characters up to U+00FF."""
    return text.encode("latin-1", "replace")
