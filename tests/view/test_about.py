"""The root that is served: the tree's entries with `.kafkafs` behind them, with files made when they are opened."""

import itertools
from typing import cast

import pytest

from kafkafs.errors import NotFound
from kafkafs.log.read_options import ReadOptions
from kafkafs.sample import unpack
from kafkafs.view import manual
from kafkafs.view.about import NAME, AboutDirectory, Top
from kafkafs.view.node import DirectoryNode, FileNode
from kafkafs.view.tree import Root
from tests.view.trees import read


@pytest.fixture
def root(tmp_path):
    return Root([unpack(tmp_path)], ReadOptions())


def text_of(directory: DirectoryNode, name: str) -> bytes:
    return read(cast(FileNode, directory.child(name)).open())


def test_the_root_that_is_served_has_all_of_the_tree_and_one_entry_more(root):
    """What a mount adds must hide nothing of what it mounts."""
    top = Top(root, AboutDirectory({}))
    assert top.entries() == [*root.entries(), (NAME, "directory")]
    assert NAME not in {entry.name for entry in root.entries()}
    assert top.attributes() == root.attributes()
    assert top.disks() is root.disks()
    with pytest.raises(NotFound):
        top.child("nothing-0")


def test_a_node_below_it_is_the_trees_own(root):
    top = Top(root, AboutDirectory({}))
    assert cast(DirectoryNode, top.child("test-0")).entries() == cast(DirectoryNode, root.child("test-0")).entries()


def test_the_manual_is_there_whoever_serves(root):
    """`kafkafs cat` has no status to tell, and its README is that of a mount."""
    directory = cast(DirectoryNode, Top(root, AboutDirectory({})).child(NAME))
    assert [entry.name for entry in directory.entries()] == ["README"]
    assert text_of(directory, "README") == manual.plain().encode()


def test_a_file_is_made_again_for_each_open_and_stays_as_it_was_made():
    """A reader that takes its time must not get the first half of one answer and the second of another."""
    numbers = itertools.count(1)
    directory = AboutDirectory({"metrics": lambda: f"{next(numbers)} ".encode() * 3})
    file = cast(FileNode, directory.child("metrics"))
    first = file.open()
    second = file.open()
    assert (first.read(0, 2), read(second), first.read(2, 100)) == (b"1 ", b"2 2 2 ", b"1 1 ")


@pytest.mark.parametrize("exact", [0, 2, 1 << 20])
def test_its_files_have_the_size_of_their_text_or_none_and_nobody_may_write(exact):
    directory = AboutDirectory({"status.json": lambda: b"{}"}, exact)
    for name in [entry.name for entry in directory.entries()]:
        file = cast(FileNode, directory.child(name))
        about, content = file.attributes(), file.open()
        text = read(content)
        assert (about.kind, about.mode & 0o222) == ("file", 0)
        assert (about.size, content.size) == ((len(text), len(text)) if len(text) <= exact else (0, None))
    with pytest.raises(NotFound):
        directory.child("other")
