"""`format("kafkafs")`: the data source class for Spark; `planning` decides what to read, `frame` reads."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import NoReturn

import pyarrow as pa
import pyspark
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from kafkafs.errors import KafkafsError, UsageError
from kafkafs.spark.frame import Frame, frame_of
from kafkafs.spark.refusals import RefusedStream, in_a_sentence
from kafkafs.spark.source_options import SourceOptions, batch_options, stream_options
from kafkafs.spark.stream import StreamReader
from kafkafs.spark.tasks import in_executor, tasks
from kafkafs.tables import planning
from kafkafs.tables.cutting import planned_tasks
from kafkafs.tables.missing import chosen_here, missing_names, missing_of, missing_sentence
from kafkafs.tables.ranges import NAME_ALL, data_loss

_READS_ONLY = "format kafkafs only reads a broker's files: write with format('kafka') to a running cluster"


class KafkafsDataSource(DataSource):
    """Reads Kafka data directories with the schema and the options of Spark's own Kafka source."""

    _frame: Frame | None = None

    @classmethod
    def name(cls) -> str:
        """The name in `format(...)`."""
        return "kafkafs"

    @in_a_sentence()
    def schema(self) -> StructType:
        """The columns: see `frame`. A table is refused while it is made: Spark asks with its provider."""
        if "provider" in self.options:
            raise UsageError(
                "CREATE TABLE ... USING kafkafs cannot be read: Spark hands a table's options to no source in Python;"
                " make it a view: CREATE TEMPORARY VIEW ... USING kafkafs OPTIONS (path '...', subscribe '...')"
            )
        self._frame = frame_of(self.options)
        return self._frame.schema

    @in_a_sentence()
    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader for `spark.read`."""
        of_sail = schema if isinstance(schema, pa.Schema) else None
        return BatchReader(batch_options(self.options), self._frame_with(schema), of_sail)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """The reader for `spark.readStream`."""
        try:
            return stream_reader(stream_options(self.options), self._frame_with(schema))
        except KafkafsError as error:
            return RefusedStream(error)

    @in_a_sentence()
    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: ARG002
        """Refuse `DataFrame.write`. Without this method Spark shows a traceback."""
        raise UsageError(_READS_ONLY)

    @in_a_sentence()
    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: ARG002
        """Refuse `DataFrame.writeStream`."""
        raise UsageError(_READS_ONLY)

    def _frame_with(self, schema: StructType | pa.Schema) -> Frame:
        """The frame whose schema Spark has, or that of a schema of one's own, with which it asks for no other.

        Sail, another server of Spark Connect, hands an Arrow schema over.
        """
        if isinstance(schema, pa.Schema):
            schema = from_arrow_schema(schema, prefer_timestamp_ntz=True)
        known = self._frame
        return known if known is not None and known.schema == schema else frame_of(self.options, schema)


class BatchReader(DataSourceReader):
    """Plans a batch read: all in `partitions`.

    It takes no filters. Spark up to 4.3 keeps what a reader planned under one query's filters with the frame, and reads
    no more for the frame's other queries, nor for the other side of a union (`PythonDataSourceV2.setReadInfo`).
    """

    def __init__(self, options: SourceOptions, frame: Frame, of_sail: pa.Schema | None = None) -> None:
        """`of_sail`: the schema that Sail expects, down to the names of what lists hold."""
        self._options, self._frame, self._of_sail = options, frame, of_sail

    @in_a_sentence()
    def partitions(self) -> list[InputPartition]:
        """The tasks of the read. UsageError, or NotFound for records that are gone, says why there are none."""
        options = self._options
        missing = missing_of(options)
        if missing:
            data_loss(options.fail_on_data_loss, NAME_ALL)(missing_sentence(missing))
        locations = chosen_here(missing, options)
        options = options.without(missing_names(missing))
        planning.check_named(options.starting, options.ending, locations)
        lost = data_loss(options.fail_on_data_loss)
        groups = planned_tasks(
            locations,
            options.isolation,
            lambda look: planning.between(options.starting, options.ending, look, lost),
            options.min_partitions,
            options.max_records_per_partition,
        )
        return tasks(groups, options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One task, in an executor."""
        batches, schema = self._frame.read(partition), self._of_sail
        return in_executor(batches if schema is None else (_cast(batch, schema) for batch in batches))


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [batch.column(field.name).cast(field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def stream_reader(options: SourceOptions, frame: Frame) -> StreamReader:
    """The questions that this release of Spark can ask a stream: read limits and Trigger.AvailableNow came with 4.2."""
    if find_spec("pyspark.sql.streaming.datasource") is not None:
        from kafkafs.spark.limited_stream import LimitedStreamReader  # takes what that release brought

        return LimitedStreamReader(options, frame)
    if options.max_offsets_per_trigger is not None or options.min_offsets_per_trigger is not None:
        raise UsageError(
            f"maxOffsetsPerTrigger and minOffsetsPerTrigger take Spark 4.2 or later, and this is {pyspark.__version__}:"
            " leave them out"
        )
    return StreamReader(options, frame)
