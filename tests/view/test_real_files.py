"""`segments/`: the real files as they are at each moment, and what Kafka's tool would print of them."""

import sys
from pathlib import Path
from typing import cast

import pytest

from kafkafs.errors import Denied
from kafkafs.view.node import DirectoryNode, FileNode
from tests.log.making import made, write_partition
from tests.mounting import run, wait_until
from tests.nobody import as_nobody, takes_root
from tests.view.trees import assert_random_access, node, opened, tree

LOG = f"{0:020}.log"


def test_files_are_read_as_they_are_now(tmp_path):
    """Like the file itself: what the broker appends is there, what it cuts off is not."""
    path = write_partition(tmp_path, {0: [made(0, [1], size=9000)]}) / LOG
    root, data = tree(tmp_path), path.read_bytes()
    content = opened(root, f"t-0/segments/{LOG}")
    assert_random_access(content, data)
    with open(path, "ab") as file:
        file.write(b"more")
    assert bytes(content.read(0, 1 << 20)) == data + b"more"
    assert node(root, f"t-0/segments/{LOG}").attributes().size == len(data) + 4
    path.unlink()
    assert bytes(content.read(0, 1 << 20)) == data + b"more"
    content.close()
    assert bytes(content.read(0, 10)) == b""


def test_a_listing_follows_the_directory(tmp_path):
    directory = write_partition(tmp_path, {0: [made(0, [1])]}, indexed=False)
    view = cast(DirectoryNode, node(tree(tmp_path), "t-0/segments"))
    assert [entry.name for entry in view.entries()] == [LOG]
    (directory / LOG).rename(directory / f"{LOG}.deleted")
    wait_until(lambda: [entry.name for entry in view.entries()] == [f"{LOG}.deleted"])


@pytest.mark.parametrize("cache_keep", [False, True])
def test_of_many_files_each_is_found_without_a_look_at_all(tmp_path: Path, cache_keep: bool) -> None:
    """Regression: `ls -l segments/` of 20,000 segments took hours, for each name asked for each."""
    directory = write_partition(tmp_path, {0: [made(0, [1])]})
    for number in range(1, 2000):
        (directory / f"{number:020}.log").touch()
    view = cast(DirectoryNode, node(tree(tmp_path, cache_keep=cache_keep), "t-0/segments"))
    name = view.entries()[1000].name
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        about = view.child(name).attributes()
    finally:
        sys.setprofile(None)
    assert about.size == 0
    assert calls < 1000


def test_only_closed_logs_are_kept_by_the_kernel(tmp_path):
    """Regression: a growing index, which brokers write through a mapping, stood still on a mount with `cache=keep`."""
    (write_partition(tmp_path, {0: [made(0, [1])], 1: [made(1, [1])]}) / "leader-epoch-checkpoint").write_text("0\n0\n")
    kept = tree(tmp_path, cache_keep=True)
    for name in (LOG, f"{1:020}.log", f"{0:020}.index", f"{0:020}.timeindex", "leader-epoch-checkpoint"):
        path = f"t-0/segments/{name}"
        assert (opened(kept, path).kept_as is not None) is (name == LOG)
        assert (node(kept, path).attributes().timeout_s > 0) is (name == LOG)
        assert opened(tree(tmp_path), path).kept_as is None


@takes_root
def test_of_a_file_that_may_not_be_read_the_attributes_are_reported(open_path):
    """Regression: `ls -l segments` lacked it, whom the disk shows it to."""
    log = write_partition(open_path, {0: [made(0, [1])]}) / f"{0:020}.log"
    log.chmod(0o620)
    run("setfacl", "-m", "u:2001:r,m::rw", log)
    with as_nobody():
        root = tree(open_path)
        found = cast(FileNode, node(root, f"t-0/segments/{log.name}")).attributes()
        assert (found.size, found.mode, found.uid) == (log.stat().st_size, 0o400, 0), "nobody but the owner"
        with pytest.raises(Denied):
            opened(root, f"t-0/segments/{log.name}")
