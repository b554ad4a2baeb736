"""Which records a search selects: a pattern, and the fields in which it is looked for."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kafkafs.format.batches import Batches
from kafkafs.format.columns import Records
from kafkafs.format.needle import NEEDLE_HEADERS, NEEDLE_KEY, NEEDLE_VALUE
from kafkafs.log.batch_runs import BatchRun
from kafkafs.search.pattern import Pattern


@dataclass(frozen=True, slots=True)
class Selection:
    """Records with the pattern in one of the fields; without it where `inverted`. `headers` are names."""

    pattern: Pattern
    key: bool = True
    value: bool = True
    headers: tuple[bytes, ...] = ()
    inverted: bool = False

    def batches(self, run: BatchRun) -> Batches:
        """The batches of a run that may have some."""
        needle = self.pattern.needle
        return run.rows if needle is None or self.inverted else needle.batches(run.data, run.position, run.rows)

    def of(self, records: Records) -> Records:
        """Those of them."""
        needle = self.pattern.needle
        if needle is None:
            numbers = np.arange(len(records))
        else:
            numbers = needle.records(records, self._fields())
        if not (self.pattern.is_needle and not self.headers):
            numbers = np.array([number for number in numbers.tolist() if self._matches(records, number)], np.int64)
        if self.inverted:
            numbers = np.delete(np.arange(len(records)), numbers)
        return Records(records.data, records.rows[numbers])

    def _fields(self) -> int:
        return self.key * NEEDLE_KEY | self.value * NEEDLE_VALUE | bool(self.headers) * NEEDLE_HEADERS

    def _matches(self, records: Records, number: int) -> bool:
        return any(self.pattern.matches(field) for field in self._contents(records, number) if field is not None)

    def _contents(self, records: Records, number: int) -> Iterator[bytes | memoryview | None]:
        if self.key:
            yield records.key(number)
        if self.value:
            yield records.value(number)
        if self.headers:
            for name, content in records.headers(number):
                if name in self.headers:
                    yield content
