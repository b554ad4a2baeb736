"""A range of a partition as one file for each day or hour of its records, however the log holds them.

A table that is being written takes memory, so at most `MOST_OPEN` are at once. The records of further days wait for
another pass over the range, which knows where the last record of each of them is: of a log in the order of its times
two passes write any number of days. When all are written, the unit's mark gets its place and names them. Until then
the range counts as not written, and the next run writes the same files anew.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import numpy as np

from kafkafs.errors import UsageError
from kafkafs.format.records import Records
from kafkafs.log.options import Isolation
from kafkafs.spark.arrow import groups
from kafkafs.spark.export import parquet
from kafkafs.spark.export.dates import By, dated, periods, undated
from kafkafs.spark.export.output import Output
from kafkafs.spark.export.parquet import Counts, Table
from kafkafs.spark.export.plan import GONE, FileUnit, Plan
from kafkafs.spark.tasks import data_loss, records_of
from kafkafs.spark.typed.columns import Columns

MOST_OPEN = 32
"""Tables that a task writes at once."""

Tables = Mapping[str, Counts]
"""The files of a unit by their names."""


@dataclass(slots=True)
class _Passes:
    """The writing of one unit, pass by pass; `done` are its files that are written."""

    unit: FileUnit
    out: Output
    isolation: Isolation
    compression: str
    columns: Columns
    done: dict[str, Counts] = field(default_factory=dict)

    def by_pass(self, start: int, last: Mapping[int, int]) -> dict[int, tuple[int, int]]:
        """Writes some of the periods that have records from `start` on, and tells (first, last) offset of the others.

        `last` is what the pass before told: those periods alone are left. Without it all are.
        """
        open_: dict[int, Table] = {}
        left: dict[int, tuple[int, int]] = {}
        with ExitStack() as tables:
            for group in self._groups(start):
                end = int(group[-1].rows["offset"][-1])
                for period, pieces in _by_period(group, self.unit.by).items():
                    if last and period not in last:
                        continue  # it is written
                    if period not in open_ and (period in left or len(open_) == MOST_OPEN):
                        first = left[period][0] if period in left else int(pieces[0].rows["offset"][0])
                        left[period] = first, int(pieces[-1].rows["offset"][-1])
                        continue
                    if period not in open_:
                        open_[period] = tables.enter_context(self._table(period))
                    for batch in self.columns.batches(pieces):
                        open_[period].add(batch)
                    if last and last[period] <= end:
                        self._close(period, open_.pop(period))
                    _bound(open_.values())
            for period, table in open_.items():
                self._close(period, table)
        return left

    def _groups(self, start: int) -> Iterator[list[Records]]:
        rest = replace(self.unit.range, start=start)
        return groups(records_of(rest, self.isolation, data_loss(fail=True, advice=GONE)))

    def _table(self, period: int) -> Table:
        return Table(self.out, dated(self.unit.file, period, self.unit.by), self.compression, self.columns.schema)

    def _close(self, period: int, table: Table) -> None:
        with table:
            pass
        self.done[dated(self.unit.file, period, self.unit.by)] = Counts(table.rows, table.as_bytes)


def write(unit: FileUnit, out: Output, isolation: Isolation, compression: str, columns: Columns) -> None:
    """Writes the unit's files, and then its mark."""
    passes = _Passes(unit, out, isolation, compression, columns)
    left = passes.by_pass(unit.range.start, {})
    while left:
        left = passes.by_pass(min(first for first, _ in left.values()), {each: end for each, (_, end) in left.items()})
    with out.writing(unit.mark) as file:
        file.write(json.dumps(passes.done).encode())


def _by_period(pieces: Iterable[Records], by: By) -> dict[int, list[Records]]:
    """The records of each day or hour, in their order."""
    found: defaultdict[int, list[Records]] = defaultdict(list)
    for piece in pieces:
        numbers = periods(piece.rows["timestamp"], by)
        if numbers[0] == numbers[-1] and (numbers == numbers[0]).all():
            found[int(numbers[0])].append(piece)
            continue
        order = np.argsort(numbers, kind="stable")
        borders = np.flatnonzero(np.diff(numbers[order])) + 1
        for rows in np.split(order, borders):
            found[int(numbers[rows[0]])].append(Records(piece.data, piece.rows[rows]))
    return found


def _bound(tables: Collection[Table]) -> None:
    """All that waits together takes no more than what waits for one row group may."""
    if sum(table.size for table in tables) > parquet.GROUP_BYTES:
        max(tables, key=lambda table: table.size).flush()


def tables_of(out: Output, unit: FileUnit) -> Tables:
    """The files that a written unit has. UsageError where its mark is none."""
    try:
        told = {name: Counts(*map(int, counts)) for name, counts in json.loads(out.read(unit.mark) or b"").items()}
        if any(undated(name) != unit.file for name in told):
            raise ValueError(next(iter(told)))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"'{out}/{unit.mark}' is not what an export wrote; remove it, and the same command writes its records anew"
        ) from error
    return told


def remove_strays(out: Output, plan: Plan, there: Iterable[str], tables: Tables) -> None:
    """Removes files by date that a run wrote of a range which it did not end, and that the range has none of by now:
    compaction was at work in between."""
    files = {unit.file for unit in plan.units}
    for name in there:
        if name not in tables and name not in files and undated(name) in files:
            out.remove(name)
