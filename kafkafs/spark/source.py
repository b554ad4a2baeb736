"""`format("kafkafs")`: the data source that Spark is told about; `planning` decides what to read, `tasks` reads."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pyarrow as pa
import pyspark
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kafkafs.errors import UsageError
from kafkafs.spark import planning
from kafkafs.spark.locations import chosen
from kafkafs.spark.options import SourceOptions, batch_options, stream_options, wants_headers
from kafkafs.spark.snapshots import Snapshots, planned
from kafkafs.spark.stream import StreamReader
from kafkafs.spark.tasks import data_loss, read, tasks

_COLUMNS = [
    StructField("key", BinaryType()),
    StructField("value", BinaryType()),
    StructField("topic", StringType()),
    StructField("partition", IntegerType()),
    StructField("offset", LongType()),
    StructField("timestamp", TimestampType()),
    StructField("timestampType", IntegerType()),
]
_HEADERS = StructField(
    "headers", ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
)


class KafkafsDataSource(DataSource):
    """Reads Kafka data directories with the schema and the options of Spark's own Kafka source."""

    @classmethod
    def name(cls) -> str:
        """What stands in `format(...)`."""
        return "kafkafs"

    def schema(self) -> StructType:
        """The columns of Spark's Kafka source. A table is refused while it is made: Spark asks with its provider."""
        if "provider" in self.options:
            raise UsageError(
                "CREATE TABLE ... USING kafkafs cannot be read: Spark hands a table's options to no source in Python;"
                " make it a view: CREATE TEMPORARY VIEW ... USING kafkafs OPTIONS (path '...', subscribe '...')"
            )
        return StructType([*_COLUMNS, _HEADERS] if wants_headers(self.options) else _COLUMNS)

    def reader(self, schema: StructType) -> DataSourceReader:
        """For `spark.read`."""
        self._refuse_another(schema)
        return BatchReader(batch_options(self.options))

    def streamReader(self, schema: StructType) -> StreamReader:
        """For `spark.readStream`."""
        self._refuse_another(schema)
        return stream_reader(stream_options(self.options))

    def _refuse_another(self, schema: StructType) -> None:
        if schema != self.schema():
            raise UsageError("the schema is fixed: leave schema(...) out, and select columns from what is read")


class BatchReader(DataSourceReader):
    """Plans a batch read: all in `partitions`.

    It takes no filters. Spark up to 4.3 keeps what a reader planned under one query's filters with the frame, and reads
    no more for the frame's other queries, nor for the other side of a union (`PythonDataSourceV2.setReadInfo`).
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """The tasks of the read. UsageError, or NotFound for records that are gone, says why there are none."""
        options = self._options
        return planned(chosen(options.paths, options.choice, options.replicas), options.isolation, self._plan)

    def _plan(self, snapshots: Snapshots) -> list[InputPartition]:
        options = self._options
        starts = planning.resolve(options.starting, snapshots, starting=True)
        ends = planning.resolve(options.ending, snapshots, starting=False)
        ranges = planning.checked_ranges(snapshots, starts, ends, data_loss(options.fail_on_data_loss))
        groups = planning.splits(ranges, snapshots, options.min_partitions, options.max_records_per_partition)
        return tasks(groups, options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One task, in an executor."""
        return read(partition)


def stream_reader(options: SourceOptions) -> StreamReader:
    """What this release of Spark can ask a stream: read limits and Trigger.AvailableNow came with 4.2."""
    if find_spec("pyspark.sql.streaming.datasource") is not None:
        from kafkafs.spark.limited_stream import LimitedStreamReader

        return LimitedStreamReader(options)
    if options.max_offsets_per_trigger is not None or options.min_offsets_per_trigger is not None:
        raise UsageError(
            f"maxOffsetsPerTrigger and minOffsetsPerTrigger take Spark 4.2 or later, and this is {pyspark.__version__}:"
            " leave them out"
        )
    return StreamReader(options)
