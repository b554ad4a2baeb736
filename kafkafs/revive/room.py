"""The way in which logs come into the new directory, and the room that they take there."""

import os
from pathlib import Path

from kafkafs.errors import DiskError, UsageError
from kafkafs.revive.copying import Method, can_reflink
from kafkafs.revive.plan import Plan
from kafkafs.revive.target import Target

_BLOCK, _OF_ALL, _OF_PARTITION, _OF_SEGMENT = 4096, 16, 4, 3
"""Bytes that a small file takes, and how many there are of all, of each partition, of each segment."""


def choose_method(plan: Plan, wanted: Method | None, target: Target) -> Method:
    """Blocks are shared where the file system can; UsageError if they must be and it cannot."""
    if wanted in ("copy", "link"):
        return wanted
    local = (segment for topic in plan.topics for segment in topic.segments() if segment.object is None)
    first = next((segment.log() for segment in local if segment.listed["log"].size), None)
    if first is None or can_reflink(first, target):
        return "reflink"
    if wanted == "reflink":
        raise UsageError(
            f"the file system of {str(target.path)!r} cannot share blocks with the disks; leave --reflink out to copy"
        )
    return "copy"


def room(plan: Plan, method: Method, size: int) -> int:
    """Bytes that logs of so many take in a new directory: those that are copied, what comes from a tier among them, and
    indexes of a hundredth."""
    beside = _BLOCK * (_OF_ALL + sum(
        _OF_PARTITION + _OF_SEGMENT * len(each.replica.partition.visible_segments() if each.replica else ())
        for _, each in plan.partitions()
    ))  # fmt: skip
    return (size if method == "copy" else min(size, plan.remote_size)) + size // 100 + beside


def check_room(plan: Plan, method: Method, place: Path, done: int) -> None:
    """DiskError if the disk will not hold it, of which so many bytes are there already."""
    about = os.statvfs(place)
    free = about.f_bavail * about.f_frsize
    if room(plan, method, max(0, plan.size - done)) > free and (
        (most := room(plan, method, max(0, _allocated(plan) - done))) > free
    ):
        raise DiskError(
            f"{most:,} bytes are needed and the disk of {str(place)!r} has {free:,} free; name a larger one, or with"
            " --topics fewer topics"
        )


def _allocated(plan: Plan) -> int:
    """Bytes that the logs take on their disks: a preallocated one is larger than its content."""
    replicas = (each.replica for _, each in plan.partitions())
    return plan.remote_size + sum(
        replica.directory.root.stat(f"{replica.partition.name.directory}/{segment.log_name}").st_blocks * 512
        for replica in replicas if replica is not None
        for segment in replica.partition.visible_segments() if segment.object is None
    )  # fmt: skip
