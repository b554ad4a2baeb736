"""Paths in a tree against what the kernel makes of the same paths in a mount's place: a copy of the tree on disk."""

import errno
import os
from typing import cast

import pytest

from kafkafs.errors import NotFound
from kafkafs.sample import unpack
from kafkafs.view.node import Tree
from kafkafs.view.paths import expand, resolve
from tests.view.trees import tree


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tree(unpack(tmp_path_factory.mktemp("sample")))


@pytest.mark.parametrize(
    "path", ["test-0/latest", "./test-0//latest", "test-0/by-offset/../latest", "../test-0/latest"]
)
def test_links_and_dots_lead_where_they_lead(root, path):
    assert resolve(root, path).attributes().kind == "file"
    assert resolve(root, path, follow=False).attributes().kind == "symlink"


@pytest.mark.parametrize(
    ("path", "number"),
    [("test-0/info.json/x", errno.ENOTDIR), ("test-0/info.json/", errno.ENOTDIR), ("test-0/latest/..", errno.ENOTDIR)],
)
def test_no_way_leads_through_a_file(root, path, number):
    with pytest.raises(OSError, match=os.strerror(number)):
        resolve(root, path)


def test_a_circle_of_links_ends(root):
    """A file system of strangers may hold one; a loop would hang the command."""

    class Circle:
        lane = ""

        def child(self, name):
            return self

        def target(self):
            return "x"

    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        resolve(cast(Tree, Circle()), "x")


def test_what_is_not_there_is_not_found(root):
    with pytest.raises(NotFound):
        resolve(root, "test-0/by-offset/99").attributes()
    for path in ("test-1", "test-0/by-offset/99/x", "test-0/by-offset/99.jsonl/"):
        with pytest.raises(NotFound):
            resolve(root, path)


def test_patterns_fit_listed_names_as_in_a_shell(root):
    """A name that is openable but not listed is fitted by no pattern; a pattern that fits nothing stays as it is."""
    assert expand(root, "test-0/by-*") == ["test-0/by-key", "test-0/by-offset", "test-0/by-time"]
    assert expand(root, "*/by-offset/*147..") == ["test-0/by-offset/00000000000000023147.."]
    assert expand(root, "test-0/by-offset/2340[0-9]") == ["test-0/by-offset/2340[0-9]"]
    assert expand(root, "test-0/by-offset/99") == ["test-0/by-offset/99"]
    assert expand(root, "test-0/info.json/*") == ["test-0/info.json/*"]
