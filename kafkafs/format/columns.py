"""Records as columns: a row of `RECORD` each (offset, timestamp, where key, value and headers stand), and their bytes.

`Records` is what decoding yields and what rendering, Spark and the dump take. There is no Python object for a record;
the few accessors for one are for points.
"""

from dataclasses import dataclass

import numpy as np

from kafkafs.errors import KafkafsError
from kafkafs.format.native.layout import CREATE_TIME, LOG_APPEND_TIME, RECORD
from kafkafs.format.varints import varint

__all__ = ["CREATE_TIME", "LOG_APPEND_TIME", "RECORD", "Records", "Refusal", "Rows"]

Rows = np.ndarray[tuple[int], np.dtype[np.void]]
"""A table of dtype `RECORD`."""


@dataclass(frozen=True, slots=True)
class Records:
    """Some records in offset order. `rows["offset"]` and the like are the columns; positions count from `data[0]`."""

    data: np.ndarray[tuple[int], np.dtype[np.uint8]]
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def between(self, start: int, stop: int) -> "Records":
        """Those with start <= offset < stop; no copy."""
        offsets = self.rows["offset"]
        if not len(offsets) or (offsets[0] >= start and offsets[-1] < stop):
            return self
        first = 0 if offsets[0] >= start else offsets.searchsorted(start)
        return Records(self.data, self.rows[first : offsets.searchsorted(stop)])

    def key(self, index: int) -> memoryview | None:
        """The key's bytes; None for null."""
        return self._bytes(int(self.rows["key_at"][index]), int(self.rows["key_size"][index]))

    def value(self, index: int) -> memoryview | None:
        """The value's bytes; None for null."""
        return self._bytes(int(self.rows["value_at"][index]), int(self.rows["value_size"][index]))

    def headers(self, index: int) -> list[tuple[bytes, bytes | None]]:
        """Its headers in order, a name as often as it stands there; a null value is None."""
        row, found = self.rows[index], []
        at = int(row["headers_at"])
        for _ in range(int(row["header_count"])):
            (name_at, name_size), (at, size) = self.header_at(at)
            value = None if size < 0 else self.data[at : at + size].tobytes()
            found.append((self.data[name_at : name_at + name_size].tobytes(), value))
            at += max(size, 0)
        return found

    def header_at(self, at: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Of the header that begins at byte `at`: place and size of its name, and of its value (-1 for null).

        CorruptData where a size has no end; what `decode` yields was looked at.
        """
        data = self.data.data
        name_size, name_at = varint(data, at)
        value_size, value_at = varint(data, name_at + name_size)
        return (name_at, name_size), (value_at, max(value_size, -1))

    def _bytes(self, at: int, size: int) -> memoryview | None:
        return None if size < 0 else self.data[at : at + size].data


@dataclass(frozen=True, slots=True)
class Refusal:
    """Stands in the place of a batch that gives no records: its row in the table, and why."""

    batch: int
    error: KafkafsError
