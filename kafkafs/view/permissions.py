"""Owner and mode of what the mount serves: those of the real files, less every write bit, and never more than the disk.

The kernel checks them (`default_permissions`), so they must not grant what the disk would refuse: a view over several
files has what all of them grant, a file with an ACL is served by its owner and group entries, and the root of the mount
grants search only where the directories above the data directory do.
"""

import grp
import os
import pwd
import stat
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_READ, _SEARCH = 0o444, 0o111
_ACL_HEADER = 4
_ACL_ENTRY = struct.Struct("<HHI")
_ACL_USER, _ACL_GROUP_OBJECT, _ACL_GROUP, _ACL_MASK = 0x02, 0x04, 0x08, 0x10


@dataclass(frozen=True, slots=True)
class Access:
    """Owner, group and permission bits."""

    uid: int
    gid: int
    mode: int

    def of_file(self) -> "Access":
        """What a file may keep: reading."""
        return Access(self.uid, self.gid, self.mode & _READ)

    def of_directory(self) -> "Access":
        """What a directory may keep: listing and search."""
        return Access(self.uid, self.gid, self.mode & (_READ | _SEARCH))


def access(about: os.stat_result, acl: bytes | None = None) -> Access:
    """The access that a file's attributes and its `system.posix_acl_access` grant."""
    mode = stat.S_IMODE(about.st_mode) & 0o777
    if acl:
        mode = _without_mask(mode, acl)
    return Access(about.st_uid, about.st_gid, mode)


def common(all_of: Sequence[Access]) -> Access:
    """What every one of them grants. Where owners or groups differ, that class gets no more than all others do."""
    first = all_of[0]
    mode = first.mode
    for other in all_of[1:]:
        mode &= other.mode
    others = mode & 0o007
    if any(other.gid != first.gid for other in all_of):
        mode &= 0o707 | others << 3
    if any(other.uid != first.uid for other in all_of):
        mode &= 0o077 | others << 6
    return Access(first.uid, first.gid, mode)


def below_ancestors(own: Access, path: Path) -> Access:
    """The data directory's access, less the search permission that the directories above it withhold."""
    mode = own.mode
    for ancestor in path.resolve().parents:
        about = os.stat(ancestor)
        bits = stat.S_IMODE(about.st_mode)
        if not _owner_may_search(own.uid, about):
            mode &= ~0o100
        if not (bits & 0o010 if about.st_gid == own.gid else bits & 0o010 and bits & 0o001):
            mode &= ~0o010
        if bits & _SEARCH != _SEARCH:
            mode &= ~0o001
    return Access(own.uid, own.gid, mode)


def _owner_may_search(uid: int, about: os.stat_result) -> bool:
    bits = stat.S_IMODE(about.st_mode)
    if uid == 0:
        return True
    if about.st_uid == uid:
        return bool(bits & 0o100)
    return bool(bits & (0o010 if about.st_gid in _groups_of(uid) else 0o001))


def _groups_of(uid: int) -> set[int]:
    try:
        user = pwd.getpwuid(uid)
    except KeyError:
        return set()
    return {user.pw_gid, *(group.gr_gid for group in grp.getgrall() if user.pw_name in group.gr_mem)}


def _without_mask(mode: int, acl: bytes) -> int:
    """The mode with the group's own entry in place of the ACL's mask, and nobody favoured over a named entry."""
    group, mask, named = (mode >> 3) & 7, 7, 7
    for tag, permission, _ in _ACL_ENTRY.iter_unpack(acl[_ACL_HEADER:]):
        if tag == _ACL_GROUP_OBJECT:
            group = permission
        elif tag == _ACL_MASK:
            mask = permission
        elif tag in (_ACL_USER, _ACL_GROUP):
            named &= permission
    group &= mask & named & 7
    return (mode & 0o700) | group << 3 | (mode & named & 7)
