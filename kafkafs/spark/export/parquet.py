"""One Parquet file of one range of a partition: columns straight from decoded records."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from kafkafs.log.options import Isolation
from kafkafs.spark.arrow import BatchMaker, grouped, rows_and_bytes, schema
from kafkafs.spark.export.output import Output
from kafkafs.spark.export.plan import GONE, FileUnit
from kafkafs.spark.tasks import data_loss, records_of
from kafkafs.spark.typed.columns import Column, Columns

ROW_GROUP = 1 << 20
"""Rows in a row group."""

_GROUP_BYTES = 128 << 20  # of batches that wait for it, so that memory stays bounded


def write(unit: FileUnit, out: Output, isolation: Isolation, compression: str, columns: Columns) -> None:
    """Writes the file; under its name it is always whole."""
    kind = columns.schema
    records = records_of(unit.range, isolation, data_loss(fail=True, advice=GONE))
    with out.writing(unit.file) as sink, pq.ParquetWriter(sink, kind, **_settings(compression, kind)) as writer:
        for group in grouped(columns.batches(records), rows_and_bytes, ROW_GROUP, _GROUP_BYTES):
            writer.write_table(pa.Table.from_batches(group, kind), row_group_size=ROW_GROUP)


def columns_of(unit: FileUnit, typed: Mapping[str, Column]) -> Columns:
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


def counts(out: Output, name: str) -> tuple[int, int]:
    """How many rows a file has by its footer, and how many values as bytes: no JSON objects, or of another kind."""
    with out.open(name) as file:
        footer = pq.ParquetFile(file).metadata
    columns = [footer.schema.column(number).path for number in range(footer.num_columns)]
    if "valueBytes" not in columns:
        return footer.num_rows, 0
    groups = [footer.row_group(number).column(columns.index("valueBytes")) for number in range(footer.num_row_groups)]
    return footer.num_rows, sum(group.num_values - group.statistics.null_count for group in groups)
