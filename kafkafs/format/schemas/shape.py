"""The columns of a schema's data, and the JSON that the data become on their way there.

A line is `{"value":...}`. Floats and doubles are whole numbers, their bits; dates and timestamps the numbers that they
are, bytes base64; a map is an array of keys and values. So a JSON reader that knows the shape loses nothing.
"""

import struct
from typing import NamedTuple

MOST_DIGITS = 38
"""Most digits of a decimal in columns."""

MOST_COLUMNS = 5_000
"""Most columns of one schema, inner columns included; a schema with more is refused."""


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
