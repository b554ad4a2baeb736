"""The system calls of a lookup and of a look at many files, by the C library."""

from typing import Any

from llvmlite import ir

from kafkafs.format.native.kernels.machine import constant, inlined, word

_NUMBER, _LONG, _POINTER = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()
_NAMELESS, _WHAT = 0x1000, 0x340  # AT_EMPTY_PATH; STATX_INO | STATX_MTIME | STATX_SIZE


def _preadv2(builder: Any, descriptor: Any, places: Any, position: Any, flags: Any) -> Any:
    kind = ir.FunctionType(_LONG, [_NUMBER, _POINTER, _NUMBER, _LONG, _NUMBER])
    function = builder.module.globals.get("preadv2") or ir.Function(builder.module, kind, "preadv2")
    return builder.call(function, [
        builder.trunc(descriptor, _NUMBER), builder.inttoptr(places, _POINTER), ir.Constant(_NUMBER, 1), position,
        builder.trunc(flags, _NUMBER),
    ])  # fmt: skip


read_file = word(4, _preadv2)
"""`preadv2` into one place: descriptor, address of an iovec, position, flags. Negative if it fails."""


def _statx(builder: Any, descriptor: Any, name: Any, place: Any) -> Any:
    kind = ir.FunctionType(_NUMBER, [_NUMBER, _POINTER, _NUMBER, _NUMBER, _POINTER])
    function = builder.module.globals.get("statx") or ir.Function(builder.module, kind, "statx")
    failed = builder.call(function, [
        builder.trunc(descriptor, _NUMBER), builder.inttoptr(name, _POINTER), ir.Constant(_NUMBER, _NAMELESS),
        ir.Constant(_NUMBER, _WHAT), builder.inttoptr(place, _POINTER),
    ])  # fmt: skip
    return builder.sext(failed, _LONG)


_about = word(3, _statx)
_no_name = constant("no_name", b"\0")

ABOUT_INODE, ABOUT_SIZE, ABOUT_SECONDS, ABOUT_NANOSECONDS = 32, 40, 112, 120
"""Where they stand in what `about_file` brings, the same on every machine: three int64 and a uint32."""


@inlined
def about_file(descriptor: int, place: int) -> int:
    """`statx` of an open file's inode, size and time of change, into STATX_SIZE bytes. Negative if it fails."""
    return _about(descriptor, _no_name(), place)


def _openat(builder: Any, directory: Any, name: Any, flags: Any) -> Any:
    kind = ir.FunctionType(_NUMBER, [_NUMBER, _POINTER, _NUMBER], var_arg=True)
    function = builder.module.globals.get("openat") or ir.Function(builder.module, kind, "openat")
    opened = builder.call(function, [
        builder.trunc(directory, _NUMBER), builder.inttoptr(name, _POINTER), builder.trunc(flags, _NUMBER),
    ])  # fmt: skip
    return builder.sext(opened, _LONG)


open_file = word(3, _openat)
"""`openat`: descriptor of a directory, address of a name that ends with a NUL, flags. Negative if it fails."""


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
