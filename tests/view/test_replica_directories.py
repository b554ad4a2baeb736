"""Partitions on several brokers' disks: the root has each once, `.replicas/` all copies, and info.json names them."""

import json
import shutil
from pathlib import Path
from typing import cast

import pytest

from kafkafs.errors import NotFound
from kafkafs.view.node import DirectoryNode
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.kafka.dataset import Dataset
from tests.log.making import made, write_partition
from tests.mounting import wait_until
from tests.view.trees import cat, node, opened, read, tree, tree_with_a_hanging_disk


def disk(place: Path, broker: int | None, batches: int) -> Path:
    """A data directory with one partition of so many records."""
    write_partition(place, {0: [made(number, [1000 + number]) for number in range(batches)]})
    if broker is not None:
        (place / "meta.properties").write_text(f"version=1\nnode.id={broker}\n")
    return place


def reported(root, name):
    return json.loads(cat(root, f"{name}/info.json"))


def test_each_replica_is_reported_and_the_furthest_is_chosen(tmp_path):
    one, two = disk(tmp_path / "a", 1, 3), disk(tmp_path / "b", 2, 5)
    root = tree(one, two)
    replicas = reported(root, "t-0")["replicas"]
    assert reported(root, "t-0")["logEndOffset"] == 5
    for number, end in ((1, 3), (2, 5)):
        about = reported(root, f".replicas/{number}/t-0")
        assert (about["replicas"], about["logEndOffset"]) == (replicas, end)
    shown = [(r["name"], r["broker"], r["dataDirectory"], r["logEndOffset"], r["chosen"]) for r in replicas]
    assert shown == [
        (".replicas/1/t-0", 1, str(one), 3, False),
        (".replicas/2/t-0", 2, str(two), 5, True),
    ]
    assert list(replicas[0]) == ["name", "broker", "dataDirectory", "lastLeaderEpoch", "logEndOffset", "chosen"]


def test_of_equals_the_first_is_chosen(tmp_path):
    root = tree(disk(tmp_path / "a", 1, 3), disk(tmp_path / "b", 2, 3))
    assert [replica["chosen"] for replica in reported(root, "t-0")["replicas"]] == [True, False]


@pytest.mark.parametrize(("brokers", "problems"), [((1, 2), 0), ((1, 1), 1), ((1, None), 1)])
def test_the_same_partition_twice_on_one_broker_is_a_problem(tmp_path, brokers, problems):
    """Replicas are how Kafka works; two directories of one broker with the same partition are damage."""
    root = tree(*(disk(tmp_path / str(number), broker, 3) for number, broker in enumerate(brokers)))
    assert len([p for p in reported(root, "t-0")["problems"] if "holds this partition too" in p]) == problems


def test_a_deleted_directory_never_counts(tmp_path):
    one, two = disk(tmp_path / "a", 1, 3), disk(tmp_path / "b", 2, 5)
    (two / "t-0").rename(two / f"t-0.{'0' * 32}-delete")
    root = tree(one, two)
    assert [replica["name"] for replica in reported(root, "t-0")["replicas"]] == ["t-0"]
    assert [replica["name"] for replica in reported(root, f"t-0.{'0' * 32}-delete")["replicas"]] == ["t-0"]


@pytest.mark.parametrize("mark", ["future", "delete", "stray"])
def test_a_move_between_two_disks_of_a_broker_is_no_problem(tmp_path, mark):
    """Regression: the copy that was being made of a partition told of the partition as of a second one."""
    one, two = disk(tmp_path / "a", 1, 3), disk(tmp_path / "b", 1, 2)
    (two / "t-0").rename(two / f"t-0.{'0' * 32}-{mark}")
    root = tree(one, two)
    assert [reported(root, name)["problems"] for name in ("t-0", f"t-0.{'0' * 32}-{mark}")] == [[], []]


def test_a_broker_s_own_data_has_its_id_and_its_last_epoch(tmp_path):
    dataset = Dataset("4.3.1", "stopped")
    shutil.copytree(dataset.path / "segments-0", tmp_path / "segments-0")
    shutil.copy(dataset.path / "meta.properties", tmp_path)
    about = reported(tree(tmp_path), "segments-0")
    assert about["replicas"] == [
        {
            "name": "segments-0", "broker": 1, "dataDirectory": str(tmp_path), "chosen": True,
            "lastLeaderEpoch": about["leaderEpochs"][-1]["epoch"], "logEndOffset": about["logEndOffset"],
        }
    ]  # fmt: skip


def names(root, path=""):
    found = node(root, path) if path else root
    return [entry.name for entry in cast(DirectoryNode, found).entries()]


def lines(root, path):
    return [json.loads(line)["offset"] for line in cat(root, path).splitlines()]


def test_without_a_second_copy_there_is_no_such_directory(tmp_path):
    one, two = disk(tmp_path / "a", 1, 3), tmp_path / "b"
    write_partition(two, {0: [made(0, [1])]}, "u-0")
    for root in (tree(one), tree(one, two)):
        assert ".replicas" not in names(root)
        with pytest.raises(NotFound):
            node(root, ".replicas")
    assert [replica["name"] for replica in reported(tree(one, two), "u-0")["replicas"]] == ["u-0"]


def test_each_data_directory_is_there_by_its_number(tmp_path):
    """Also with what it has alone. What is no number of one does not exist."""
    one, two, three = (disk(tmp_path / name, number, number) for number, name in enumerate("abc", 1))
    (three / "t-0").rename(three / "u-7")
    root = tree(one, two, three)
    assert names(root)[:3] == [".cluster", ".topics", ".replicas"]
    assert [name for name in names(root) if not name.startswith(".")] == ["t-0", "u-7"]
    assert names(root, ".replicas") == ["1", "2", "3"]
    assert [names(root, f".replicas/{number}") for number in (1, 2, 3)] == [["t-0"], ["t-0"], ["u-7"]]
    assert lines(root, ".replicas/3/u-7/by-offset/0...jsonl") == [0, 1, 2]
    for path in ("0", "4", "01", "+1", "x", "1/u-7", "3/t-0", "1/.topics"):
        with pytest.raises(NotFound):
            node(root, f".replicas/{path}")


@pytest.mark.parametrize("path", ["t-0/by-offset/0...jsonl", ".topics/t/by-time/0...jsonl"])
def test_the_replica_that_is_chosen_changes_and_nothing_is_mixed(tmp_path, path):
    """What is open goes on with its replica; the name leads to the one that is furthest by now; an equal one stays."""
    one, two = disk(tmp_path / "a", 1, 3), disk(tmp_path / "b", 2, 3)
    for place, value in ((one, b"1"), (two, b"2")):
        (place / "t-0" / f"{0:020}.log").write_bytes(batch(0, 3, value))
    root = tree(one, two, log_fresh_s=0.0, names_fresh_s=0.0)

    def read_now():
        found = [(line["offset"], line["value"]) for line in map(json.loads, cat(root, path).splitlines())]
        return {value for _, value in found}, [offset for offset, _ in found]

    before = opened(root, path)
    assert read_now() == ({"1"}, [0, 1, 2])
    for number, (place, value, end) in enumerate([(two, b"2", 4), (one, b"1", 4), (one, b"1", 5), (two, b"2", 7)]):
        with open(place / "t-0" / f"{0:020}.log", "ab") as log:
            log.write(batch(root_end(root, place), end, value))
        expected = [b"2", b"2", b"1", b"2"][number].decode(), [4, 4, 5, 7][number]
        assert read_now() == ({expected[0]}, list(range(expected[1])))
        chosen = [replica["chosen"] for replica in reported(root, "t-0")["replicas"]]
        assert chosen == [expected[0] == "1", expected[0] == "2"]
    assert {json.loads(line)["value"] for line in read(before).splitlines()} == {"1"}


def root_end(root, place):
    (own,) = [each for each in reported(root, "t-0")["replicas"] if each["dataDirectory"] == str(place)]
    return own["logEndOffset"]


def batch(start, end, value):
    return v2_batch([Record(offset, 1000 + offset, 0, None, value) for offset in range(start, end)])


def test_a_larger_epoch_counts_more_than_a_larger_offset(tmp_path):
    one, two = disk(tmp_path / "a", 1, 9), disk(tmp_path / "b", 2, 0)
    (two / "t-0" / f"{0:020}.log").write_bytes(v2_batch([Record(0, 5, 0, None, b"new")], epoch=7))
    assert lines(tree(one, two), "t-0/by-offset/0...jsonl") == [0]


def test_a_disk_that_hangs_is_not_waited_for(tmp_path):
    """Its replica is not chosen as long as another one answers, and the rest of its line is null."""
    root = tree_with_a_hanging_disk(disk(tmp_path / "a", 1, 3), disk(tmp_path / "b", 2, 5))
    assert lines(root, "t-0/by-offset/0...jsonl") == [0, 1, 2]
    assert [(each["logEndOffset"], each["chosen"]) for each in reported(root, "t-0")["replicas"]] == [
        (3, True),
        (None, False),
    ]


def test_a_replica_that_cannot_be_read_is_not_chosen(tmp_path):
    one, two = disk(tmp_path / "a", 1, 3), disk(tmp_path / "b", 2, 5)
    root = tree(one, two, names_fresh_s=0.0)
    assert lines(root, "t-0/by-offset/0...jsonl") == [0, 1, 2, 3, 4]
    shutil.rmtree(two / "t-0")
    assert lines(root, "t-0/by-offset/0...jsonl") == [0, 1, 2]
    wait_until(lambda: ".replicas" not in names(root))


def test_links_lead_to_the_replica_that_a_group_reads(tmp_path):
    """`next/` and `unread/` lead to the name in the root, or into `.replicas/` if the metadata know another topic."""
    root = tree(*(disk(tmp_path / name, number, number + 2) for number, name in enumerate("ab", 1)))
    for number in (1, 2):
        own = node(root, f".replicas/{number}/t-0").view.partition  # type: ignore[union-attr]
        assert root._names.path_of_partition(own) == [".replicas/1/t-0", "t-0"][number - 1]
