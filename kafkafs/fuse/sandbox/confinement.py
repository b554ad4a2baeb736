"""Least privilege: once the mount stands, the daemon reads the data directories and can do nothing else.

Called between the mount, which needs its rights, and the first thread: Landlock and the system call filter bind the
calling thread and those it starts. Unmounting is left to the parent process (`supervise`), which is not confined and
touches no data. Whatever the kernel lacks is named in the log, and the mount goes on without it.

What must be open or imported later has to be so before: hence `load_everything`, and `close_imports` behind it.
"""

import codecs
import importlib
import logging
import os
import pkgutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import BuiltinImporter, FrozenImporter
from pathlib import Path

from kafkafs.cluster.schema_topic import load_decoders
from kafkafs.fuse.sandbox import landlock, privileges
from kafkafs.fuse.sandbox.network import Network
from kafkafs.fuse.sandbox.syscalls import refuse_all_but_reading
from kafkafs.log.ownership import Owner

PROC = Path("/proc")  # for the signals that readers wait with (`signals`)
LAYERS = ("errors", "format", "disk", "log", "dump", "cluster", "search", "view", "fuse")
_NATIVE = ".native."  # what is below is the source of compiled modules, which are imported already
_OPTIONAL = (  # of the extra `schemas`
    "kafkafs.format.schemas.protobuf",
    "kafkafs.format.schemas.protobuf_files",
)
ON_DEMAND = ("kafkafs.disk.bucket", "kafkafs.format.tiers.cipher")  # large: who needs them has imported them already
_CODECS = ("ascii", "latin-1", "unicode_escape", "utf-8", "utf-16", "utf-16-be", "utf-32")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Confinement:
    """What holds the daemon: its user, the Landlock ABI (0: none), whether system calls are filtered."""

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
        log.error("%d threads started too early and are not confined: a bug, please report it", threads - 1)
    privileges.forbid_new_privileges()
    abi = _restrict([*readable, PROC, *(network or Network()).readable], network)
    try:
        privileges.become(owner)
    except OSError as error:
        log.warning("cannot become user %s: %s", owner.uid if owner else None, error.strerror)
    privileges.hide_memory()
    missing = refuse_all_but_reading(connecting=network is not None)
    if missing:
        log.warning("%s", missing)
    log.info("confined: user %d, Landlock ABI %d, %s system call filter", os.geteuid(), abi, "no" if missing else "a")
    return Confinement(os.geteuid(), abi, not missing)


def load_everything() -> None:
    """Imports what serving may come to need."""
    for layer in LAYERS:
        _import_all(f"kafkafs.{layer}")
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
        if name in _OPTIONAL:
            return
        raise
    for module in pkgutil.iter_modules(getattr(package, "__path__", ()), name + "."):
        if _NATIVE not in module.name and module.name not in ON_DEMAND:
            _import_all(module.name)


def _restrict(paths: Sequence[Path], network: Network | None) -> int:
    try:
        abi = landlock.allow_reading_only(paths, () if network is None else network.ports)
    except OSError as error:
        log.warning("Landlock failed (%s): the daemon could open other files that its user may open", error.strerror)
        return 0
    if not abi:
        log.warning("this kernel has no Landlock: the daemon could open other files that its user may open")
    return abi
