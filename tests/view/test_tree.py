"""The root and a partition's directory: who is listed, who is a link, what a change shows, and a disk that fails."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest

from kafkafs import sample
from kafkafs.disk.blocking import non_blocking
from kafkafs.errors import KafkafsError, NotFound, UsageError, Vanished
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.node import DirectoryNode, LinkNode
from kafkafs.view.tree import Root
from tests.log.making import made, write_partition, write_start
from tests.mounting import wait_until
from tests.view.trees import cat, node, opened, read, tree


def listed(root: Root, path: str = "") -> list[str]:
    directory = cast(DirectoryNode, node(root, path)) if path else root
    return [entry.name for entry in directory.entries() if not entry.name.startswith(".")]


def test_partitions_come_and_go(tmp_path):
    """A topic that is created shows up, one that is deleted is gone, without a remount."""
    write_partition(tmp_path, {0: [made(0, [1])]})
    root = tree(tmp_path)
    assert listed(root) == ["t-0"]
    write_partition(tmp_path, {0: [made(0, [1])]}, "u-3")
    wait_until(lambda: listed(root) == ["t-0", "u-3"])
    (tmp_path / "u-3").rename(tmp_path / f"u-3.{'a' * 32}-delete")
    wait_until(lambda: listed(root) == ["t-0", f"u-3.{'a' * 32}-delete"])
    with pytest.raises(NotFound):
        node(root, "u-3")


def test_links_move_with_the_log(tmp_path):
    path = write_partition(tmp_path, {0: [made(0, [1])]}) / f"{0:020}.log"
    root = tree(tmp_path)
    link = cast(LinkNode, node(root, "t-0/latest"))
    assert link.target() == "by-offset/0"
    with open(path, "ab") as file:
        file.write(made(1, [2, 3]).data)
    wait_until(lambda: link.target() == "by-offset/2")
    write_start(tmp_path, 1)
    earliest = cast(LinkNode, node(root, "t-0/earliest"))
    wait_until(lambda: earliest.target() == "by-offset/1")


def test_links_are_listed_where_records_may_be(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1])]})
    write_partition(tmp_path, {0: []}, "empty-0")
    root = tree(tmp_path)
    assert listed(root, "t-0") == ["by-key", "by-offset", "by-time", "earliest", "info.json", "latest", "segments"]
    assert listed(root, "empty-0") == ["by-key", "by-offset", "by-time", "info.json", "segments"]
    deleted = f"{0:020}.log.deleted"
    (tmp_path / "empty-0" / deleted).write_bytes(b"x")
    wait_until(lambda: deleted in listed(root, "empty-0/segments"))
    assert listed(root, "empty-0") == ["by-key", "by-offset", "by-time", "info.json", "segments"]


def test_a_twin_is_named_in_both(tmp_path):
    for name in ("a", "b"):
        write_partition(tmp_path / name, {0: [made(0, [1])]})
    root = tree(tmp_path / "a", tmp_path / "b")
    assert listed(root) == ["t-0"]
    assert str(tmp_path / "b") in cat(root, ".replicas/1/t-0/info.json").decode()
    assert str(tmp_path / "a") in cat(root, ".replicas/2/t-0/info.json").decode()


@pytest.mark.parametrize("kind", ["missing", "file", "empty", "partition"])
def test_what_is_no_data_directory_is_refused_with_a_reason(tmp_path, kind):
    """A wrong path must not become an empty mount."""
    path: Path = tmp_path / "x"
    if kind == "file":
        path.touch()
    elif kind == "empty":
        path.mkdir()
    elif kind == "partition":
        path = write_partition(tmp_path, {0: []})
    with pytest.raises(UsageError, match=str(path)):
        tree(path)


@pytest.fixture
def data(tmp_path):
    return sample.unpack(tmp_path)


@pytest.mark.parametrize("alone", [True, False])
def test_a_data_directory_that_was_put_aside_is_reported(data, tmp_path, caplog, alone):
    """It was served without a word, and what was written into the one in its place was not seen."""
    moved = data.rename(tmp_path / "moved")
    root = tree(moved, *([] if alone else [sample.unpack(tmp_path / "beside")]))
    own = "test-0" if alone else ".replicas/1/test-0"
    content = opened(root, f"{own}/by-offset/0..end")
    whole = read(content)
    moved.rename(tmp_path / "old")
    assert "test-0" in {entry.name for entry in root.entries()}  # as long as no other stands there
    shutil.copytree(tmp_path / "old", moved)
    (disk, *_) = root.disks()
    wait_until(lambda: asked(lambda: cat(root, f"{own}/by-offset/0..")) is Vanished)
    assert disk.is_replaced
    assert root.attributes().kind == "directory"  # regression: .kafkafs, which names it, was behind a stale root
    assert read(content) == whole  # what is open stays open
    assert [message for message in caplog.messages if "put in its place" in message] == [
        f"{moved} was moved away, and another directory put in its place: mount again"
    ]
    for name in [] if alone else ["test-0", ".replicas/2/test-0"]:  # the other replica is chosen now
        assert asked(lambda name=name: cat(root, f"{name}/by-offset/0..")) is bytes
    shutil.rmtree(moved)
    (tmp_path / "old").rename(moved)
    wait_until(lambda: asked(lambda: cat(root, f"{own}/by-offset/0..")) is bytes)
    assert not disk.is_replaced


def test_a_data_directory_named_through_a_link_that_leads_elsewhere_is_reported(data, tmp_path):
    """As operators swap a directory without a moment in which there is none."""
    link = tmp_path / "link"
    link.symlink_to(data)
    root = tree(link)
    assert asked(lambda: cat(root, "test-0/by-offset/0..")) is bytes
    (tmp_path / "new link").symlink_to(sample.unpack(tmp_path / "other"))
    (tmp_path / "new link").rename(link)
    wait_until(lambda: asked(lambda: cat(root, "test-0/by-offset/0..")) is Vanished)


def test_the_thread_that_must_not_wait_sees_it_too(data, tmp_path):
    directory = open_data_directory(data, ReadOptions(names_fresh_s=0.0))
    wait_until(lambda: directory.names() and asked_at_once(directory.names) is dict)
    data.rename(tmp_path / "old")
    shutil.copytree(tmp_path / "old", data)
    assert asked_at_once(directory.names) is Vanished


def asked(question) -> type:
    """What kind of answer there is."""
    try:
        return type(question())
    except KafkafsError as error:
        return type(error)


def asked_at_once(question) -> type:
    with non_blocking():
        return asked(question)


def test_one_tree_does_not_wait_for_what_another_makes(tmp_path, monkeypatch):
    """Regression: `cached_property` of Python 3.11 has one lock for all objects of a class."""
    from kafkafs.cluster import cluster

    write_partition(tmp_path, {0: [made(0, [1])]})
    slow, quick = tree(tmp_path), tree(tmp_path)
    begun, go_on, init = threading.Event(), threading.Event(), cluster.Cluster.__init__

    def slowly(self, directories, *options):
        if directories is slow.directories:
            begun.set()
            assert go_on.wait(300)
        init(self, directories, *options)

    monkeypatch.setattr(cluster.Cluster, "__init__", slowly)
    with ThreadPoolExecutor(2) as threads:
        waiting = threads.submit(node, slow, ".cluster")
        assert begun.wait(300)
        try:
            assert threads.submit(node, quick, ".cluster").result(60) is not None
        finally:
            go_on.set()
        assert waiting.result(60) is node(slow, ".cluster")


def test_a_suffix_behind_a_link_leads_where_it_would_in_by_offset(tmp_path):
    """`cat t-0/latest.jsonl` is what people type first; no listing has it."""
    write_partition(tmp_path, {0: [made(0, [1, 2])]})
    root = tree(tmp_path)
    for which in ("earliest", "latest"):
        for suffix in (".jsonl", ".value", ".key", "...jsonl"):
            assert cat(root, f"t-0/{which}{suffix}") == cat(root, f"t-0/by-offset/{which}{suffix}")
    for name in ("latest.jsn", "latestjsonl", "latest.", "end.jsonl", "0.jsonl"):
        with pytest.raises(NotFound):
            node(root, f"t-0/{name}")
    assert "latest.jsonl" not in listed(root, "t-0")
