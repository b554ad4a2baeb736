"""The look at data directories in buckets before a mount. It refuses what is no data directory.

The look is a process of its own. The store's client starts threads, and a daemon must start none before it is confined
(`fuse.sandbox`). So the daemon opens its tree with the answers that this process got.
"""

import os
import pickle
import select
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from kafkafs.cli.exit_codes import run_to_exit_code
from kafkafs.disk.data_paths import bucket_of
from kafkafs.errors import UsageError
from kafkafs.fuse.life.mountpoint import DISK_S
from kafkafs.log.read_options import ReadOptions

_PART = 1 << 20


def look(data_dirs: Sequence[Path], reading: ReadOptions) -> tuple[int, bytes]:
    """Return an exit code and the answers for `begin_with`. If the code is not 0, the process has said what is wrong.

    UsageError if a store does not answer in time."""
    far = [str(path) for path in data_dirs if bucket_of(path)]
    if not far:
        return 0, b""
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(heard)
        os._exit(run_to_exit_code(lambda: _tell(data_dirs, reading, told)))
    os.close(told)
    try:
        answers = _all_of(heard, time.monotonic() + DISK_S)
    finally:
        os.close(heard)
        if answers is None:
            os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if answers is None:
        raise UsageError(
            f"the store of {' or '.join(map(repr, far))} does not answer; leave it out, or mount again when it does"
        )
    return code, answers


def begin_with(answers: bytes) -> None:
    """Have the directories in buckets that this process opens from now on begin with these answers."""
    if answers:
        from kafkafs.disk.bucket_directory import seen_before  # with pyarrow

        seen_before.update(pickle.loads(answers))


def _all_of(heard: int, until: float) -> bytes | None:
    """Return the bytes that a pipe gives up to its end; None if the end does not come in time."""
    found = bytearray()
    while select.select([heard], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(heard, _PART)
        if not part:
            return bytes(found)
        found += part
    return None


def _tell(data_dirs: Sequence[Path], reading: ReadOptions, told: int) -> int:
    """Open the tree as the daemon will, and write the answers of the stores into the pipe."""
    from kafkafs.disk.bucket_directory import BucketDirectory  # in that process only
    from kafkafs.view.tree import Root

    tree, answers = Root(data_dirs, reading), {}
    for disk in tree.directories:
        if disk.is_tier and bucket_of(disk.path):
            raise UsageError(f"{str(disk.path)!r} is a tier; name a data directory, and the tier by -o tiered=")
        if isinstance(disk.root, BucketDirectory):
            answers[bucket_of(disk.path)] = disk.root.seen()
    with open(told, "wb") as pipe:
        pickle.dump(answers, pipe)
    return 0
