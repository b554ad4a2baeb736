"""The system calls of a lookup and of a look at many files, by the C library."""

import os
from typing import Any

from llvmlite import ir

from kafkafs.disk.native.layout import STATX_SIZE
from kafkafs.format.native.kernels.machine import called, constant, inlined, load_i64, put, store_8, word

_NUMBER, _LONG, _POINTER = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()
_NAMELESS, _WHAT = 0x1000, 0x35B  # AT_EMPTY_PATH; STATX_ of TYPE, MODE, UID, GID, MTIME, INO, SIZE


def _preadv2(builder: Any, descriptor: Any, iovec: Any, position: Any, flags: Any) -> Any:
    kind = ir.FunctionType(_LONG, [_NUMBER, _POINTER, _NUMBER, _LONG, _NUMBER])
    function = builder.module.globals.get("preadv2") or ir.Function(builder.module, kind, "preadv2")
    return builder.call(function, [
        builder.trunc(descriptor, _NUMBER), builder.inttoptr(iovec, _POINTER), ir.Constant(_NUMBER, 1), position,
        builder.trunc(flags, _NUMBER),
    ])  # fmt: skip


read_file = word(4, _preadv2)
"""`preadv2` into one buffer: descriptor, address of an iovec, position, flags. Negative if it fails."""


def _statx(builder: Any, descriptor: Any, name: Any, buffer: Any) -> Any:
    kind = ir.FunctionType(_NUMBER, [_NUMBER, _POINTER, _NUMBER, _NUMBER, _POINTER])
    function = builder.module.globals.get("statx") or ir.Function(builder.module, kind, "statx")
    failed = builder.call(function, [
        builder.trunc(descriptor, _NUMBER), builder.inttoptr(name, _POINTER), ir.Constant(_NUMBER, _NAMELESS),
        ir.Constant(_NUMBER, _WHAT), builder.inttoptr(buffer, _POINTER),
    ])  # fmt: skip
    return builder.sext(failed, _LONG)


_about = word(3, _statx)
_no_name = constant("no_name", b"\0")

ABOUT_USER, ABOUT_GROUP, ABOUT_MODE = 20, 24, 28
"""Where they stand in what `about_file` brings, the same on every machine: two uint32 and a uint16."""

ABOUT_INODE, ABOUT_SIZE, ABOUT_SECONDS, ABOUT_NANOSECONDS = 32, 40, 112, 120
"""Likewise: three int64 and a uint32."""


@inlined
def about_file(descriptor: int, buffer: int) -> int:
    """`statx` of an open file, into STATX_SIZE bytes. Negative if it fails."""
    return _about(descriptor, _no_name(), buffer)


def _openat(builder: Any, directory: Any, name: Any, flags: Any) -> Any:
    kind = ir.FunctionType(_NUMBER, [_NUMBER, _POINTER, _NUMBER], var_arg=True)
    function = builder.module.globals.get("openat") or ir.Function(builder.module, kind, "openat")
    opened = builder.call(function, [
        builder.trunc(directory, _NUMBER), builder.inttoptr(name, _POINTER), builder.trunc(flags, _NUMBER),
    ])  # fmt: skip
    return builder.sext(opened, _LONG)


_open_file = word(3, _openat)


def _close(builder: Any, descriptor: Any) -> Any:
    kind = ir.FunctionType(_NUMBER, [_NUMBER])
    function = builder.module.globals.get("close") or ir.Function(builder.module, kind, "close")
    return builder.sext(builder.call(function, [builder.trunc(descriptor, _NUMBER)]), _LONG)


close_file = word(1, _close)
"""`close` of a descriptor."""


def _fadvise(builder: Any, descriptor: Any, advice: Any) -> Any:
    kind = ir.FunctionType(_NUMBER, [_NUMBER, _LONG, _LONG, _NUMBER])
    function = builder.module.globals.get("posix_fadvise") or ir.Function(builder.module, kind, "posix_fadvise")
    whole = ir.Constant(_LONG, 0)
    said = builder.call(function, [
        builder.trunc(descriptor, _NUMBER), whole, whole, builder.trunc(advice, _NUMBER),
    ])  # fmt: skip
    return builder.sext(said, _LONG)


advise_file = word(2, _fadvise)
"""`posix_fadvise` about all of an open file."""


def _fgetxattr(builder: Any, descriptor: Any, name: Any) -> Any:
    kind = ir.FunctionType(_LONG, [_NUMBER, _POINTER, _POINTER, _LONG])
    function = builder.module.globals.get("fgetxattr") or ir.Function(builder.module, kind, "fgetxattr")
    return builder.call(function, [
        builder.trunc(descriptor, _NUMBER), builder.inttoptr(name, _POINTER), ir.Constant(_POINTER, None),
        ir.Constant(_LONG, 0),
    ])  # fmt: skip


_attribute_size = word(2, _fgetxattr)
_acl_name = constant("acl_name", b"system.posix_acl_access\0")


@inlined
def has_acl(descriptor: int) -> int:
    """Whether an open file has an access control list."""
    return 1 if _attribute_size(descriptor, _acl_name()) > 0 else 0


_SEGMENT_OPEN, _NOATIME = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, os.O_NOATIME
LOG, OFFSET_INDEX, TIME_INDEX = range(3)


@inlined
def _write_name(to: int, base: int, kind: int) -> None:
    """A segment's file name, as C has it."""
    for digit in range(20):
        store_8(to + 19 - digit, 48 + base % 10)
        base //= 10
    if kind == LOG:
        store_8(put(to + 20, ".log"), 0)
    elif kind == OFFSET_INDEX:
        store_8(put(to + 20, ".index"), 0)
    else:
        store_8(put(to + 20, ".timeindex"), 0)


@called
def open_segment_file(directory: int, base: int, kind: int, inode: int, about: int) -> int:
    """A descriptor of one of a segment's files, and what `about_file` says of it; -1 where it is not that inode.

    Behind the STATX_SIZE bytes of `about` there is room for NAME_SIZE more.
    """
    name = about + STATX_SIZE
    _write_name(name, base, kind)
    file = _open_file(directory, name, _SEGMENT_OPEN | _NOATIME)
    if file < 0:  # not the owner: reading may then move the access time
        file = _open_file(directory, name, _SEGMENT_OPEN)
    if file < 0:
        return -1
    if about_file(file, about) != 0 or load_i64(about + ABOUT_INODE) != inode:
        close_file(file)
        return -1
    return file
