"""The disks: opened, and looked at for what would make reviving them wrong.

A broker holds the lock of `.lock` in each of its directories for as long as it runs. F_GETLK finds this out. It writes
and locks nothing.
"""

import fcntl
import os
import re
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafkafs.disk.data_file import LocalFile
from kafkafs.disk.data_paths import without_links
from kafkafs.errors import CorruptData, KafkafsError, Unanswered, UsageError
from kafkafs.log.data_directory import DataDirectory, open_data_directory
from kafkafs.log.meta_properties import check_one_cluster, cluster_ids, node_ids
from kafkafs.log.read_options import ReadOptions

_LOCK = ".lock"
_FLOCK = struct.Struct("hhqqi4x")  # type, whence, start, length, process: struct flock of 64 bit Linux

_ID = re.compile(r"[!-\[\]-~]{1,200}", re.ASCII)  # no blank, no backslash
"""Ids of clusters go into files by lines; users may have given one of their own."""


@dataclass(frozen=True, slots=True)
class Disks:
    """The data directories, and of which cluster and nodes they are, as far as they tell."""

    directories: tuple[DataDirectory, ...]
    cluster_id: str | None
    nodes: tuple[int, ...]
    problems: tuple[str, ...]


def open_disks(paths: Sequence[Path], options: ReadOptions) -> Disks:
    """Open all data directories, each once. UsageError if they are of several clusters, or a broker runs on one;
    Unanswered if a tier that was named does not answer; CorruptData if the cluster has an id that Kafka does not
    make."""
    directories = [open_data_directory(path, options) for path in dict.fromkeys(map(without_links, paths))]
    refuse_running(directories)
    for directory in directories:
        directory.read_together_with(directories)
        if trouble := directory.check_tier():
            raise Unanswered(trouble)
    check_one_cluster(directories)
    ids, problems = cluster_ids(directories)
    if ids and not _ID.fullmatch(ids[0]):
        raise CorruptData(f"the cluster's id in meta.properties, {ids[0][:100]!r}, is not an id that Kafka makes")
    return Disks(tuple(directories), ids[0] if ids else None, tuple(node_ids(directories)), tuple(problems))


def refuse_running(directories: Iterable[DataDirectory]) -> None:
    """UsageError if a broker of this machine runs on one of them."""
    for directory in directories:
        holder = lock_holder(directory)
        if holder is not None:
            raise UsageError(
                f"a broker runs on {str(directory.path)!r} (process {holder} holds its {_LOCK}): stop it, or take a"
                " snapshot of the disk and revive that"
            )


def lock_holder(directory: DataDirectory) -> int | None:
    """The process that holds the directory's lock (0 or -1 for one of another namespace or host); None if none."""
    try:
        file = directory.root.open_now(_LOCK)
    except KafkafsError:
        return None
    if not isinstance(file, LocalFile):
        return None  # a copy in a bucket
    asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        answer = fcntl.fcntl(file.descriptor, fcntl.F_GETLK, asked)
    except OSError:
        return None  # a file system without locks has none that is held
    kind, _, _, _, process = _FLOCK.unpack(answer)
    return None if kind == fcntl.F_UNLCK else int(process)
