"""The root and a partition's directory: who is listed, who is a link, and what a changed directory shows."""

from pathlib import Path
from typing import cast

import pytest

from kafkafs.errors import NotFound, UsageError
from kafkafs.view.node import DirectoryNode, LinkNode
from kafkafs.view.tree import Root
from tests.log.making import made, write_partition, write_start
from tests.mounting import wait_until
from tests.view.trees import cat, node, tree


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
    assert listed(root) == ["t-0", "t-0~2"]
    assert str(tmp_path / "b") in cat(root, "t-0/info.json").decode()
    assert str(tmp_path / "a") in cat(root, "t-0~2/info.json").decode()


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
