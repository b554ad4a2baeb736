"""`.topics/`: a directory a topic, a link a partition, and what no name in it is."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import cast

import pytest

from kafkafs.errors import NotFound
from kafkafs.format.names import segment_file
from kafkafs.view.node import DirectoryNode, LinkNode
from kafkafs.view.tree import Root
from tests.kafka.dataset import Dataset
from tests.log.making import made, write_partition
from tests.mounting import run, shell, wait_until
from tests.view.trees import cat, node, opened, tree


def listed(root: Root, path: str) -> list[str]:
    return [entry.name for entry in cast(DirectoryNode, node(root, path)).entries()]


def target(root: Root, path: str) -> str:
    return cast(LinkNode, node(root, path)).target()


def of_cluster(place: Path, cluster: str, topic: str, count: int) -> Path:
    """A data directory with one partition of so many records."""
    write_partition(place, {0: [made(number, [1000 + number]) for number in range(count)]}, topic)
    (place / "meta.properties").write_text(f"version=1\ncluster.id={cluster}\n")
    return place


def test_a_directory_takes_its_topic_and_no_other(tmp_path):
    """A glob for `orders-*` takes `orders-archive-0` too."""
    for name in ("orders-0", "orders-2", "orders-10", "orders-archive-0", "a.b_c-0"):
        write_partition(tmp_path, {0: [made(0, [10])]}, name)
    for mark in ("delete", "stray", "future"):
        write_partition(tmp_path, {0: [made(0, [10])]}, f"gone-0.{'0' * 32}-{mark}")
    root = tree(tmp_path)
    assert listed(root, ".topics") == ["a.b_c", "orders", "orders-archive"]
    assert listed(root, ".topics/orders") == ["0", "2", "10", "by-time", "info.json"]
    assert target(root, ".topics/orders/10") == "../../orders-10"
    assert listed(root, ".topics/orders/by-time") == []
    for name in ("gone", "orders/1", "orders/02", "orders/by-offset", "orders/-1", "no"):
        with pytest.raises(NotFound):
            node(root, f".topics/{name}")


@pytest.mark.parametrize("name", ["0..", "0...key", "5.jsonl", "latest.jsonl", "before-5", "before-5.value",
                                  "0...batches.jsonl",
                                  "0..9.follow.jsonl", "0...explain", "-5..7.jsonl", "x..y.jsonl", "0...jsonl.jsonl",
                                  "..7.jsonl", "0...txt", "..",
                                  "5.explain", "latest.explain", "before-5.explain"])  # fmt: skip
def test_what_is_no_range_with_lines_does_not_exist(tmp_path, name):
    write_partition(tmp_path, {0: [made(0, [10])]}, "t-0")
    with pytest.raises(NotFound):
        node(tree(tmp_path), f".topics/t/by-time/{name}")


def test_topics_and_partitions_come_and_go(tmp_path):
    write_partition(tmp_path, {0: [made(0, [10])]}, "t-0")
    root = tree(tmp_path)
    merged = node(root, ".topics/t/by-time/0...jsonl")
    write_partition(tmp_path, {0: [made(0, [5])]}, "t-1")
    write_partition(tmp_path, {0: [made(0, [5])]}, "u-0")
    wait_until(lambda: listed(root, ".topics") == ["t", "u"])
    assert cat(root, ".topics/t/by-time/0...jsonl").count(b"\n") == 2
    shutil.rmtree(tmp_path / "t-0")
    wait_until(lambda: listed(root, ".topics/t") == ["1", "by-time", "info.json"])
    assert cat(root, ".topics/t/by-time/0...jsonl").count(b"\n") == 1
    shutil.rmtree(tmp_path / "t-1")
    wait_until(lambda: listed(root, ".topics") == ["u"])
    for ask in (merged.attributes, merged.open, lambda: opened(root, ".topics/t/by-time/0...jsonl")):  # type: ignore[union-attr]
        with pytest.raises(NotFound, match="'t'"):
            ask()


def test_partitions_on_several_disks_and_the_replica_that_counts(tmp_path):
    """Each partition once: the furthest of two replicas, wherever it is; and all that one disk has alone."""
    one, two = of_cluster(tmp_path / "a", "C", "t-0", 3), of_cluster(tmp_path / "b", "C", "t-0", 5)
    of_cluster(tmp_path / "a", "C", "t-1", 2)
    of_cluster(tmp_path / "b", "C", "t-7", 1)
    root = tree(one, two)
    assert listed(root, ".topics/t") == ["0", "1", "7", "by-time", "info.json"]
    assert [target(root, f".topics/t/{n}") for n in (0, 1, 7)] == ["../../t-0", "../../t-1", "../../t-7"]
    assert cat(root, ".topics/t/by-time/0...jsonl").count(b"\n") == 5 + 2 + 1


def test_a_topic_of_another_cluster_is_not_mixed_in(tmp_path):
    """Partitions of one name are no replicas of each other there, and no parts of one topic."""
    one, two = of_cluster(tmp_path / "a", "C", "t-0", 3), of_cluster(tmp_path / "b", "D", "t-1", 5)
    of_cluster(tmp_path / "b", "D", "u-0", 1)
    root = tree(one, two)
    assert listed(root, ".topics") == ["t", "u"]
    assert listed(root, ".topics/t") == ["0", "by-time", "info.json"]
    assert cat(root, ".topics/t/by-time/0...jsonl").count(b"\n") == 3


def test_an_empty_topic_is_an_empty_text(tmp_path):
    write_partition(tmp_path, {0: []}, "t-0")
    write_partition(tmp_path, {0: []}, "t-1")
    assert cat(tree(tmp_path), ".topics/t/by-time/0...jsonl") == b""


def test_it_is_there_in_a_mount(mount_for_module):
    """Shown by `ls -a` only; links lead where the partition is; nobody who walks the mount reads a record twice."""
    place = mount_for_module(Dataset("4.3.1", "stopped").path).path
    assert ".topics" not in run("ls", place).stdout.decode().split()
    assert ".topics" in run("ls", "-a", place).stdout.decode().split()
    topics = place / ".topics"
    one = shell(f"cd {topics}/segments && ls && cat 0/by-offset/0...jsonl | wc -l && readlink 0").split()
    assert one == ["0", "by-time", "info.json", "250", "../../segments-0"]
    merged = shell(
        f"cat {topics}/segments/by-time/0...jsonl | sha1sum; cat {place}/segments-0/by-time/0...jsonl | sha1sum"
    )
    assert len(set(merged.splitlines())) == 1
    assert shell(f"find {topics} -type f ! -name info.json | wc -l; du -s {topics} | cut -f1").split() == ["0", "0"]
    names = shell(f"cd {topics}/segments/by-time && stat -c %s 0...jsonl && wc -c < 0...jsonl && tac 0...jsonl | wc -c")
    assert len(set(names.split())) == 1
    missing = run("cat", topics / "segments/by-time/0...key", check=False)
    assert missing.returncode == 1
    assert b"No such file or directory" in missing.stderr


def test_in_a_mount_what_is_open_stays_and_a_follower_goes_on(mount, tmp_path):
    """What `fstat` tells is what an open file gives, whatever comes; and a quiet partition holds no follower back."""
    data = tmp_path / "data"
    for number in range(2):
        write_partition(data, {0: [made(0, [10 + number])]}, f"t-{number}")
    by_time = mount(data).path / ".topics/t/by-time"
    with (
        open(by_time / "0...jsonl", "rb") as file,
        subprocess.Popen(
            ["timeout", "60", "head", "-n", "3", by_time / "0...follow.jsonl"], stdout=subprocess.PIPE
        ) as follower,
    ):
        before = os.fstat(file.fileno()).st_size
        with open(data / "t-1" / segment_file(0, "log"), "ab") as log:
            log.write(made(1, [5]).data)
        followed, _ = follower.communicate()
        wait_until(lambda: (by_time / "0...jsonl").stat().st_size > before)
        text = file.read()
    assert (len(text), text.count(b"\n")) == (before, 2)
    assert followed.count(b"\n") == 3
    assert (by_time / "0...jsonl").read_bytes() == followed
