"""Parquet files of one range of a partition: columns straight from decoded records."""

from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import NamedTuple, Self

import pyarrow as pa
import pyarrow.parquet as pq

from kafkafs.log.options import Isolation
from kafkafs.spark.arrow import BatchMaker, schema
from kafkafs.spark.export.output import Output
from kafkafs.spark.export.plan import GONE, FileUnit
from kafkafs.spark.tasks import data_loss, records_of
from kafkafs.spark.typed.columns import Column, Columns, Field

ROW_GROUP = 1 << 20
"""Rows in a row group."""

GROUP_BYTES = 128 << 20
"""Bytes of batches that wait for it, so that memory stays bounded."""

_BATCH_BYTES = 8 << 10  # what a batch costs beside its columns


class Table:
    """A file that is being written: it has its name at the end of the block, unless the block fails."""

    def __init__(self, out: Output, name: str, compression: str, kind: pa.Schema) -> None:
        self.rows = self.as_bytes = 0
        self.size = 0
        """Bytes that wait to be written."""
        self._kind = kind
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0
        with ExitStack() as opening:
            sink = opening.enter_context(out.writing(name))
            self._writer = opening.enter_context(pq.ParquetWriter(sink, kind, **_settings(compression, kind)))
            self._open = opening.pop_all()

    def add(self, batch: pa.RecordBatch) -> None:
        """Takes more rows."""
        self._waiting.append(batch)
        self._waiting_rows += batch.num_rows
        self.size += batch.nbytes + _BATCH_BYTES
        if "valueBytes" in self._kind.names:
            self.as_bytes += batch.num_rows - batch.column("valueBytes").null_count
        if self._waiting_rows >= ROW_GROUP or self.size >= GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Writes what waits as a row group."""
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._kind), row_group_size=ROW_GROUP)
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
    """Writes the unit as one file; under its name it is always whole."""
    with Table(out, unit.file, compression, columns.schema) as table:
        for batch in columns.batches(records_of(unit.range, isolation, data_loss(fail=True, advice=GONE))):
            table.add(batch)


def columns_of(unit: FileUnit, typed: Mapping[Field, Column]) -> Columns:
    """The columns of a file. Topic and partition stand in the files' paths, as Spark reads them."""
    name = unit.range.location.name
    plain = pa.schema([field for field in schema(True) if field.name not in ("topic", "partition")])
    return Columns(BatchMaker(name.topic, name.partition, headers=True), plain, typed)


def _settings(compression: str, kind: pa.Schema) -> dict[str, object]:
    """Offsets and times as differences, what repeats through a dictionary, bytes as they are."""
    repeated = [name for name in ("topic", "partition", "timestampType") if name in kind.names]
    return {
        "compression": compression,
        "use_dictionary": repeated,
        "column_encoding": {"offset": "DELTA_BINARY_PACKED", "timestamp": "DELTA_BINARY_PACKED"},
        "write_statistics": ["partition", "offset", "timestamp", "timestampType", "valueBytes"],
    }


class Counts(NamedTuple):
    """Rows of a file, and how many values of them stayed bytes: no JSON objects, or of another kind."""

    rows: int
    as_bytes: int


def counts(out: Output, name: str) -> Counts:
    """Those of a file, by its footer."""
    with out.open(name) as file:
        footer = pq.ParquetFile(file).metadata
    columns = [footer.schema.column(number).path for number in range(footer.num_columns)]
    if "valueBytes" not in columns:
        return Counts(footer.num_rows, 0)
    groups = [footer.row_group(number).column(columns.index("valueBytes")) for number in range(footer.num_row_groups)]
    return Counts(footer.num_rows, sum(group.num_values - group.statistics.null_count for group in groups))
