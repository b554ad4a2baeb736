"""One look at each partition for a whole plan, whatever the broker does between two questions of it."""

import gc
import shutil
import weakref
from pathlib import Path

import pytest

from kafkafs.errors import Vanished
from kafkafs.spark import planning
from kafkafs.spark.frame import Frame
from kafkafs.spark.locations import Location, data_directory, partition
from kafkafs.spark.offsets import TopicPartition
from kafkafs.spark.planning import PartitionLook, planned
from kafkafs.spark.source import BatchReader
from kafkafs.spark.source_options import batch_options
from kafkafs.spark.tasks import Task
from tests.kafka.broker import wait_until
from tests.log.making import made, write_partition
from tests.log.transactional import data, marker

NAME = TopicPartition("t", 0)


def test_retention_in_the_midst_of_a_plan_does_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Regression: start and ranges were asked of two looks; offsets were "gone" that were there at the first."""
    directory = write_partition(tmp_path, {0: [made(0, [1, 2])], 2: [made(2, [3])], 3: [made(3, [4])]})
    resolve = planning.resolve

    def resolving(*how, starting: bool):
        found = resolve(*how, starting=starting)
        for file in directory.glob(f"{0:020}.*"):
            file.unlink()
        partition(Location(tmp_path, NAME)).look_again()
        return found

    monkeypatch.setattr("kafkafs.spark.planning.resolve", resolving)
    monkeypatch.setattr("kafkafs.spark.planning.SMALL", 0)  # of small ranges nothing is read: what is gone shows later
    reader = BatchReader(batch_options({"path": str(tmp_path), "subscribe": "t"}), Frame())
    (task,) = reader.partitions()
    assert isinstance(task, Task)
    assert [(each.start, each.end) for each in task.ranges] == [(2, 4)]  # of a later look, all of it


def test_a_plan_is_made_anew_where_files_vanish_under_it(tmp_path: Path):
    write_partition(tmp_path, {0: [made(0, [1])]})
    looks: list[planning.PartitionLooks] = []

    def plan(found: planning.PartitionLooks) -> int:
        looks.append(found)
        if len(looks) < 3:
            raise Vanished("a file is gone")
        return found[NAME].visible_end

    assert planned({NAME: Location(tmp_path, NAME)}, "read_uncommitted", plan) == 1
    assert len({id(each[NAME]) for each in looks}) == 3


def test_a_log_that_changes_again_and_again_is_told_of(tmp_path: Path):
    write_partition(tmp_path, {0: [made(0, [1])]})

    def plan(_: planning.PartitionLooks) -> None:
        raise Vanished("a file is gone")

    with pytest.raises(Vanished):
        planned({NAME: Location(tmp_path, NAME)}, "read_uncommitted", plan)


def test_what_is_known_of_transactions_goes_with_the_partition(tmp_path: Path):
    """A driver plans for weeks, and topics come and go: each took a whole log with all its segments along."""
    directory = write_partition(tmp_path, {0: [data(0, 7), marker(1, 7, commit=True), data(2, 7)]})
    look = PartitionLook(Location(tmp_path, NAME), "read_committed")
    assert look.visible_end == 2
    segment = weakref.ref(look.log.segments[0])
    shutil.rmtree(directory)
    write_partition(tmp_path, {0: [made(0, [1])]}, "other-0")
    wait_until(lambda: str(NAME) not in data_directory(tmp_path).names(), "is forgotten")
    del look
    gc.collect()
    assert segment() is None
