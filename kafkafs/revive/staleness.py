"""Signs that the metadata are older than the logs.

A controller that stopped earlier than the brokers leaves metadata that look whole. Times of records prove that they are
older, but a producer may write old times. Other proofs are numbers that only a controller gives out. These are epochs
of leaders, ids of producers, epochs of brokers' registrations (the offset of the registration in the metadata log), and
the epochs of controllers that a node has recorded. A metadata log itself may go on behind its last whole batch: in
bytes, or in its index.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kafkafs.cluster.metadata import AsOf
from kafkafs.errors import UNREADABLE, CorruptData
from kafkafs.format.checkpoints import parse_leader_epochs
from kafkafs.format.names import CLEAN_SHUTDOWN, LEADER_EPOCHS, METADATA_LOG
from kafkafs.format.strings import json_object
from kafkafs.format.times import utc_text
from kafkafs.log.data_directory import DataDirectory
from kafkafs.revive.metadata_log import QUORUM_STATE
from kafkafs.revive.partitions import Reports
from kafkafs.revive.plan import Plan
from kafkafs.revive.whole_image import WholeImage

_AT_ONCE_MS = 1000
"""A broker that is idle notes every half second in the metadata that it is there: records a moment behind the end of
the metadata are no sign that anything is missing. Source: metadata.max.idle.interval.ms."""

_MAY_BE_MISSING = "rights, users, quotas, settings and topics that were made or changed later may be missing"
_OLDER_THAN_LOGS = "the metadata are older than the logs"


def behind_metadata(plan: Plan, reports: Reports) -> list[str]:
    """A sentence with the first sign that the metadata are older than the logs."""
    image, as_of = plan.metadata.image, plan.metadata.as_of
    if image is None or as_of is None:
        return []
    return [f"{sign}: {_MAY_BE_MISSING}" for sign in _signs(plan, image, as_of, reports)][:1]


def _signs(plan: Plan, image: WholeImage, as_of: AsOf, reports: Reports) -> Iterator[str]:
    newest = max((each["newestTimestamp"] or -1 for each in reports.values()), default=-1)
    if as_of.timestamp is not None and newest > as_of.timestamp + _AT_ONCE_MS:
        yield f"metadata end at {utc_text(as_of.timestamp)}, records go on to {utc_text(newest)}"
    for name, known in ((each.name, each.state) for _, each in plan.partitions()):
        epoch = reports[name]["leaderEpoch"] if name in reports else -1
        if known is not None and epoch > known.leader_epoch:
            yield f"{_OLDER_THAN_LOGS}: {name} has leader epoch {epoch}, and they know {known.leader_epoch}"
    if not image.is_in_zookeeper:
        for name, producer in ((name, each["largestProducerId"]) for name, each in reports.items()):
            if producer >= image.next_producer_id:
                yield (
                    f"{_OLDER_THAN_LOGS}: {name} has records of producer {producer}, and the next id that they know is"
                    f" {image.next_producer_id}"
                )
    for directory in plan.disks.directories:
        yield from _signs_of_node(directory, as_of)


def _signs_of_node(directory: DataDirectory, as_of: AsOf) -> Iterator[str]:
    """Signs in the small files that a node writes."""
    older, end = f"the metadata are older than the disk {str(directory.path)!r}", as_of.offset + 1
    registered = _number(_object(directory, CLEAN_SHUTDOWN), "brokerEpoch")
    if registered > end:  # equal to it in a revived directory that was never started
        yield f"{older}: its broker registered at offset {registered}, and they end at offset {end}"
    state = _object(directory, f"{METADATA_LOG}/{QUORUM_STATE}")
    epoch = _number(state, "leaderEpoch") if _number(state, "leaderId") >= 0 else -1
    if as_of.epoch is not None and epoch > as_of.epoch:
        yield f"{older}: it knows a controller of epoch {epoch}, and they end in epoch {as_of.epoch}"
    try:
        epochs = parse_leader_epochs(directory.root.read_whole(f"{METADATA_LOG}/{LEADER_EPOCHS}"))
    except (*UNREADABLE, CorruptData):
        epochs = ()
    for each in epochs[-1:]:
        if each.start_offset > end:
            yield f"{older}: its log reached offset {each.start_offset}, and they end at offset {end}"
    yield from (f"{older}: {sign}" for sign in _signs_of_log(directory, end))


def _signs_of_log(directory: DataDirectory, end: int) -> Iterator[str]:
    """Signs that the metadata log of a disk went on behind the end of the metadata, as after a loss of power."""
    if METADATA_LOG not in directory.names():
        return
    try:
        log = directory.partition(METADATA_LOG).log()
        for segment in log.segments[-1:]:
            index = segment.indexes.offset_index
            indexed = index.entry(index.entries - 1).offset if index.entries else -1
            if indexed >= end:
                yield f"the index of its metadata log goes on to offset {indexed}, and they end at offset {end}"
            if log.end_offset >= end and segment.log().size > log.walk_end(segment):
                yield f"behind offset {end - 1}, its metadata log has bytes that are no whole batch"
    except UNREADABLE:
        return


def _object(directory: DataDirectory, name: str) -> Mapping[str, Any]:
    try:
        return json_object(directory.root.read_whole(name)) or {}
    except UNREADABLE:
        return {}


def _number(fields: Mapping[str, Any], name: str) -> int:
    """The field, -1 if there is no such number."""
    value = fields.get(name)
    return value if isinstance(value, int) else -1
