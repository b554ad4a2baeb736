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

from kafkafs.errors import NotFound, Vanished
from kafkafs.format.records import Records
from kafkafs.log.lineage import Lineage
from kafkafs.log.listing import ATTEMPTS
from kafkafs.log.log import Log
from kafkafs.log.outcomes import OpenTransactions
from kafkafs.log.read_options import Isolation, ReadOptions
from kafkafs.log.reader import Reader
from kafkafs.spark.locations import partition
from kafkafs.spark.planning import PartitionRange
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
    for batch in batches:
        _exempt_modules()
        yield batch


@cache
def _exempt_modules() -> None:
    gc.freeze()


def data_loss(fail: bool, advice: str = "set failOnDataLoss to false to go on without them") -> Callable[[str], None]:
    """What hears, in a sentence without its full stop, of records that are gone: raises NotFound, or writes to
    the log, as `failOnDataLoss` says."""
    return partial(_lost, fail, advice)


def _lost(fail: bool, advice: str, what: str) -> None:
    if fail:
        raise NotFound(f"{what}; {advice}")
    logger.warning("%s; going on without them, as failOnDataLoss is false", what)


class _PlannedEnd(OpenTransactions):
    """A last stable offset that planning has found already: a task need not look for open transactions again."""

    def __init__(self, end: int) -> None:
        super().__init__()
        self._end = end

    def last_stable_offset(self, log: Log) -> int:
        """The planned end, unless the log ends before that by now."""
        return min(self._end, log.end_offset)


def records_of(each: PartitionRange, isolation: Isolation, lost: Callable[[str], None]) -> Iterator[Records]:
    """The visible records of a range, in order. Vanished where the log was truncated after some were handed out."""
    position, attempts = each.start, 0
    lineage: Lineage | None = None
    while True:
        log = _log_up_to(each)
        if lineage is None or position == each.start:  # nothing was handed out yet: any moment will do
            lineage = Lineage(log)
        lineage.follow(log)
        if log.start_offset > position:
            lost(f"offsets {position} to {min(log.start_offset, each.end) - 1} of {each.location.name} are gone")
        for segment in log.segments_from(position):
            if segment.base_offset < each.end and not segment.is_readable():
                lost(f"{segment.log_name} of {each.location.name} may not be read")
        is_cut = log.end_offset < each.log_end  # perhaps with markers: what is open is another question by now
        transactions = partition(each.location).transactions if is_cut else _PlannedEnd(each.end)
        reader = Reader(log, ReadOptions(isolation=isolation), transactions)
        if reader.visible_end < each.end:
            lost(f"{each.location.name} ends at offset {reader.visible_end} by now, before {each.end}")
        try:
            for piece in reader.records(position, each.end):
                yield piece
                if len(piece):
                    position, attempts = int(piece.rows["offset"][-1]) + 1, 0
            return
        except Vanished:
            attempts += 1
            if attempts == ATTEMPTS:
                raise
            partition(each.location).look_again()


def _log_up_to(each: PartitionRange) -> Log:
    """The log as it is now; looked at once more where it ends before what its planner saw, maybe later."""
    found = partition(each.location)
    log = found.log()
    if log.end_offset < max(each.end, each.log_end):
        found.look_again()
        log = found.log()
    return log
