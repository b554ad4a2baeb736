"""Owner and mode of what the mount serves: those of the real files, less every write bit, and never more than the disk.

The kernel checks them (`default_permissions`), so they must not grant what the disk would refuse: a view over several
files has what all of them grant, a file with an ACL is served by its owner and group entries, and the root of the mount
grants search only where the directories above the data directory do.

What is made of an internal topic has what its partition's files grant together: `.cluster` shows what such topics tell,
and a decoded view names schemas and fields that stand in `_schemas-0` only.
"""

import os
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kafkafs.disk.blocking import may_block
from kafkafs.disk.cached_value import CachedValue
from kafkafs.errors import Denied, DiskError, NotFound, Vanished
from kafkafs.log.partition import Partition

_READ, _SEARCH = 0o444, 0o111
_ACL_HEADER = 4
_ACL_ENTRY = struct.Struct("<HHI")
_ACL_USER, _ACL_GROUP_OBJECT, _ACL_GROUP, _ACL_MASK = 0x02, 0x04, 0x08, 0x10


class Access(NamedTuple):
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
    mode = about.st_mode & 0o777
    return Access(about.st_uid, about.st_gid, _without_mask(mode, acl) if acl else mode)


def common(all_of: Sequence[Access]) -> Access:
    """What every one of them grants, to the classes of the first: its owner, its group, everybody else.

    Who is in one class of the first may be in several of another, and then gets no more than all of those do.
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

    Where it cannot be told that they let its owner pass, but they do its group (`root:kafka 0750` above `kafka:kafka`),
    it is served as root's, so that the owner passes as a member of the group, or not at all.
    """
    passed = [Access(above.uid, above.gid, (above.mode & _SEARCH) * 7) for above in ancestors]
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


GONE = (NotFound, Denied, DiskError, Vanished)
"""What a partition may answer that is deleted, or that nobody can read."""

_KEEP_S = 0.2
_EMPTY_SNAPSHOT = f"{0:020}-"  # which tells nothing


def partition_access(partition: Partition) -> tuple[Access, int]:
    """Who may read all logs and snapshots of a partition; and when the newest was written [ns]. One of GONE."""
    root, name = partition.root, partition.name.directory
    above = access(root.stat(name), root.acl(name))
    granted = [Access(above.uid, above.gid, (above.mode & 0o111) * 7)]
    newest = 0
    for file_name in partition.listing().names:
        if file_name.endswith((".log", ".checkpoint")) and not file_name.startswith(_EMPTY_SNAPSHOT):
            file = root.open_now(f"{name}/{file_name}")
            about = file.stat()
            granted.append(access(about, file.acl(about)))
            newest = max(newest, about.st_mtime_ns)
    return common([granted[-1], *granted[:-1]]), newest


class TopicAccess:
    """What one partition grants, asked for some times a second. Any thread may ask."""

    def __init__(self, find: Callable[[], Partition | None], clock: Callable[[], float]) -> None:
        """`find` tells which partition it is; None where there is none."""
        self._find = find
        self._known: CachedValue[tuple[Access, ...]] = CachedValue(_KEEP_S, clock)

    def restrict(self, own: Access) -> Access:
        """What is left of `own` for those who may read the partition too; all of it where there is none."""
        known = self._known.fresh()
        if known is None:
            may_block()
            known = self._known.store(self._look())
        return common([own, *known])

    def _look(self) -> tuple[Access, ...]:
        """What was known stays while the topic cannot be looked at: what it tells is remembered as well."""
        try:
            partition = self._find()
            return () if partition is None else (partition_access(partition)[0],)
        except NotFound:
            return ()
        except GONE:
            return self._known.latest or ()
