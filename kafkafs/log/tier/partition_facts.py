"""The facts about a partition that its uploads do not tell: they decide which of them count."""

from typing import TYPE_CHECKING

from kafkafs.format.tiers.tier_names import TierPartition
from kafkafs.log.tier.opening import Epochs

if TYPE_CHECKING:
    from kafkafs.log.tier.remote_log_metadata import RecordedUploads  # it loads Kafka's schemas


class PartitionFacts:
    """Those of a partition that is in a tier alone, where nothing else tells of it. Subclasses ask disks, each time
    as of now."""

    def __init__(self, partition: TierPartition) -> None:
        self._partition = partition

    def in_tier(self, local_start: int | None) -> TierPartition | None:  # noqa: ARG002 (of no disk)
        """The partition, by the first offset that the disk has of it; None if it cannot be in the tier."""
        return self._partition

    def identified(self, partition: TierPartition) -> TierPartition:
        """The same with a topic id that the disk has lost. It may wait."""
        return partition

    def lineage(self) -> Epochs:
        """The leader epochs that the disk has; none if the uploads have them."""
        return ()

    def log_start(self) -> int | None:
        """The log start; None if it is unknown."""
        return None

    def recorded(self, partition: TierPartition) -> "RecordedUploads | None":  # noqa: ARG002 (nothing is recorded)
        """The uploads by the tier's metadata topic; None if it does not mention the partition."""
        return None
