"""The partitions that one broker led, for machines that each see only some of a cluster's disks.

By the metadata, other brokers' partitions need not be here. A partition that the broker led and that no disk here has
is data loss. Without metadata nobody knows the leaders, and every partition here is taken.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafkafs.cluster.leaders import Leaders, leaders
from kafkafs.cluster.topic_partitions import TopicPartitions
from kafkafs.errors import UsageError, did_you_mean
from kafkafs.tables.choice import Choice, ReadRequest
from kafkafs.tables.locations import Location, chosen, every_location, takes, with_their_tier
from kafkafs.tables.missing import go_on, missing_of, missing_sentence, only
from kafkafs.tables.offsets import TopicPartition


@dataclass(frozen=True, slots=True)
class LedPartitions:
    """The partitions to read, and sentences about those that are not here. `named`: all that the metadata name, each
    with its leader epoch; None without metadata."""

    locations: dict[TopicPartition, Location]
    warnings: list[str]
    named: Mapping[TopicPartition, int] | None


def led_by(broker: int, asked: ReadRequest) -> LedPartitions:
    """The chosen partitions that the broker led. UsageError for what the metadata do not know, and for data loss."""
    cluster_leaders = leaders(with_their_tier(asked.paths, asked.tiered))
    if cluster_leaders is None:
        return LedPartitions(chosen(asked), [], None)
    warnings = _problems(cluster_leaders, asked.fail_on_data_loss)
    _check_broker(broker, cluster_leaders)
    _check_topics(asked.choice, cluster_leaders)
    takes_topic = takes(asked.choice)
    wanted = {
        TopicPartition(topic, number)
        for topic, numbers in cluster_leaders.by_topic.items()
        if takes_topic(topic)
        for number, leader in numbers.items()
        if leader == broker
    }
    found = missing_of(asked)
    gone = [(each, [number for number in each.missing if (each.topic, number) in wanted]) for each in found]
    warnings += _lost(broker, [only(each, numbers) for each, numbers in gone if numbers], asked.fail_on_data_loss)
    lacking = {TopicPartition(each.topic, number) for each, numbers in gone for number in numbers}
    every = every_location(asked.paths, asked.replicas, asked.tiered)
    here = {name: every[name] for name in sorted(wanted - lacking) if name in every}
    named = {
        TopicPartition(topic, number): epoch
        for topic, each in cluster_leaders.epochs.items()
        for number, epoch in each.items()
    }
    return LedPartitions(here, warnings, named)


def _problems(cluster_leaders: Leaders, fail: bool) -> list[str]:
    """The sentences about records of the metadata that cannot be read. UsageError if the job is to fail for them."""
    problems = "; ".join(cluster_leaders.problems)
    sentence = f"the leaders are not certain: {problems}" if problems else ""
    return go_on(sentence, fail, "name another DATA_DIR with the metadata")


def _lost(broker: int, found: Sequence[TopicPartitions], fail: bool) -> list[str]:
    """The sentence about partitions that the broker led and no disk here has. UsageError if the job is to fail."""
    sentence = f"{missing_sentence(found)}, and broker {broker} led that" if found else ""
    return go_on(sentence, fail, "name all of its data directories", " without it")


def _check_broker(broker: int, cluster_leaders: Leaders) -> None:
    if broker not in cluster_leaders.brokers:
        known = ", ".join(map(str, sorted(cluster_leaders.brokers))) or "none"
        raise UsageError(f"--led-by {broker}: the metadata know no such broker; they know {known}")


def _check_topics(choice: Choice, cluster_leaders: Leaders) -> None:
    for topic in choice.topics:
        if topic not in cluster_leaders.by_topic:
            raise UsageError(f"the metadata know no topic {topic!r}{did_you_mean(topic, cluster_leaders.by_topic)}")
