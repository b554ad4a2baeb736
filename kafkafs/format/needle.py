"""Which batches, and which records of decoded ones, hold some bytes: what a search looks at before it decodes."""

import numpy as np

from kafkafs.format import native
from kafkafs.format.batches import Batches, Bytes
from kafkafs.format.columns import Records
from kafkafs.format.native.layout import NEEDLE_HEADERS, NEEDLE_KEY, NEEDLE_VALUE

__all__ = ["NEEDLE_HEADERS", "NEEDLE_KEY", "NEEDLE_VALUE", "Needle"]

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]


class Needle:
    """The bytes that are sought; letters in either case where `ignore_case`, of ASCII only."""

    def __init__(self, text: bytes, ignore_case: bool = False) -> None:
        """`text` has at least one byte."""
        self._text = np.frombuffer(text.lower() if ignore_case else text, np.uint8)
        self._other = np.frombuffer(text.upper() if ignore_case else text, np.uint8)
        self._places = native.address(self._text), native.address(self._other), len(text)

    def batches(self, data: Bytes, position: int, batches: Batches) -> Batches:
        """Those that may hold it: the compressed ones all. `data` begins at `position` of the segment."""
        table, found = np.ascontiguousarray(batches), np.empty(len(batches), np.int64)
        made = native.kernel("needle_batches")(
            native.address(table), len(table), native.address(data), position, *self._places, native.address(found)
        )
        return table[found[:made]]

    def records(self, records: Records, fields: int) -> Numbers:
        """The numbers of those that hold it in one of the fields; of headers, in all that belongs to them."""
        table, found = np.ascontiguousarray(records.rows), np.empty(len(records), np.int64)
        made = native.kernel("needle_records")(
            native.address(table), len(table), native.address(records.data), fields, *self._places,
            native.address(found),
        )  # fmt: skip
        return found[:made]
