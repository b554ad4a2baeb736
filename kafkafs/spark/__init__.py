"""Spark on the same logs: a data source with the schema and options of Spark's Kafka source, and jobs over whole
data directories.

    spark.read.format("kafkafs").option("path", "/var/kafka-logs").option("subscribe", "test").load()

    source          the data source class for Spark; `source_options` parses the options; `frame` has the columns
    refusals        passes errors through Spark without its traceback
    tasks           code of an executor: ranges -> records -> Arrow batches (`kafkafs.tables`); `stream`: the same in
                    micro-batches, between two `stream_offset`s; `limited_stream` is for Spark 4.2 and later
    schema_frame    the registry's schemas as a DataFrame
    segment_units   a job's unit of work: a segment at one moment; `jobs` maps a function over many units, on Spark
                    or in worker processes on this machine
    audit, diff, export, profile, reindex_job, reindex_keys   the jobs
    session         starts and stops a command's Spark; `jvm` ends Java processes, `python_daemon` starts Python workers
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["register", "schemas"]


def schemas(spark: "SparkSession", paths: str | Path | Sequence[str | Path]) -> "DataFrame":
    """Return the schemas of the registry in these data directories, one row for each version of each subject."""
    from kafkafs.spark.schema_frame import frame  # takes PySpark, which this package's other half does without

    return frame(spark, paths)


def register(spark: "SparkSession") -> None:
    """Register the data source `format("kafkafs")` in a session.

    On `local` masters the executors run the same Python interpreter as the caller, unless PYSPARK_PYTHON is set.
    """
    from kafkafs.spark.source import KafkafsDataSource  # takes PySpark

    context = getattr(spark, "_sc", None)
    if context is not None and context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
    spark.dataSource.register(KafkafsDataSource)
