"""Spark on the same logs: a data source with the schema and options of Spark's Kafka source, and jobs over whole
data directories.

    spark.read.format("kafkafs").option("path", "/var/kafka-logs").option("subscribe", "test").load()

    source          what Spark is told about; `source_options` says what is wanted, `frame` which columns that has
    refusals        errors as Spark shows them
    tasks           in an executor: ranges -> records -> Arrow batches (`kafkafs.tables`); `stream` and, from
                    Spark 4.2 on, `limited_stream`: the same in micro-batches, between two `stream_offset`s
    schema_frame    the registry's schemas as a data frame
    segment_units   a job's unit of work, a segment at one moment; `jobs` maps a function over many, on Spark or
                    in processes of this machine
    audit, diff, export, profile, reindex_job   the jobs
    session         the Spark of a command and its end; `jvm` ends Java's processes, `python_daemon` begins Python's
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
    """The schemas of the registry in these data directories, a row for each version of each subject."""
    from kafkafs.spark.schema_frame import frame  # takes PySpark, which this package's other half does without

    return frame(spark, paths)


def register(spark: "SparkSession") -> None:
    """Makes `format("kafkafs")` known to a session.

    On `local` masters the executors run this very Python, unless PYSPARK_PYTHON names another.
    """
    from kafkafs.spark.source import KafkafsDataSource  # takes PySpark

    context = getattr(spark, "_sc", None)
    if context is not None and context.master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
    spark.dataSource.register(KafkafsDataSource)
