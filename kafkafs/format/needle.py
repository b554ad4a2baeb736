"""Which batches, and which records of decoded ones, hold some bytes: what a search looks at before it decodes."""

import numpy as np

from kafkafs.format import kernels
from kafkafs.format.batches import Batches, Bytes
from kafkafs.format.columns import Records
from kafkafs.format.native.layout import NEEDLE_HEADERS, NEEDLE_KEY, NEEDLE_VALUE

__all__ = ["NEEDLE_HEADERS", "NEEDLE_KEY", "NEEDLE_VALUE", "Needle"]

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]


class Needle:
    """The bytes that are sought; letters in either case where `ignore_case`, of ASCII only."""

    def __init__(self, text: bytes, ignore_case: bool = False) -> None:
        """`text` has at least one byte."""
        self._text, self._other = (text.lower(), text.upper()) if ignore_case else (text, text)

    def batches(self, data: Bytes, position: int, batches: Batches) -> Batches:
        """Those that may hold it: the compressed ones all. `data` begins at `position` of the segment."""
        table, found = np.ascontiguousarray(batches), np.empty(len(batches), np.int64)
        made = kernels.needle_batches(table, len(table), data, position, self._text, self._other, found)
        return table[found[:made]]

    def records(self, records: Records, fields: int) -> Numbers:
        """The numbers of those that hold it in one of the fields; of headers, in all that belongs to them."""
        table, found = np.ascontiguousarray(records.rows), np.empty(len(records), np.int64)
        made = kernels.needle_records(table, len(table), records.data, fields, self._text, self._other, found)
        return found[:made]
