"""The look at buckets before a mount. It refuses what is no data directory, and what is no tier.

The look is a process of its own. The store's client starts threads, and a daemon must start none before it is confined
(`fuse.sandbox`). So the daemon opens its tree with the answers that this process got.
"""

import pickle
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from kafkafs.cli.exit_codes import say
from kafkafs.disk import store_session
from kafkafs.disk.data_paths import bucket_of
from kafkafs.disk.objects import is_bucket, shown
from kafkafs.errors import StoreError, UsageError
from kafkafs.fuse.life.mountpoint import DISK_S
from kafkafs.log.read_options import ReadOptions, TierSource

_TIER_S = 2
"""For so long a mount waits to hear whether a bucket is a tier."""

Answer = TypeVar("Answer")


def look(data_dirs: Sequence[Path], reading: ReadOptions) -> bytes:
    """The answers of the stores, for `reuse_answers`. UsageError if a store does not answer in time."""
    far = [str(path) for path in data_dirs if bucket_of(path)]
    answers = _answer(partial(_answers, data_dirs, reading), DISK_S) if far else b""
    if answers is None:
        raise UsageError(
            f"the store of {' or '.join(map(repr, far))} does not answer; leave it out, or mount again when it does"
        )
    return answers


def reuse_answers(answers: bytes) -> None:
    """Have the directories in buckets that this process opens from now on begin with these answers.

    The process has a session of its own: a read that failed while it served is no failure of the command."""
    if answers:
        store_session.current = store_session.StoreSession(store_session.current.limits)
        store_session.current.seen_before.update(pickle.loads(answers))  # imports pyarrow


def check_tier(tiered: TierSource | None) -> None:
    """UsageError if a bucket is no tier. A bucket that does not answer at once is no reason to refuse a mount."""
    if tiered is None or not is_bucket(tiered.place):
        return
    trouble = _answer(partial(_trouble_of, tiered), _TIER_S)
    if trouble is None:
        trouble = f"the tier {shown(tiered.place)} did not answer within {_TIER_S} seconds"
    if trouble:
        say(f"mounted all the same: {trouble}")


def _answer(question: Callable[[], Answer], seconds: float) -> Answer | None:
    """The answer of another process, or its error; None if it takes longer."""
    from kafkafs.disk.forked import ForkedProcess, answered  # most mounts take none

    process: ForkedProcess[None, Answer] = ForkedProcess(lambda _, tell: tell(question()))
    try:
        process.give(None)
        return process.received() if answered([process], seconds) else None
    finally:
        process.end()


def _trouble_of(tiered: TierSource) -> str:
    from kafkafs.log.data_directory import DataDirectory  # in that process only

    return DataDirectory.trouble_of_tier(tiered)


def _answers(data_dirs: Sequence[Path], reading: ReadOptions) -> bytes:
    """Open the tree as the daemon will. The answers stay packed: to unpack them imports the store's client."""
    from kafkafs.disk.bucket_directory import BucketDirectory  # in that process only
    from kafkafs.view.tree import Root

    tree, answers = Root(data_dirs, reading), {}
    for disk in tree.directories:
        if disk.is_tier and bucket_of(disk.path):
            raise UsageError(f"{str(disk.path)!r} is a tier; name a data directory, and the tier by -o tiered=")
        if isinstance(disk.root, BucketDirectory):
            answers[bucket_of(disk.path)] = disk.root.seen()
    if failure := store_session.current.first_failure():
        raise StoreError(failure)
    return pickle.dumps(answers)
