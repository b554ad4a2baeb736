"""A tier by itself, served as a data directory: partitions without a broker's disk, up to their last upload.

If two topics of one name were made one after the other, the one with the newest upload is shown.
"""

from dataclasses import replace
from pathlib import Path

from kafkafs.errors import KafkafsError
from kafkafs.format.names import PartitionName, is_topic_name
from kafkafs.format.tiers.tier_names import TierPartition
from kafkafs.log.read_options import ReadOptions, TierSource
from kafkafs.log.tier.namesakes import shown
from kafkafs.log.tier.partition_uploads import PartitionFacts
from kafkafs.log.tier.tier import Tier
from kafkafs.log.tier.tier_part import TierPart


class TierDirectory:
    """The partitions of a tier that is a directory, by the names that they would have on a broker's disk."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        """UsageError if no known tier is there."""
        source = replace(options.tiered or TierSource(""), place=str(path))
        self._tier = Tier(source, options, deepest=0)
        self._found: dict[str, TierPartition] = {}
        self.unserved = frozenset[str]()
        """Sentences about the partitions that the last `names` left out: a manifest gives a topic's name, and no name
        may lead out of the tier."""

    def names(self) -> dict[str, PartitionName]:
        """The partitions that have uploads, by the name of their directory."""
        partitions = self._tier.layout.partitions()
        self.unserved = frozenset(
            f"the topic {each.topic!r} has a name that Kafka does not allow" for each in partitions
            if not is_topic_name(each.topic)
        )  # fmt: skip
        self._found = shown(
            (each for each in partitions if is_topic_name(each.topic)), self._tier.layout, lambda _: None
        )
        return {name: partition.name for name, partition in self._found.items()}

    def topic_id(self, directory: str) -> str | None:
        """The topic id of a partition; None if the tier's layout has none, or the partition is gone."""
        found = self._found.get(directory)
        return found.topic_id or None if found is not None else None

    def part(self, name: PartitionName) -> TierPart:
        """The tier's part of a partition: everything that there is of it."""
        partition = self._found[name.directory]
        return TierPart(self._tier, PartitionFacts(partition))


def open_tier(path: Path, options: ReadOptions) -> TierDirectory | None:
    """The tier that is at `path`; None if that is none."""
    try:
        return TierDirectory(path, options)
    except (KafkafsError, OSError):
        return None
