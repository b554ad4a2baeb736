"""Tell where the log of a tiered topic (KIP-405) begins: its older segments are in a remote tier, and not on these
disks.

`Log.start_offset` is where it begins here. The checkpoint of log starts lists each tiered partition with the start of
the whole log, others only where that is above their first segment. So it tells, but for up to a minute after
retention has deleted segments: then the leader epochs, which Kafka cuts off at the log start, contradict it.
"""

from contextlib import suppress

from kafkafs.disk.directory import Directory
from kafkafs.errors import UNREADABLE
from kafkafs.format.checkpoints import LeaderEpoch
from kafkafs.format.names import REMOTE_INDEX_CACHE
from kafkafs.log.lineage import leader_epochs
from kafkafs.log.log import Log


def tiered_start(log: Log, root: Directory) -> int | None:
    """The log start offset of a partition whose log begins in a remote tier; None of every other. `root` is its data
    directory."""
    start = log.checkpoint_start
    if start is None or not log.segments or not 0 <= start < log.segments[0].base_offset:
        return None
    epochs = leader_epochs(log)
    is_tiered = epochs[0].start_offset < log.segments[0].base_offset if epochs else _has_index_cache(root)
    return start if is_tiered else None


def log_start(log: Log, root: Directory) -> int:
    """The log start offset of any partition, also where the log begins in a tier that is not read."""
    start = tiered_start(log, root)
    return log.start_offset if start is None else start


def uploaded_epochs(log: Log) -> tuple[LeaderEpoch, ...] | None:
    """The leader epochs of a log that a tier alone has, as its uploads tell; None if none does.

    The newest has all that there were by then, or, in a manifest, those of its own records: then earlier ones tell.
    """
    from kafkafs.log.tier.remote_files import RemoteFiles  # only a tier takes what it imports

    starts: dict[int, int] = {}
    for segment in reversed(log.segments):
        with suppress(*UNREADABLE):
            epochs = segment.files.completed.epochs if isinstance(segment.files, RemoteFiles) else None
            starts |= {epoch: min(start, starts.get(epoch, start)) for epoch, start in epochs or ()}
        if min(starts.values(), default=log.end_offset) <= log.start_offset:
            break
    return tuple(LeaderEpoch(epoch, start) for epoch, start in sorted(starts.items())) or None


def _has_index_cache(root: Directory) -> bool:
    """True if the broker keeps indexes of remote segments there."""
    try:
        root.stat(REMOTE_INDEX_CACHE)
    except UNREADABLE:
        return False
    return True
