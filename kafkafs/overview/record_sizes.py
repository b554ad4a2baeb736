"""How many bytes each record takes, with its length and unpacked, and what its headers hold. Source: DefaultRecord.

A table of records tells where fields are. A record begins where the one before it ends; the first of a batch at the
batch's own place, or, unpacked, behind the batch before it.
"""

import numpy as np

from kafkafs.format.batch import CODEC, Batches
from kafkafs.format.native.layout import V2
from kafkafs.format.records import Records
from kafkafs.format.tables import Numbers

_MOST_VARINT = 5


class RecordSizes:
    """Measures the pieces of one run of batches in their order."""

    def __init__(self, batches: Batches, position: int) -> None:
        """`position` is that of the run's first byte in its segment."""
        begins = batches["position"] - position
        self._begins = np.where(batches["magic"] >= 2, begins + V2.records, begins)
        self._is_packed = (batches["attributes"] & CODEC) != 0
        self._data: object = None
        self._end = 0

    def of(self, piece: Records) -> Numbers:
        """The bytes of each record of the next piece."""
        rows = piece.rows
        ends = np.where(rows["magic"] >= 2, rows["headers_at"] + rows["headers_size"],
                        rows["value_at"] + np.maximum(rows["value_size"], 0))  # fmt: skip
        starts = np.empty_like(ends)
        starts[1:] = ends[:-1]
        starts[0] = self._end if piece.data is self._data else 0
        batch = rows["batch"]
        is_first = np.append(piece.data is not self._data or batch[0] != self._batch, batch[1:] != batch[:-1])
        begins = is_first & ~self._is_packed[batch]
        starts[begins] = self._begins[batch[begins]]
        self._data, self._end, self._batch = piece.data, int(ends[-1]), int(batch[-1])
        sizes: Numbers = ends - starts
        return sizes

    _batch = -1


def header_bytes(piece: Records) -> Numbers:
    """The bytes of names and values of each record's headers, without their lengths."""
    rows = piece.rows
    found = np.zeros(len(rows), np.int64)
    left = np.flatnonzero(rows["header_count"] > 0)
    at, count = rows["headers_at"][left].astype(np.int64), rows["header_count"][left].astype(np.int64)
    while len(left):
        for _ in ("name", "value"):
            size, at = _varints(piece.data, at)
            size = np.maximum(size, 0)
            found[left] += size
            at = at + size
        count = count - 1
        more = count > 0
        left, at, count = left[more], at[more], count[more]
    return found


def _varints(data: np.ndarray[tuple[int], np.dtype[np.uint8]], at: Numbers) -> tuple[Numbers, Numbers]:
    """The zigzag numbers at these places, and the places behind them."""
    value, behind, goes_on = np.zeros(len(at), np.int64), at.copy(), np.ones(len(at), bool)
    for number in range(_MOST_VARINT):
        byte = data[np.minimum(at + number, len(data) - 1)].astype(np.int64)
        value[goes_on] |= (byte[goes_on] & 0x7F) << (7 * number)
        behind[goes_on] += 1
        goes_on = goes_on & (byte >= 0x80)
        if not goes_on.any():
            break
    return (value >> 1) ^ -(value & 1), behind
