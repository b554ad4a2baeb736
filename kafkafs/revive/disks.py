"""The disks of a dead cluster: opened, and looked at for what would make reviving them wrong.

A broker holds the lock of `.lock` in each of its directories for as long as it runs. Whether it does is asked by
F_GETLK, which writes and locks nothing.
"""

import fcntl
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kafkafs.errors import KafkafsError, Unanswered, UsageError
from kafkafs.log.data_directory import DataDirectory, open_data_directory
from kafkafs.log.meta_properties import check_one_cluster, cluster_ids, node_ids
from kafkafs.log.options import ReadOptions

_LOCK = ".lock"
_FLOCK = struct.Struct("hhqqi4x")  # type, whence, start, length, process: struct flock of 64 bit Linux


@dataclass(frozen=True, slots=True)
class Disks:
    """The data directories, and of which cluster and nodes they are, as far as they tell."""

    directories: tuple[DataDirectory, ...]
    cluster_id: str | None
    nodes: tuple[int, ...]
    problems: tuple[str, ...]


def open_disks(paths: Sequence[Path], options: ReadOptions) -> Disks:
    """All of them, each once. UsageError where they are of several clusters, or a broker runs on one; Unanswered where
    a tier that was named does not answer."""
    directories = [open_data_directory(path, options) for path in dict.fromkeys(path.resolve() for path in paths)]
    for directory in directories:
        holder = lock_holder(directory)
        if holder is not None:
            raise UsageError(
                f"a broker runs on {str(directory.path)!r} (process {holder} holds its {_LOCK}): stop it, or take a"
                " snapshot of the disk and revive that"
            )
        directory.stand_beside(directories)
        if trouble := directory.check_tier():
            raise Unanswered(trouble)
    check_one_cluster(directories)
    ids, problems = cluster_ids(directories)
    return Disks(tuple(directories), ids[0] if ids else None, tuple(node_ids(directories)), tuple(problems))


def lock_holder(directory: DataDirectory) -> int | None:
    """The process that holds the directory's lock (0 or -1 for one of another namespace or host); None where none."""
    try:
        file = directory.root.open_now(_LOCK)
    except KafkafsError:
        return None
    asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        answer = fcntl.fcntl(file.descriptor, fcntl.F_GETLK, asked)
    except OSError:
        return None  # a file system without locks has none that is held
    kind, _, _, _, process = _FLOCK.unpack(answer)
    return None if kind == fcntl.F_UNLCK else int(process)
