"""The files that a revived partition was made of. A command that goes on finds out by them which partitions have
changed.

A broker that ran on the disk in between has written there, deleted, or created a topic of the same name again. The
comparison covers the topic's id, the checkpoints' lines about the partition, and the sizes, times and inodes of all
files of each replica.
"""

import hashlib
import json
import stat
from typing import Any

from kafkafs.errors import UNREADABLE
from kafkafs.log.log import Log
from kafkafs.revive.broker_notes import BrokerNotes
from kafkafs.revive.kept_parts import log_size
from kafkafs.revive.other_replicas import Replica
from kafkafs.revive.topics import RevivedTopic


def fingerprint(topic: RevivedTopic, number: int, replica: Replica, *, is_linked: bool = False) -> str:
    """A digest of all that the partition is made of, as of now. `is_linked`: the new directory gets links of its files,
    and each link changes the status of a file."""
    facts = {
        "topicId": topic.topic_id,
        "configs": dict(topic.configs),
        "replicas": [_replica(each, topic.name, number, is_linked) for each in (replica, *replica.others)],
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode("ascii")).hexdigest()


def _replica(replica: Replica, topic: str, number: int, is_linked: bool) -> dict[str, Any]:
    partition, directory = replica.partition, replica.directory
    facts: dict[str, Any] = {"place": replica.place, "files": _files(replica, is_linked)}
    try:
        log = partition.log()
    except UNREADABLE as error:
        return {**facts, "error": str(error)}
    return {
        **facts,
        "start": log.checkpoint_start,
        "highWatermark": log.high_watermark,
        "cleaned": (directory.checkpoints.cleaner_offsets() or {}).get((topic, number)),
        "stoppedInOrder": BrokerNotes(partition, log).stopped_in_order(),
        "remote": _remote(log),
    }


def _files(replica: Replica, is_linked: bool) -> list[tuple[str, int, int, int, int]]:
    """Return name, size, times and inode of the files in its directory. A replica that only a tier has is without any.
    `rsync` and backups set the time of a file, but not the time of its status."""
    if replica.tier or replica.directory.is_tier:
        return []
    try:
        with replica.directory.root.scan(replica.partition.name.directory) as entries:
            about = [(each.name, each.stat(follow_symlinks=False)) for each in entries]
    except UNREADABLE as error:
        return [(str(error), 0, 0, 0, 0)]
    return sorted(
        (name, each.st_size, each.st_mtime_ns, 0 if is_linked else each.st_ctime_ns, each.st_ino)
        for name, each in about if stat.S_ISREG(each.st_mode)
    )  # fmt: skip


def _remote(log: Log) -> list[tuple[int, int, str]]:
    segments = (each for each in log.visible_segments() if each.object is not None)
    return [(each.base_offset, log_size(each), str(each.object)) for each in segments]
