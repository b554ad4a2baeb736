"""Less than root: the daemon becomes the owner of the data and lets its capabilities go.

Source: capabilities(7), prctl(2). Nothing here needs undoing: what a process gives up does not come back.
"""

import ctypes
import os
import resource
import signal
from pathlib import Path

from kafkafs.disk.system_calls import PR_SET_PDEATHSIG, last_error
from kafkafs.log.ownership import Owner

CAP_SETPCAP, CAP_DAC_READ_SEARCH = 8, 2
_PR_GET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_KEEPCAPS = 2, 4, 8
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_VERSION_3 = 0x20080522
_LAST_CAP = Path("/proc/sys/kernel/cap_last_cap")

_libc = ctypes.CDLL(None, use_errno=True)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def forbid_new_privileges() -> None:
    """No program this process might start gets more rights than it has; needed by what follows."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def hide_memory() -> None:
    """No core dumps, and no look into this process but by root: records of others are in its memory."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _prctl(_PR_SET_DUMPABLE, 0)


def become(owner: Owner | None) -> None:
    """Root becomes the owner; all capabilities go, but for CAP_DAC_READ_SEARCH where the data has several owners.

    Raises OSError; where only the change of user was impossible, the capabilities are gone all the same. The signal
    that tells of the parent's death is set again, as the kernel forgets it with a change of user.
    """
    parent, parting = os.getppid(), ctypes.c_int()
    _libc.prctl(_PR_GET_PDEATHSIG, ctypes.byref(parting), 0, 0, 0)
    was_root = os.geteuid() == 0
    keep = 1 << CAP_DAC_READ_SEARCH if was_root and owner is not None and not owner.alone else 0
    if was_root:
        _drop_bounds(keep)
    try:
        if was_root and owner is not None and owner.uid != 0:
            _prctl(_PR_SET_KEEPCAPS, 1)
            os.setgroups([])
            os.setresgid(owner.gid, owner.gid, owner.gid)
            os.setresuid(owner.uid, owner.uid, owner.uid)
    finally:
        _set_capabilities(keep)
        _prctl(PR_SET_PDEATHSIG, parting.value)
        if parting.value and os.getppid() != parent:
            signal.raise_signal(parting.value)


def _drop_bounds(keep: int) -> None:
    """Capabilities that not even a set-user-id program could bring back; needs CAP_SETPCAP, else they stay."""
    for capability in range(int(_LAST_CAP.read_text()) + 1):
        if not keep >> capability & 1 and capability != CAP_SETPCAP:
            _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    _libc.prctl(_PR_CAPBSET_DROP, CAP_SETPCAP, 0, 0, 0)


def _set_capabilities(wanted: int) -> None:
    header = _Header(_VERSION_3, 0)
    held = (_Data * 2)()
    _check(_libc.capget(ctypes.byref(header), held))
    kept = (wanted & held[0].permitted, wanted >> 32 & held[1].permitted)
    data = (_Data * 2)(*(_Data(bits, bits, 0) for bits in kept))
    _check(_libc.capset(ctypes.byref(header), data))


def _prctl(option: int, value: int) -> None:
    _check(_libc.prctl(option, value, 0, 0, 0))


def _check(result: int) -> None:
    if result != 0:
        raise last_error()
