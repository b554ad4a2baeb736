"""Least privilege: once the mount stands, the daemon reads the data directories and can do nothing else. It becomes the
owner of the data and lets its capabilities go.

Called between the mount, which needs its rights, and the first thread: Landlock and the system call filter bind the
calling thread and those it starts. Unmounting is left to the parent process (`supervise`), which is not confined and
touches no data. Whatever the kernel lacks is named in the log, and the mount goes on without it.

Everything that must be open or imported later has to be so before: hence `load_everything`, and `close_imports` after
it. Nothing here needs undoing: what a process gives up does not come back. Sources: capabilities(7), prctl(2).
"""

import codecs
import ctypes
import importlib
import logging
import os
import pkgutil
import resource
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import BuiltinImporter, FrozenImporter
from pathlib import Path

from kafkafs.cluster.schema_topic import load_decoders
from kafkafs.disk.system_calls import last_error, libc, signal_at_parents_end
from kafkafs.fuse.sandbox import landlock
from kafkafs.fuse.sandbox.network import Network
from kafkafs.fuse.sandbox.syscalls import refuse_all_but_reading
from kafkafs.view.ownership import Owner

CAP_SETPCAP, CAP_DAC_READ_SEARCH = 8, 2
_PR_GET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_KEEPCAPS = 2, 4, 8
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_VERSION_3 = 0x20080522
_LAST_CAP = Path("/proc/sys/kernel/cap_last_cap")


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


def switch_user(owner: Owner | None) -> None:
    """Root becomes the owner; all capabilities go, but for CAP_DAC_READ_SEARCH where the data has several owners.

    Raises OSError; where only the change of user was impossible, the capabilities are gone all the same. The signal
    that reports the parent's death is set again, as the kernel forgets it with a change of user.
    """
    parent, parting = os.getppid(), ctypes.c_int()
    libc.prctl(_PR_GET_PDEATHSIG, ctypes.byref(parting), 0, 0, 0)
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
        signal_at_parents_end(parting.value)
        if parting.value and os.getppid() != parent:
            signal.raise_signal(parting.value)


def _drop_bounds(keep: int) -> None:
    """Capabilities that not even a set-user-id program could bring back; needs CAP_SETPCAP, else they stay."""
    for capability in range(int(_LAST_CAP.read_text()) + 1):
        if not keep >> capability & 1 and capability != CAP_SETPCAP:
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    libc.prctl(_PR_CAPBSET_DROP, CAP_SETPCAP, 0, 0, 0)


def _set_capabilities(wanted: int) -> None:
    header = _Header(_VERSION_3, 0)
    held = (_Data * 2)()
    _check(libc.capget(ctypes.byref(header), held))
    kept = (wanted & held[0].permitted, wanted >> 32 & held[1].permitted)
    data = (_Data * 2)(*(_Data(bits, bits, 0) for bits in kept))
    _check(libc.capset(ctypes.byref(header), data))


def _prctl(option: int, value: int) -> None:
    _check(libc.prctl(option, value, 0, 0, 0))


def _check(result: int) -> None:
    if result != 0:
        raise last_error()


PROC = Path("/proc")  # for the signals that readers wait with (`signals`)
LAYERS = ("errors", "format", "disk", "log", "dump", "cluster", "search", "view", "fuse")
_NATIVE = ".native."  # modules below it are the source of compiled ones, already imported
_OPTIONAL = "kafkafs.format.schemas.protobuf"  # and what begins so: of the extra `schemas`
ON_DEMAND = (
    "kafkafs.disk.arrow_store",
    "kafkafs.disk.bucket",
    "kafkafs.disk.bucket_directory",
    "kafkafs.disk.bucket_listings",
    "kafkafs.format.tiers.cipher",
)  # large: who needs them has imported them already
_BUCKET = "kafkafs.disk.bucket"
_CODECS = ("ascii", "latin-1", "unicode_escape", "utf-8", "utf-16", "utf-16-be", "utf-32")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Confinement:
    """The confinement of the daemon: its user, the Landlock ABI (0: none), and if system calls are filtered."""

    user: int
    landlock: int
    filtered: bool


def confine(readable: Sequence[Path], owner: Owner | None, network: Network | None = None) -> Confinement:
    """Gives up all rights but reading below `readable` (and `/proc`) and using `network`, in this thread and those to
    come."""
    load_everything()
    close_imports()
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        logger.error("%d threads started too early and are not confined: a bug, please report it", threads - 1)
    forbid_new_privileges()
    abi = _restrict([*readable, PROC, *(network or Network()).readable], network)
    try:
        switch_user(owner)
    except OSError as error:
        logger.warning("cannot become user %s: %s", owner.uid if owner else None, error.strerror)
    hide_memory()
    missing = refuse_all_but_reading(connecting=network is not None)
    if missing:
        logger.warning("%s", missing)
    logger.info(
        "confined: user %d, Landlock ABI %d, %s system call filter", os.geteuid(), abi, "no" if missing else "a"
    )
    return Confinement(os.geteuid(), abi, not missing)


def load_everything() -> None:
    """Imports what serving may come to need."""
    for layer in LAYERS:
        _import_all(f"kafkafs.{layer}")
    if _BUCKET in sys.modules:
        importlib.import_module("kafkafs.disk.arrow_store")  # for what `signed_reads` does not know
    importlib.import_module("urllib.request")  # proxies, of `s3_place`
    load_decoders()
    for name in _CODECS:
        codecs.lookup(name)
    time.localtime()


def close_imports() -> None:
    """Looks for no module in files any more: what is not loaded is absent, and importing it an ImportError.

    Else a package that is not installed would be another error in the sandbox than it was outside.
    """
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder in (BuiltinImporter, FrozenImporter)]


def _import_all(name: str) -> None:
    try:
        package = importlib.import_module(name)
    except ImportError:
        if name.startswith(_OPTIONAL):
            return
        raise
    for module in pkgutil.iter_modules(getattr(package, "__path__", ()), name + "."):
        if _NATIVE not in module.name and module.name not in ON_DEMAND:
            _import_all(module.name)


def _restrict(paths: Sequence[Path], network: Network | None) -> int:
    try:
        abi = landlock.allow_reading_only(paths, () if network is None else network.ports)
    except OSError as error:
        logger.warning("Landlock failed (%s): the daemon could open other files that its user may open", error.strerror)
        return 0
    if not abi:
        logger.warning("this kernel has no Landlock: the daemon could open other files that its user may open")
    return abi
