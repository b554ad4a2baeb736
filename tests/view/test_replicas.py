"""`replicas` of info.json: who has three brokers' disks sees each partition three times, and which of them counts."""

import json
import shutil
from pathlib import Path

import pytest

from tests.kafka.dataset import Dataset
from tests.log.making import made, write_partition
from tests.view.trees import cat, tree


def disk(place: Path, broker: int | None, batches: int) -> Path:
    """A data directory with one partition of so many records."""
    write_partition(place, {0: [made(number, [1000 + number]) for number in range(batches)]})
    if broker is not None:
        (place / "meta.properties").write_text(f"version=1\nnode.id={broker}\n")
    return place


def told(root, name):
    return json.loads(cat(root, f"{name}/info.json"))


def test_each_replica_is_told_of_and_the_furthest_is_chosen(tmp_path):
    one, two = disk(tmp_path / "a", 1, 3), disk(tmp_path / "b", 2, 5)
    root = tree(one, two)
    replicas = told(root, "t-0")["replicas"]
    assert replicas == told(root, "t-0~2")["replicas"]
    shown = [(r["name"], r["broker"], r["dataDirectory"], r["logEndOffset"], r["chosen"]) for r in replicas]
    assert shown == [("t-0", 1, str(one), 3, False), ("t-0~2", 2, str(two), 5, True)]
    assert list(replicas[0]) == ["name", "broker", "dataDirectory", "lastLeaderEpoch", "logEndOffset", "chosen"]


def test_of_equals_the_first_is_chosen(tmp_path):
    root = tree(disk(tmp_path / "a", 1, 3), disk(tmp_path / "b", 2, 3))
    assert [replica["chosen"] for replica in told(root, "t-0")["replicas"]] == [True, False]


@pytest.mark.parametrize(("brokers", "problems"), [((1, 2), 0), ((1, 1), 1), ((1, None), 1)])
def test_the_same_partition_twice_on_one_broker_is_a_problem(tmp_path, brokers, problems):
    """Replicas are how Kafka works; two directories of one broker with the same partition are damage."""
    root = tree(*(disk(tmp_path / str(number), broker, 3) for number, broker in enumerate(brokers)))
    assert len([p for p in told(root, "t-0")["problems"] if "holds this partition too" in p]) == problems


def test_a_deleted_directory_never_counts(tmp_path):
    one, two = disk(tmp_path / "a", 1, 3), disk(tmp_path / "b", 2, 5)
    (two / "t-0").rename(two / f"t-0.{'0' * 32}-delete")
    root = tree(one, two)
    assert [replica["name"] for replica in told(root, "t-0")["replicas"]] == ["t-0"]
    assert [replica["name"] for replica in told(root, f"t-0.{'0' * 32}-delete")["replicas"]] == ["t-0"]


@pytest.mark.parametrize("mark", ["future", "delete", "stray"])
def test_a_move_between_two_disks_of_a_broker_is_no_problem(tmp_path, mark):
    """Regression: the copy that was being made of a partition told of the partition as of a second one."""
    one, two = disk(tmp_path / "a", 1, 3), disk(tmp_path / "b", 1, 2)
    (two / "t-0").rename(two / f"t-0.{'0' * 32}-{mark}")
    root = tree(one, two)
    assert [told(root, name)["problems"] for name in ("t-0", f"t-0.{'0' * 32}-{mark}")] == [[], []]


def test_a_broker_s_own_data_has_its_id_and_its_last_epoch(tmp_path):
    dataset = Dataset("4.3.1", "stopped")
    shutil.copytree(dataset.path / "segments-0", tmp_path / "segments-0")
    shutil.copy(dataset.path / "meta.properties", tmp_path)
    about = told(tree(tmp_path), "segments-0")
    assert about["replicas"] == [
        {
            "name": "segments-0", "broker": 1, "dataDirectory": str(tmp_path), "chosen": True,
            "lastLeaderEpoch": about["leaderEpochs"][-1]["epoch"], "logEndOffset": about["logEndOffset"],
        }
    ]  # fmt: skip
