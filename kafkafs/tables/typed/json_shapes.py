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
        """Those of a piece; SHAPE_ODD for values that Python's parser has to see."""
        rows = np.ascontiguousarray(piece.rows)
        shapes = np.empty(len(rows), np.int64)
        longest = max(int(rows[f"{self._field}_size"].max(initial=0)), 0)
        scratch = np.empty(SHAPE_DEPTH + longest, np.uint8)
        kernels.hash_json_shapes(rows, len(rows), piece.data, self._field == "key", self._seed, scratch, shapes)
        return shapes


class ShapeKinds:
    """The type of the keys or values of all pieces of records so far."""

    def __init__(self, field: FieldName, most: int = MOST_SHAPES) -> None:
        self._most = most
        self.kind: Kind = None
        self._field = field
        self._shapes = Shapes(field)
        self._known = np.array([SHAPE_ODD])

    def add(self, piece: Records) -> None:
        """Adds those of a piece."""
        places, sizes = piece.rows[f"{self._field}_at"], piece.rows[f"{self._field}_size"]
        shapes = self._shapes.of(piece)
        found, first = np.unique(shapes, return_index=True)
        is_new = ~np.isin(found, self._known)
        asked = np.union1d(first[is_new], np.flatnonzero((shapes == SHAPE_ODD) & (sizes > 0)))
        if len(asked):
            self._know(found[is_new])
            parts = zip(places[asked].tolist(), sizes[asked].tolist(), strict=True)
            values = [piece.data[at : at + size].tobytes() for at, size in parts]
            self.kind = merged(self.kind, kind_of_values(values))

    def _know(self, shapes: Numbers) -> None:
        known = np.union1d(self._known, shapes)
        self._known = known if len(known) <= self._most else np.array([SHAPE_ODD])


def kind_of_records(pieces: Iterable[Records], field: FieldName, most: int = MOST_SHAPES) -> Kind:
    """The type of all keys or values that are JSON objects; None without any."""
    kinds = ShapeKinds(field, most)
    for piece in pieces:
        kinds.add(piece)
    return kinds.kind
