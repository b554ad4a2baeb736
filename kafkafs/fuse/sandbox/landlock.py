"""Landlock: from now on this thread, and every thread it starts, opens what is below the given paths, to read.

Linux 5.13 and later, for any user. Source: Documentation/userspace-api/landlock.rst, include/uapi/linux/landlock.h. By
ctypes, since no library for it has had a release.
"""

import ctypes
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from kafkafs.disk.system_calls import last_error, libc

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH, _NET_PORT = 1, 2
CONNECT_TCP = 1 << 1
READ_FILE, READ_DIR = 1 << 2, 1 << 3
FILE_RIGHTS: Mapping[int, int] = {1: 13, 2: 14, 3: 15, 5: 16}  # ABI -> how many rights it knows, from bit 0
NET_RIGHTS: Mapping[int, int] = {4: 2}  # TCP bind and connect
SCOPES: Mapping[int, int] = {6: 2}  # abstract sockets and signals of processes outside


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _NetPort(ctypes.Structure):
    _fields_ = (("allowed", ctypes.c_uint64), ("port", ctypes.c_uint64))


def version() -> int:
    """The ABI that the kernel speaks; 0 if it has no Landlock or it is switched off."""
    return max(0, int(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)))


def allow_reading_only(paths: Iterable[Path], ports: Iterable[int] = ()) -> int:
    """Restricts this thread to reading below these paths and connecting to these ports, for good; needs no_new_privs.
    The ABI used, 0 if the kernel has no landlock. Raises OSError."""
    abi = version()
    if not abi:
        return 0
    handled = _Ruleset(*(rights_of(known, abi) for known in (FILE_RIGHTS, NET_RIGHTS, SCOPES)))
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = _call(_CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(size), 0)
    try:
        for path in paths:
            _allow(ruleset, path)
        for port in ports if handled.net else ():
            _call(_ADD_RULE, ruleset, _NET_PORT, ctypes.byref(_NetPort(CONNECT_TCP, port)), 0)
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return abi


def _allow(ruleset: int, path: Path) -> None:
    parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = _PathBeneath(READ_FILE | READ_DIR if path.is_dir() else READ_FILE, parent)
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(parent)


def rights_of(known: Mapping[int, int], abi: int) -> int:
    """All rights that this ABI knows, every one of them denied unless a rule allows it."""
    return int((1 << max((count for since, count in known.items() if since <= abi), default=0)) - 1)


def _call(number: int, *arguments: object) -> int:
    got: int = libc.syscall(number, *arguments)
    if got < 0:
        raise last_error()
    return got
