"""One look at each partition for a whole plan, whatever the broker does between two questions of it."""

from pathlib import Path

import pytest

from kafkafs.errors import Vanished
from kafkafs.spark import planning, snapshots
from kafkafs.spark.locations import Location, partition
from kafkafs.spark.offsets import TopicPartition
from kafkafs.spark.options import batch_options
from kafkafs.spark.snapshots import planned
from kafkafs.spark.source import BatchReader
from kafkafs.spark.tasks import Task
from tests.log.making import made, write_partition

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
    reader = BatchReader(batch_options({"path": str(tmp_path), "subscribe": "t"}))
    (task,) = reader.partitions()
    assert isinstance(task, Task)
    assert [(each.start, each.end) for each in task.ranges] == [(2, 4)]  # of a later look, all of it


def test_a_plan_is_made_anew_where_files_vanish_under_it(tmp_path: Path):
    write_partition(tmp_path, {0: [made(0, [1])]})
    looks: list[snapshots.Snapshots] = []

    def plan(found: snapshots.Snapshots) -> int:
        looks.append(found)
        if len(looks) < 3:
            raise Vanished("a file is gone")
        return found[NAME].visible_end

    assert planned({NAME: Location(tmp_path, NAME)}, "read_uncommitted", plan) == 1
    assert len({id(each[NAME]) for each in looks}) == 3


def test_a_log_that_changes_again_and_again_is_told_of(tmp_path: Path):
    write_partition(tmp_path, {0: [made(0, [1])]})

    def plan(_: snapshots.Snapshots) -> None:
        raise Vanished("a file is gone")

    with pytest.raises(Vanished):
        planned({NAME: Location(tmp_path, NAME)}, "read_uncommitted", plan)
