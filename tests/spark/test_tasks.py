"""What an executor is handed, and the batches of a task there."""

import gc
import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from kafkafs.errors import KafkafsError, NotFound
from kafkafs.spark.source_options import batch_options
from kafkafs.spark.tasks import Task, in_executor, tasks
from kafkafs.tables.locations import Location
from kafkafs.tables.offsets import TopicPartition
from kafkafs.tables.planning import PartitionRange

OPTIONS = batch_options(
    {"path": "/", "subscribe": "t", "kafka.isolation.level": "read_committed", "failOnDataLoss": "false"}
)


def test_a_task_carries_its_ranges_and_how_they_are_read():
    ranges = [PartitionRange(Location(Path("/"), TopicPartition("t", 0)), at, at + 10) for at in (0, 10, 20)]
    made = tasks([ranges[:2], ranges[2:]], OPTIONS)
    assert made == [Task(tuple(ranges[:2]), "read_committed", False), Task(tuple(ranges[2:]), "read_committed", False)]
    assert pickle.loads(pickle.dumps(made)) == made


def test_batches_pass_and_what_is_there_is_not_collected_again():
    batch = pa.RecordBatch.from_pydict({"x": [1]})
    assert list(in_executor(iter([batch, batch]))) == [batch, batch]
    assert gc.get_freeze_count() > 0


def test_an_error_in_an_executor_is_a_sentence():
    def failing(number):
        raise NotFound(f"offsets {number} to 2 are gone")

    with pytest.raises((KafkafsError, PySparkException), match="offsets 1 to 2 are gone"):
        list(in_executor(map(failing, [1])))
