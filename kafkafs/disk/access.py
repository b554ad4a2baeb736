"""The rights on a disk: owner, group and permission bits, never more than the disk grants.

The kernel checks what is served by its mode alone. So a file with an ACL has what its owner and group entries leave of
the mode, what is made of several files has what all of them grant, and a data directory lets in only whom the
directories above it let pass. Source: acl(5).
"""

import os
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kafkafs.disk.system_calls import access_list

_WRITE, _SEARCH = 0o222, 0o111
_ACL_HEADER = 4
_ACL_ENTRY = struct.Struct("<HHI")
_ACL_USER, _ACL_GROUP_OBJECT, _ACL_GROUP, _ACL_MASK = 0x02, 0x04, 0x08, 0x10


class Access(NamedTuple):
    """Owner, group and permission bits."""

    uid: int
    gid: int
    mode: int

    def less_writing(self) -> "Access":
        """Return the rights of a file or a directory that may be kept: all but writing."""
        return Access(self.uid, self.gid, self.mode & ~_WRITE)

    def for_entries_below(self) -> "Access":
        """Return the rights that a directory leaves to those whom it lets pass: everything below is for nobody else."""
        return Access(self.uid, self.gid, (self.mode & _SEARCH) * 7)


def access_to(place: int | str, about: os.stat_result) -> Access:
    """Return the rights that the attributes `about` and the access control list of the open file or the path `place`
    grant."""
    return access_of(about, access_list(place))


def access_of(about: os.stat_result, acl: bytes | None) -> Access:
    """Return the rights that a file's attributes and its `system.posix_acl_access` grant."""
    mode = about.st_mode & 0o777
    return Access(about.st_uid, about.st_gid, _without_mask(mode, acl) if acl else mode)


def common(all_of: Sequence[Access]) -> Access:
    """Return the rights that every one of them grants, to the classes of the first: its owner, its group, everybody
    else.

    A user in one class of the first may be in several classes of another. Such a user gets no more than all of these
    classes do.
    """
    first = all_of[0]
    if len(all_of) == 1:
        return first
    mode = first.mode
    for other in all_of[1:]:
        mode &= _granted_to_classes_of(first, other)
    return Access(first.uid, first.gid, mode)


def _granted_to_classes_of(first: Access, other: Access) -> int:
    owner, group, others = (other.mode >> shift & 7 for shift in (6, 3, 0))
    either = group & others
    to_group, to_others = (group, others) if other.gid == first.gid else (either, either)
    if other.uid == first.uid:
        return owner << 6 | to_group << 3 | to_others
    return either << 6 | (to_group & owner) << 3 | to_others & owner


def below_ancestors(own: Access, ancestors: Iterable[Access]) -> Access:
    """The data directory's access, for those whom the directories above it let pass.

    If the parent directories admit only the group (`root:kafka 0750` above `kafka:kafka`), the result has root as
    owner, so that the owner passes as a member of the group, or not at all.
    """
    passed = [above.for_entries_below() for above in ancestors]
    granted = common([own, *passed])
    if own.mode & 0o700 and not granted.mode & 0o700:
        as_group = common([Access(0, own.gid, own.mode), own, *passed])
        if as_group.mode & 0o070:
            return as_group
    return granted


def _without_mask(mode: int, acl: bytes) -> int:
    """The mode with the group's own entry in place of the ACL's mask, and nobody favoured over a named entry."""
    group, mask, named = (mode >> 3) & 7, 7, list[int]()
    for tag, permission, _ in _ACL_ENTRY.iter_unpack(acl[_ACL_HEADER:]):
        if tag == _ACL_GROUP_OBJECT:
            group = permission
        elif tag == _ACL_MASK:
            mask = permission
        elif tag in (_ACL_USER, _ACL_GROUP):
            named.append(permission)
    all_named = 7
    for permission in named:
        all_named &= permission & mask
    return (mode & 0o700) | (group & mask & all_named) << 3 | mode & all_named
