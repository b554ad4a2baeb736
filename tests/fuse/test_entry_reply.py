"""The one reply that serves every answer: what it said before must not show in what it says now."""

import ctypes
import stat
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.fuse.serve.answering import FILE_TYPE, FIXED_S, NO_NODE, EntryReply
from kafkafs.view.node import Attributes, Kind

FIELDS = (
    "st_mode", "st_nlink", "st_uid", "st_gid", "st_size", "st_blocks", "st_mtime_ns", "st_ctime_ns",
    "st_atime_ns", "attr_timeout", "entry_timeout", "st_blksize",
)  # fmt: skip

number = st.integers(2, 2**63 - 1)
attributes = st.builds(
    Attributes,
    kind=st.sampled_from(get_args(Kind)),
    mode=st.integers(0, 0o777),
    uid=st.integers(0, 2**32 - 2),
    gid=st.integers(0, 2**32 - 2),
    size=st.integers(0, 2**63 - 1),
    blocks=st.integers(0, 2**40),
    mtime_ns=st.sampled_from([0, 1, 999_999_999, 1_632_390_207_806_000_000]),
    nlink=st.integers(1, 2),
    timeout_s=st.sampled_from([0.0, 0.4, 0.8]),
)


STAT_INO = 24
"""Bytes from the node id, the first of `fuse_entry_param`, to `attr.st_ino`: generation and st_dev lie between."""


def shown_number(reply: EntryReply) -> int:
    """The inode number, where the kernel reads it: pyfuse3 itself tells the node id in its place."""
    return ctypes.c_uint64.from_address(ctypes.addressof(reply._node_id) + STAT_INO).value


def told(reply: EntryReply) -> dict[str, object]:
    fields: dict[str, object] = {name: getattr(reply.answer, name) for name in FIELDS}
    return fields | {"node": reply._node_id.value, "number": shown_number(reply)}


@given(st.lists(st.tuples(st.booleans(), number, number, attributes), min_size=1, max_size=10))
def test_an_answer_does_not_depend_on_those_before_it(answers):
    """Listings, whose lines have no node, come between lookups; times that stay the same are not written again."""
    used = EntryReply()
    for is_line, node_id, inode_number, about in answers:
        if is_line:
            used.line(inode_number, FILE_TYPE[about.kind])
            assert used._node_id.value == NO_NODE, "the kernel would keep an inode for each name"
            assert (shown_number(used), used.answer.st_mode) == (inode_number, FILE_TYPE[about.kind])
        else:
            fresh = EntryReply()
            fresh.fill(node_id, inode_number, about)
            used.fill(node_id, inode_number, about)
            assert told(used) == told(fresh)


@given(number, number, attributes)
def test_it_says_what_the_attributes_say(node_id, inode_number, about):
    reply = EntryReply()
    assert reply.fill(node_id, inode_number, about) is reply.answer
    shown = told(reply)
    assert (shown["node"], shown["number"]) == (node_id, inode_number)
    mode = reply.answer.st_mode
    assert stat.S_IMODE(mode) == about.mode
    kinds = {"directory": stat.S_ISDIR, "file": stat.S_ISREG, "symlink": stat.S_ISLNK}
    assert [kind for kind, is_it in kinds.items() if is_it(mode)] == [about.kind]
    same = {"st_nlink": about.nlink, "st_uid": about.uid, "st_gid": about.gid, "st_size": about.size,
            "st_blocks": about.blocks, "st_mtime_ns": about.mtime_ns, "entry_timeout": about.timeout_s,
            "attr_timeout": FIXED_S if about.is_fixed else about.timeout_s}  # fmt: skip
    assert {name: shown[name] for name in same} == same
