"""The type of many JSON values, by a parse of one value of each shape.

Values of the same shape have the same type: a kernel hashes the shapes, and `json_values` parses the first value of
each shape, and all odd ones. The hash has a key that no other process knows. If two shapes shared a hash, a value of
the second one would keep its bytes in `valueBytes`, like any value that does not fit.
"""

import os
from collections.abc import Iterable

import numpy as np

from kafkafs.format import kernels
from kafkafs.format.native.layout import SHAPE_DEPTH, SHAPE_ODD
from kafkafs.format.records import Records
from kafkafs.format.tables import Numbers
from kafkafs.tables.typed.json_values import Kind, kind_of_values, merged
from kafkafs.tables.typed.typed_columns import FieldName

MOST_SHAPES = 1 << 16
"""Shapes that are known at a time: names that are numbers would make millions of them."""


class Shapes:
    """Hashes the shapes of keys or values."""

    def __init__(self, field: FieldName) -> None:
        self._field = field
        self._seed = os.urandom(16)

    def of(self, piece: Records) -> Numbers:
        """The shapes of a piece; SHAPE_ODD for values that Python's parser has to see."""
        rows = np.ascontiguousarray(piece.rows)
        shapes = np.empty(len(rows), np.int64)
        longest = max(int(rows[f"{self._field}_size"].max(initial=0)), 0)
        scratch = np.empty(SHAPE_DEPTH + longest, np.uint8)
        kernels.hash_json_shapes(rows, len(rows), piece.data, self._field == "key", self._seed, scratch, shapes)
        return shapes


def kind_of_records(pieces: Iterable[Records], field: FieldName, most: int = MOST_SHAPES) -> Kind:
    """The type of all keys or values that are JSON objects; None without any. At most so many shapes are known at a
    time."""
    kind: Kind = None
    shapes_of, known = Shapes(field).of, np.array([SHAPE_ODD])
    for piece in pieces:
        places, sizes = piece.rows[f"{field}_at"], piece.rows[f"{field}_size"]
        shapes = shapes_of(piece)
        found, first = np.unique(shapes, return_index=True)
        is_new = ~np.isin(found, known)
        asked = np.union1d(first[is_new], np.flatnonzero((shapes == SHAPE_ODD) & (sizes > 0)))
        if len(asked):
            known = np.union1d(known, found[is_new])
            known = known if len(known) <= most else np.array([SHAPE_ODD])
            parts = zip(places[asked].tolist(), sizes[asked].tolist(), strict=True)
            kind = merged(kind, kind_of_values([piece.data[at : at + size].tobytes() for at, size in parts]))
    return kind
