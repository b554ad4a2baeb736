"""One Parquet file of one range of a partition: columns straight from decoded records."""

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from kafkafs.format.columns import Records
from kafkafs.log.options import Isolation
from kafkafs.spark.arrow import BatchMaker, grouped, groups, rows_and_bytes, schema
from kafkafs.spark.export.output import Output
from kafkafs.spark.export.plan import GONE, FileUnit
from kafkafs.spark.tasks import data_loss, records_of

ROW_GROUP = 1 << 20
"""Rows in a row group."""

_GROUP_BYTES = 128 << 20  # of batches that wait for it, so that memory stays bounded

Shape = Callable[[list[Records], pa.RecordBatch], Iterator[pa.RecordBatch]]
"""Brings a batch, of whose records it gets the pieces too, into the form of the file: parts of it, in order."""


def write(unit: FileUnit, out: Output, isolation: Isolation, compression: str, shape: Shape, kind: pa.Schema) -> None:
    """Writes the file; under its name it is always whole."""
    with out.writing(unit.file) as sink, pq.ParquetWriter(sink, kind, **_settings(compression, kind)) as writer:
        for group in grouped(_shaped(unit, isolation, shape), rows_and_bytes, ROW_GROUP, _GROUP_BYTES):
            writer.write_table(pa.Table.from_batches(group, kind), row_group_size=ROW_GROUP)


def _shaped(unit: FileUnit, isolation: Isolation, shape: Shape) -> Iterator[pa.RecordBatch]:
    name = unit.range.location.name
    maker = BatchMaker(name.topic, name.partition, headers=True)
    for pieces in groups(records_of(unit.range, isolation, data_loss(fail=True, advice=GONE))):
        yield from shape(pieces, maker.batch(pieces))


def _settings(compression: str, kind: pa.Schema) -> dict[str, object]:
    """Offsets and times as differences, what repeats through a dictionary, bytes as they are."""
    repeated = [name for name in ("topic", "partition", "timestampType") if name in kind.names]
    return {
        "compression": compression,
        "use_dictionary": repeated,
        "column_encoding": {"offset": "DELTA_BINARY_PACKED", "timestamp": "DELTA_BINARY_PACKED"},
        "write_statistics": ["partition", "offset", "timestamp", "timestampType", "valueBytes"],
    }


def plain_schema() -> pa.Schema:
    """The columns without an applied schema. Topic and partition stand in the files' paths, as Spark reads them."""
    return pa.schema([field for field in schema(True) if field.name not in ("topic", "partition")])


def plain(_: list[Records], batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch without what stands in the path: a `Shape`."""
    yield batch.select(plain_schema().names)


def counts(out: Output, name: str) -> tuple[int, int]:
    """How many rows a file has by its footer, and how many values as bytes: no JSON objects, or of another kind."""
    with out.open(name) as file:
        footer = pq.ParquetFile(file).metadata
    columns = [footer.schema.column(number).path for number in range(footer.num_columns)]
    if "valueBytes" not in columns:
        return footer.num_rows, 0
    groups = [footer.row_group(number).column(columns.index("valueBytes")) for number in range(footer.num_row_groups)]
    return footer.num_rows, sum(group.num_values - group.statistics.null_count for group in groups)
