"""The leader of each partition by the cluster's metadata.

A partition without a leader counts for its last one. A controller leaves the last leader in the in-sync replicas, or
among the replicas that are eligible without them (KIP-966). The state alone decides, so that every machine with the
same metadata names the same broker. Source: PartitionChangeBuilder.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kafkafs.cluster.image import Image, PartitionState, all_but
from kafkafs.cluster.metadata import read_once
from kafkafs.cluster.topic_partitions import TopicMetadata
from kafkafs.errors import UsageError
from kafkafs.format.names import METADATA_LOG
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.read_options import ReadOptions


class Leaders(NamedTuple):
    """The leaders by topic and partition number, the brokers that the metadata know, what could not be read, and the
    leader epochs by topic and partition number."""

    by_topic: Mapping[str, Mapping[int, int]]
    brokers: frozenset[int]
    problems: Sequence[str]
    epochs: Mapping[str, Mapping[int, int]]


class _LeadersImage(Image):
    ignored_types = all_but(
        "TopicRecord",
        "PartitionRecord",
        "PartitionChangeRecord",
        "RemoveTopicRecord",
        "ClearElrRecord",
        "RegisterBrokerRecord",
        "UnregisterBrokerRecord",
    )


def leaders(directories: Iterable[DataDirectory]) -> Leaders | None:
    """The leaders by the furthest metadata log on these disks; None if no disk has one.

    UsageError if there is one, and nothing in it can be read.
    """
    options = ReadOptions()
    source = TopicMetadata(tuple(directories), options).source
    if source is None:
        return None
    metadata = read_once(source, options, _LeadersImage)
    problems = list(metadata.problems)
    if metadata.image is None:
        reason = f": {problems[0]}" if problems else ""
        raise UsageError(f"the leaders cannot be read from {METADATA_LOG}{reason}; leave out --led-by to export all")
    found = {
        topic.name: {number: leader(state) for number, state in topic.partitions.items()}
        for topic in metadata.image.topics.values()
    }
    replicas = {state.replicas for topic in metadata.image.topics.values() for state in topic.partitions.values()}
    known = {broker for brokers in replicas for broker in brokers} | metadata.image.brokers.keys()
    epochs = {
        topic.name: {number: state.leader_epoch for number, state in topic.partitions.items()}
        for topic in metadata.image.topics.values()
    }
    return Leaders(found, frozenset(known), problems, epochs)


def leader(state: PartitionState) -> int:
    """The partition's leader, or else its last one; -1 if nothing names any."""
    some = ((state.leader,), state.last_known, state.isr, state.eligible, state.replicas)
    return next((broker for brokers in some for broker in brokers if broker >= 0), -1)
