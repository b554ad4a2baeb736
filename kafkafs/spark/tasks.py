"""One task of a read: a stretch of one partition, from its bytes to Arrow batches."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from kafkafs.errors import NotFound, Vanished
from kafkafs.format.records import Records
from kafkafs.log.options import Isolation
from kafkafs.spark import logs
from kafkafs.spark.arrow import record_batches
from kafkafs.spark.options import SourceOptions
from kafkafs.spark.planning import OffsetRange

logger = logging.getLogger(__name__)
_ATTEMPTS = 5


@dataclass
class Task(InputPartition):
    """What an executor is handed."""

    stretch: OffsetRange
    isolation: Isolation
    headers: bool
    fail_on_data_loss: bool


def tasks(batch_runs: Iterable[OffsetRange], options: SourceOptions) -> list[InputPartition]:
    """A task for each stretch."""
    return [Task(each, options.isolation, options.include_headers, options.fail_on_data_loss) for each in batch_runs]


def data_loss(fail: bool) -> Callable[[str], None]:
    """Who hears of records that are gone: raises NotFound, or writes to the log, as `failOnDataLoss` says."""

    def lost(what: str) -> None:
        if fail:
            raise NotFound(f"{what}; set failOnDataLoss to false to go on without them")
        logger.warning("%s; going on without them, as failOnDataLoss is false", what)

    return lost


def read(task: InputPartition) -> Iterator[pa.RecordBatch]:
    """The task's rows. Spark hands over an empty partition where there is no task at all."""
    if not isinstance(task, Task):
        return iter(())
    name = task.stretch.place.name
    return record_batches(pieces(task), name.topic, name.partition, task.headers)


def pieces(task: Task) -> Iterator[Records]:
    """The records; goes on in the new files where the broker replaced those that it read from."""
    stretch = task.stretch
    place, position, attempts = stretch.place, stretch.start, 0
    lost = data_loss(task.fail_on_data_loss)
    while True:
        log = logs.partition(place).log()
        if log.end_offset < stretch.end:  # who planned this task may have looked later than we did
            logs.partition(place).look_again()
            log = logs.partition(place).log()
        if log.start_offset > position:
            lost(f"offsets {position} to {min(log.start_offset, stretch.end) - 1} of {place.name} are gone")
        if log.end_offset < stretch.end:
            lost(f"{place.name} ends at offset {log.end_offset} by now, before {stretch.end}")
        try:
            for piece in logs.records(place, task.isolation, position, stretch.end):
                yield piece
                if len(piece):
                    position, attempts = int(piece.rows["offset"][-1]) + 1, 0
            return
        except Vanished:
            attempts += 1
            if attempts == _ATTEMPTS:
                raise
            logs.partition(place).look_again()
