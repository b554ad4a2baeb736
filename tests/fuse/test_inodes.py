"""Inodes against a naive model: what the kernel refers to is there, what it has forgotten is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import Vanished
from kafkafs.fuse.serve.inodes import MOST_LEAVES, Inodes, inode_number
from tests.fuse.shelf import ShelfDirectory

NAMES = [b"one", b"two", b"three"]


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
            inode = inodes.refer(root, name, "file", root.node)
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
    inodes.refer(root, b"directory", "directory", root.node)
    leaves = [inodes.refer(root, b"%d" % number, "file", root.node) for number in range(MOST_LEAVES + 3)]
    assert inodes.superfluous() == leaves[:3]
    leaves[1].opened = 1
    assert inodes.superfluous() == [leaves[0], leaves[2], leaves[3]]
    inodes.forget(leaves[0].node_id, 1)
    assert inodes.superfluous() == leaves[2:4]


def test_a_node_id_is_never_used_twice(tmp_path):
    inodes = empty(tmp_path)
    seen = set()
    for _ in range(3):
        inode = inodes.refer(inodes[1], b"name", "file", inodes[1].node)
        assert inode.node_id not in seen
        seen.add(inode.node_id)
        inodes.forget(inode.node_id, 1)


def test_the_root_cannot_be_forgotten(tmp_path):
    inodes = empty(tmp_path)
    inodes.forget(1, 100)
    assert inodes[1].node_id == 1


@given(st.integers(1, 2**63 - 1), st.binary(min_size=1))
def test_an_inode_number_is_stable_positive_and_never_the_root_s(parent, name):
    assert 1 < inode_number(parent, name) == inode_number(parent, name) < 2**63
