"""Which records a search selects: a pattern, and the fields in which it is looked for."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kafkafs.format.batch import Batches
from kafkafs.format.native.layout import NEEDLE_HEADERS, NEEDLE_KEY, NEEDLE_VALUE
from kafkafs.format.records import Records
from kafkafs.log.batch_runs import BatchRun
from kafkafs.search.pattern import Numbers, Pattern


class FieldMaker(Protocol):
    """Decodes the fields of one partition's records, see `format.decoding.decoded_lines`."""

    def fields(self, records: Records) -> Iterator[tuple[bytes | None, bytes | None]]:
        """Key and value of each record, in order; None for null."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Records with the pattern in one of the fields; without it where `inverted`. `headers` are names.

    Where `decoded`, keys and values are what their schemas make of them.
    """

    pattern: Pattern
    key: bool = True
    value: bool = True
    headers: tuple[bytes, ...] = ()
    inverted: bool = False
    decoded: bool = False

    def batches(self, run: BatchRun) -> Batches:
        """The batches of a run that may have some."""
        needle = None if self.decoded or self.inverted else self.pattern.needle
        return run.rows if needle is None else needle.batches(run.data, run.position, run.rows)

    def of(self, records: Records, maker: FieldMaker | None = None) -> Records:
        """Those of them; `maker` decodes where that is asked for."""
        if self.decoded:
            assert maker is not None
            numbers = self._decoded(records, maker)
        else:
            numbers = self._standing(records)
        if self.inverted:
            numbers = np.delete(np.arange(len(records)), numbers)
        return Records(records.data, records.rows[numbers])

    def _standing(self, records: Records) -> Numbers:
        """The numbers of the records that have the pattern, in bytes as they are."""
        needle = self.pattern.needle
        numbers = np.arange(len(records)) if needle is None else needle.records(records, self._fields())
        if (self.pattern.is_needle and not self.headers) or not len(numbers):
            return numbers
        found = np.zeros(len(numbers), bool)
        for is_asked, field in ((self.key, "key"), (self.value, "value")):
            if is_asked:
                left = np.nonzero(~found)[0]
                rows = records.rows[numbers[left]]
                places = rows[f"{field}_at"].tolist(), rows[f"{field}_size"].tolist()
                found[left] = self.pattern.among(records.data.data, *places)
        if self.headers:
            left = np.nonzero(~found)[0]
            found[left] = [self._in_headers(records, number) for number in numbers[left].tolist()]
        return numbers[found]

    def _decoded(self, records: Records, maker: FieldMaker) -> Numbers:
        found = np.zeros(len(records), bool)
        if self.key or self.value:
            for number, (key, value) in enumerate(maker.fields(records)):
                asked = (key if self.key else None, value if self.value else None)
                found[number] = any(self.pattern.matches(field) for field in asked if field is not None)
        if self.headers:
            for number in np.nonzero(~found)[0].tolist():
                found[number] = self._in_headers(records, number)
        return np.nonzero(found)[0]

    def _fields(self) -> int:
        return self.key * NEEDLE_KEY | self.value * NEEDLE_VALUE | bool(self.headers) * NEEDLE_HEADERS

    def _in_headers(self, records: Records, number: int) -> bool:
        contents = (content for name, content in records.headers(number) if name in self.headers)
        return any(self.pattern.matches(content) for content in contents if content is not None)
