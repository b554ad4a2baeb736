"""One task of a read on Spark: `ranges` of some partitions, whose records become rows by a `frame`.

If a log is truncated after something was handed out, the task fails, and Spark tries it again.
"""

import gc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from kafkafs.log.read_options import Isolation
from kafkafs.spark.refusals import in_a_sentence
from kafkafs.spark.source_options import SourceOptions
from kafkafs.tables.planning import PartitionRange


@dataclass
class Task(InputPartition):
    """The input of an executor."""

    ranges: tuple[PartitionRange, ...]
    isolation: Isolation
    fail_on_data_loss: bool


def tasks(groups: Iterable[Iterable[PartitionRange]], options: SourceOptions) -> list[InputPartition]:
    """A task for each group of ranges."""
    return [Task(tuple(group), options.isolation, options.fail_on_data_loss) for group in groups]


def in_executor(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches of a task. Spark has its Python collect all garbage after each task (pyspark/daemon.py), and looking
    through what modules have made is a tenth of a scan's time: what is there at a process's first batch, for which
    Arrow imports pandas where it is installed, stays, so it may."""
    with in_a_sentence():
        for batch in batches:
            _exempt_modules()
            yield batch


@cache
def _exempt_modules() -> None:
    gc.freeze()
