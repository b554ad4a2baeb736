"""Inodes against a naive model: what the kernel refers to is there, what it has forgotten is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import Vanished
from kafkafs.fuse.serve.inodes import MOST_LEAVES, Inodes, inode_number
from kafkafs.view.node import Attributes, Kind, Passing
from tests.fuse.shelf import ShelfDirectory

NAMES = [b"one", b"two", b"three"]


def about(kind: Kind = "file", size: int = 0, version: int = 0) -> Attributes:
    return Attributes(kind, 0o444, 0, 0, size, 0, 0, 1, 0.0, version)


def empty(tmp_path):
    return Inodes(ShelfDirectory(tmp_path))


@given(st.lists(st.tuples(st.sampled_from(["look up", "forget", "forget all"]), st.sampled_from(NAMES))))
def test_an_inode_lives_exactly_as_long_as_its_references(tmp_path_factory, steps):
    inodes = Inodes(ShelfDirectory(tmp_path_factory.getbasetemp()))
    root = inodes[1]
    references: dict[bytes, int] = {}
    known: dict[bytes, int] = {}
    for step, name in steps:
        if step == "look up":
            inode = inodes.refer(root, name, about(), root.node)
            assert known.setdefault(name, inode.node_id) == inode.node_id
            references[name] = references.get(name, 0) + 1
        elif name in references:
            count = references[name] if step == "forget all" else 1
            inodes.forget(known[name], count)
            references[name] -= count
            if references[name] == 0:
                del references[name]
                with pytest.raises(Vanished):
                    inodes[known.pop(name)]
    assert len(inodes) == 1 + len(references)


def test_the_oldest_leaves_that_nobody_reads_are_superfluous(tmp_path):
    inodes = empty(tmp_path)
    root = inodes[1]
    inodes.refer(root, b"directory", about("directory"), root.node)
    leaves = [inodes.refer(root, b"%d" % number, about(), root.node) for number in range(MOST_LEAVES + 3)]
    assert inodes.superfluous() == leaves[:3]
    leaves[1].opened = 1
    assert inodes.superfluous() == [leaves[0], leaves[2], leaves[3]]
    inodes.forget(leaves[0].node_id, 1)
    assert inodes.superfluous() == leaves[2:4]


def test_a_node_id_is_never_used_twice(tmp_path):
    inodes = empty(tmp_path)
    seen = set()
    for _ in range(3):
        inode = inodes.refer(inodes[1], b"name", about(), inodes[1].node)
        assert inode.node_id not in seen
        seen.add(inode.node_id)
        inodes.forget(inode.node_id, 1)


def test_what_is_open_stays_what_it_is_and_the_name_leads_to_the_next(tmp_path):
    """The kernel knows one size of an inode: were it told a new one, who has it open would get holes, or too little."""
    inodes = empty(tmp_path)
    root = inodes[1]
    first = inodes.refer(root, b"name", about(size=3, version=1), root.node)
    assert inodes.refer(root, b"name", about(size=4, version=2), root.node) is first  # nobody has it open
    first.opened = 1
    assert inodes.refer(root, b"name", about(size=4, version=2), root.node) is first
    second = inodes.refer(root, b"name", about(size=5, version=3), root.node)
    assert second is not first
    inodes.forget(first.node_id, 3)
    assert inodes.refer(root, b"name", about(size=5, version=3), root.node) is second
    assert len(inodes) == 2


def test_pages_are_dropped_behind_a_reader_once_they_are_many_or_nobody_has_them_open(tmp_path):
    inodes = empty(tmp_path)
    inode = inodes.refer(inodes[1], b"name", about(), inodes[1].node)
    inode.opened = 1
    inodes.note_read(inode, 1 << 40)
    assert inodes.take_passed() == []  # it has none that pass
    inode.kept_as = Passing(1)
    inodes.note_read(inode, 1)
    assert inodes.take_passed() == []
    inodes.note_read(inode, 1 << 40)
    assert inodes.many_passed.is_set()
    assert (inodes.take_passed(), inodes.take_passed()) == ([inode.node_id], [])
    inode.opened = 0
    inodes.note_read(inode, 0)
    assert not inodes.many_passed.is_set()
    assert inodes.take_passed() == [inode.node_id]


def test_the_root_cannot_be_forgotten(tmp_path):
    inodes = empty(tmp_path)
    inodes.forget(1, 100)
    assert inodes[1].node_id == 1


@given(st.integers(1, 2**63 - 1), st.binary(min_size=1))
def test_an_inode_number_is_stable_positive_and_never_the_root_s(parent, name):
    assert 1 < inode_number(parent, name) == inode_number(parent, name) < 2**63
