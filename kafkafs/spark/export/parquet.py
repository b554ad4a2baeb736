"""Parquet files of one range of a partition: columns straight from decoded records.

A range is one file, or one for each day or hour of its records, however the log holds them. A file that is being
written takes memory, so at most `MOST_OPEN` are at once. The records of further days wait for another pass over the
range, which knows where the last record of each of them is: of a log in the order of its times two passes write any
number of days. When all are written, the unit's mark gets its place and names them. Until then the range counts as not
written, and the next export writes the same files again.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kafkafs.errors import UsageError
from kafkafs.format.records import Records
from kafkafs.log.read_options import Isolation
from kafkafs.spark.export.dates import By, dated, periods, undated
from kafkafs.spark.export.durations import with_durations
from kafkafs.spark.export.encoding import settings
from kafkafs.spark.export.export_plan import GONE, ExportPlan, FileUnit
from kafkafs.spark.export.output import Output
from kafkafs.tables.arrow import BatchMaker, groups, schema
from kafkafs.tables.ranges import data_loss, records_of
from kafkafs.tables.typed.typed_columns import Column, Columns, FieldName

ROW_GROUP = 1 << 20
"""Rows in a row group."""

GROUP_BYTES = 128 << 20
"""Bytes of batches that wait for it, so that memory stays bounded."""

_BATCH_BYTES = 8 << 10  # cost of a batch beside its columns


class FileWriter:
    """A file that is being written: it has its name at the end of the block, unless the block fails."""

    def __init__(self, out: Output, name: str, compression: str, kind: pa.Schema) -> None:
        self.rows = self.as_bytes = self.without_time = 0
        self.size = 0
        """Bytes that wait to be written."""
        self._kind = kind
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0
        self._compression = compression
        self._writer: pq.ParquetWriter | None = None
        with ExitStack() as opening:
            self._sink = opening.enter_context(out.writing(name))
            self._open = opening.pop_all()

    def add(self, batch: pa.RecordBatch) -> None:
        """Takes more rows."""
        self._waiting.append(batch)
        self._waiting_rows += batch.num_rows
        self.size += batch.nbytes + _BATCH_BYTES
        self.without_time += batch.column("timestamp").null_count
        if "valueBytes" in self._kind.names:
            self.as_bytes += batch.num_rows - batch.column("valueBytes").null_count
        if self._waiting_rows >= ROW_GROUP or self.size >= GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Writes what waits as a row group."""
        if self._waiting or self._writer is None:
            rows = pa.Table.from_batches(self._waiting, self._kind)
            if self._writer is None:
                columns = with_durations(self._kind)
                writer = pq.ParquetWriter(self._sink, columns, **settings(self._compression, rows))
                self._writer = self._open.enter_context(writer)
            if rows.num_rows:
                self._writer.write_table(rows, row_group_size=ROW_GROUP)
        self.rows += self._waiting_rows
        self._waiting, self._waiting_rows, self.size = [], 0, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._open:  # once: a second end finds nothing
            if error is not None:
                raise error
            self.flush()


def write(unit: FileUnit, out: Output, isolation: Isolation, compression: str, columns: Columns) -> None:
    """Writes the unit as one file, or one for each date that it has, and then its mark. Under its name a file is always
    whole."""
    if unit.by:
        passes = _Passes(unit, out, isolation, compression, columns)
        left = passes.by_pass(unit.range.start, {})
        while left:
            ends = {period: last for period, (_, last) in left.items()}
            left = passes.by_pass(min(first for first, _ in left.values()), ends)
        out.write_json(unit.mark, passes.done)
        return
    with FileWriter(out, unit.file, compression, columns.schema) as writer:
        for batch in columns.batches(records_of(unit.range, isolation, data_loss(fail=True, advice=GONE))):
            writer.add(batch)


def columns_of(unit: FileUnit, typed: Mapping[FieldName, Column], has_place_columns: bool = True) -> Columns:
    """The columns of a file. If it does not stand alone, topic and partition are in its path only."""
    name = unit.partition
    left_out = () if has_place_columns else ("topic", "partition")
    plain = pa.schema([field for field in schema(True) if field.name not in left_out])
    return Columns(BatchMaker(name.topic, name.partition, headers=True, far_as_null=True), plain, typed)


class Counts(NamedTuple):
    """Rows of a file, how many values of them stayed bytes (no JSON objects, or of another kind), and how many have no
    timestamp because no column can hold it."""

    rows: int
    as_bytes: int
    without_time: int = 0


def counts(out: Output, name: str) -> Counts:
    """The counts of a file, from its footer."""
    with out.open(name) as file:
        footer = pq.ParquetFile(file).metadata
    columns = [footer.schema.column(number).path for number in range(footer.num_columns)]

    def nulls(name: str) -> int:
        groups = map(footer.row_group, range(footer.num_row_groups))
        wanted = [group.column(columns.index(name)) for group in groups if group.num_rows]
        return sum(column.statistics.null_count for column in wanted)

    as_bytes = footer.num_rows - nulls("valueBytes") if "valueBytes" in columns else 0
    return Counts(footer.num_rows, as_bytes, nulls("timestamp"))


MOST_OPEN = 32
"""Files that a task writes at once."""

CountsByFile = Mapping[str, Counts]
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
        """Write some of the periods that have records from `start` on. Return (first, last) offset of the others.

        `last` is the result of the pass before: only those periods are left. Without it all are.
        """
        open_: dict[int, FileWriter] = {}
        left: dict[int, tuple[int, int]] = {}
        with ExitStack() as writers:
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
                        open_[period] = writers.enter_context(self._writer(period))
                    for batch in self.columns.batches(pieces):
                        open_[period].add(batch)
                    if last and last[period] <= end:
                        self._close(period, open_.pop(period))
                    _bound(open_.values())
            for period, writer in open_.items():
                self._close(period, writer)
        return left

    def _groups(self, start: int) -> Iterator[list[Records]]:
        rest = replace(self.unit.range, start=start)
        return groups(records_of(rest, self.isolation, data_loss(fail=True, advice=GONE)))

    def _writer(self, period: int) -> FileWriter:
        return FileWriter(self.out, dated(self.unit.file, period, self.unit.by), self.compression, self.columns.schema)

    def _close(self, period: int, writer: FileWriter) -> None:
        with writer:
            pass
        self.done[dated(self.unit.file, period, self.unit.by)] = Counts(
            writer.rows, writer.as_bytes, writer.without_time
        )


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


def _bound(writers: Collection[FileWriter]) -> None:
    """All that waits together takes no more than what waits for one row group may."""
    if sum(writer.size for writer in writers) > GROUP_BYTES:
        max(writers, key=lambda writer: writer.size).flush()


def files_of(out: Output, unit: FileUnit) -> CountsByFile:
    """The files that a written unit has. UsageError if its mark is none."""
    try:
        counted = {name: Counts(*map(int, counts)) for name, counts in json.loads(out.read(unit.mark) or b"").items()}
        if any(undated(name) != unit.file for name in counted):
            raise ValueError(next(iter(counted)))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"'{out}/{unit.mark}' is not what an export wrote; remove it, and the same command writes its records again"
        ) from error
    return counted


def remove_strays(out: Output, plan: ExportPlan, there: Iterable[str], written: CountsByFile) -> None:
    """Removes files by date that an export wrote of a range which it did not end, and of which the range has none by
    now: compaction was at work in between."""
    files = {unit.file for unit in plan.units}
    for name in there:
        if name not in written and name not in files and undated(name) in files:
            out.remove(name)
