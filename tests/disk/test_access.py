"""Modes that are served, against what the kernel would grant on disk: nobody gets a bit more through the mount."""

import os
import struct
from collections.abc import Iterable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.disk.access import Access, access_of, below_ancestors, common

FEW = st.integers(1, 3)  # users and groups: few, so that files share them
ACCESS = st.builds(Access, FEW, FEW, st.integers(0, 0o777))
USERS = [(uid, frozenset(gid for gid in range(1, 4) if mask >> gid & 1)) for uid in range(1, 5) for mask in range(16)]
USER_OBJECT, USER, GROUP_OBJECT, GROUP, MASK, OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20


def granted(to: Access, uid: int, gids: Iterable[int]) -> int:
    """The bits that the kernel grants by mode: of the first class that a user is in."""
    shift = 6 if uid == to.uid else 3 if to.gid in gids else 0
    return to.mode >> shift & 7


def granted_by_acl(uid: int, gids: frozenset[int], file: Access, acl: Mapping[tuple[int, int], int]) -> int:
    """The bits that the kernel grants by an access control list: acl(5), "ACCESS CHECK ALGORITHM"."""
    mask = acl[MASK, 0]
    if uid == file.uid:
        return acl[USER_OBJECT, 0]
    if (USER, uid) in acl:
        return acl[USER, uid] & mask
    groups = [bits for (tag, who), bits in acl.items() if tag == GROUP and who in gids]
    groups += [acl[GROUP_OBJECT, 0]] if file.gid in gids else []
    if groups:
        return sum(bit for bit in (4, 2, 1) if any(bits & bit for bits in groups)) & mask
    return acl[OTHER, 0]


@given(st.lists(ACCESS, min_size=1, max_size=4))
def test_a_view_over_several_files_grants_what_each_of_them_grants(files):
    """A range over segments with different owners must not open one of them to the other's group."""
    served = common(files)
    for user in USERS:
        assert all(granted(served, *user) & ~granted(file, *user) == 0 for file in files), (user, served)


@given(ACCESS)
def test_a_single_file_keeps_its_mode(file):
    assert common([file, file]) == common([file]) == file


@given(ACCESS, st.lists(ACCESS, max_size=3))
def test_the_root_lets_in_only_whom_the_directories_above_let_pass(own, ancestors):
    """On disk a directory that may not be searched hides everything below it; a mount has none above its root."""
    served = below_ancestors(own, ancestors)
    for user in USERS:
        found = granted(served, *user)
        assert found & ~granted(own, *user) == 0
        assert not found or all(granted(above, *user) & 1 for above in ancestors), (user, served)


def test_an_owner_who_may_pass_as_a_member_of_the_group_is_let_in():
    """`root:kafka 0750` above `kafka:kafka 0750`, the usual way to hide a data disk."""
    served = below_ancestors(Access(7, 5, 0o750), [Access(0, 5, 0o750)])
    assert granted(served, 7, {5}) == 5
    assert granted(served, 8, {5}) == 5
    assert granted(served, 8, {6}) == 0


@given(ACCESS, st.dictionaries(st.tuples(st.sampled_from([USER, GROUP]), FEW), st.integers(0, 7), max_size=4),
       st.integers(0, 7))  # fmt: skip
def test_an_access_control_list_grants_no_more_than_it_does_on_disk(file, named, mask):
    """The group's bits of such a file's mode are the mask: taken at face value they let the whole group in."""
    acl = {(USER_OBJECT, 0): file.mode >> 6, (GROUP_OBJECT, 0): file.mode >> 3 & 7, (MASK, 0): mask,
           (OTHER, 0): file.mode & 7, **named}  # fmt: skip
    packed = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, bits, who) for (tag, who), bits in acl.items())
    shown = 0o100000 | file.mode & 0o707 | mask << 3
    served = access_of(os.stat_result((shown, 0, 0, 1, file.uid, file.gid, 0, 0, 0, 0)), packed)
    for uid, gids in USERS:
        assert granted(served, uid, gids) & ~granted_by_acl(uid, gids, file, acl) == 0, (uid, gids, oct(served.mode))
