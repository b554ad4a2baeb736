"""One task of a read: ranges of offsets of some partitions, from their bytes to records (and those to `frame`).

Each range is read as of one moment. Where the broker compacts the log or deletes of it meanwhile, reading goes on in
the new files; where it is truncated after something was handed out, the task fails, and Spark tries it again.
"""

import gc
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from kafkafs.errors import NotFound
from kafkafs.format.records import Records
from kafkafs.log.read_options import Isolation
from kafkafs.log.reading import Window, records
from kafkafs.spark.locations import partition
from kafkafs.spark.planning import PartitionRange
from kafkafs.spark.refusals import in_a_sentence
from kafkafs.spark.source_options import SourceOptions

logger = logging.getLogger(__name__)


@dataclass
class Task(InputPartition):
    """What an executor is handed."""

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


NAME_ALL = "name the other brokers' data directories in path too, or set failOnDataLoss to false to go on without them"
"""The advice where partitions are not on these disks."""


def data_loss(fail: bool, advice: str = "set failOnDataLoss to false to go on without them") -> Callable[[str], None]:
    """What hears, in a sentence without its full stop, of records that are gone: raises NotFound, or writes to
    the log, as `failOnDataLoss` says."""
    return partial(_lost, fail, advice)


def _lost(fail: bool, advice: str, what: str) -> None:
    if fail:
        raise NotFound(f"{what}; {advice}")
    logger.warning("%s; going on without them, as failOnDataLoss is false", what)


def records_of(each: PartitionRange, isolation: Isolation, lost: Callable[[str], None]) -> Iterator[Records]:
    """The visible records of a range, in order. Vanished where the log was truncated after some were handed out."""
    return records(partition(each.location), Window(each.start, each.end, each.log_end, isolation), lost)
