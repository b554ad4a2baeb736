"""Find the partitions of a data directory that go on in a tier, and their uploads by the metadata topic."""

from kafkafs.disk.directory import Directory
from kafkafs.errors import CorruptData, Denied, NotFound
from kafkafs.format.checkpoints import parse_lineage, parse_partition_metadata
from kafkafs.format.names import LEADER_EPOCHS, OWN_TOPICS, PARTITION_METADATA, PartitionName
from kafkafs.format.tiers.tier_names import TierPartition
from kafkafs.log.checkpoint_files import CheckpointFiles
from kafkafs.log.disks_together import DisksTogether
from kafkafs.log.partition import NO_TIER, RemotePart
from kafkafs.log.tier.lost_partitions import LostPartitions
from kafkafs.log.tier.namesakes import shown
from kafkafs.log.tier.opening import Epochs
from kafkafs.log.tier.partition_uploads import PartitionFacts
from kafkafs.log.tier.remote_log_metadata import RecordedUploads, RemoteLogMetadata
from kafkafs.log.tier.tier import Tier
from kafkafs.log.tier.tier_part import TierPart


class RemotePartitions:
    """Makes the remote part of each partition of one data directory. `lost` are those that no disk has."""

    def __init__(self, tier: Tier, root: Directory, checkpoints: CheckpointFiles, disks: DisksTogether) -> None:
        """`disks`: those of which one may have the metadata topic, or another partition of the same topic."""
        self.tier = tier
        self.root = root
        self.checkpoints = checkpoints
        self.disks = disks
        self.metadata = RemoteLogMetadata(disks.tier_metadata, tier.options)
        self.lost = LostPartitions(tier, disks, self.metadata)

    def of(self, name: PartitionName) -> RemotePart:
        """Return the tier's part of that partition; `NO_TIER` for one that is never tiered, as Kafka's own topics."""
        if name.mark or name.topic in OWN_TOPICS:
            return NO_TIER
        return TierPart(self.tier, _OnDisk(self, name))

    def of_lost(self, partition: TierPartition, checkpoints: CheckpointFiles) -> TierPart:
        """Return the tier's part of a partition that is on no disk. Its lineage is that of the newest upload. Its log
        start is in `checkpoints`, or unknown."""
        return TierPart(self.tier, _OnNoDisk(partition, self.metadata, checkpoints))


class _OnNoDisk(PartitionFacts):
    """The facts about a partition that is on no disk."""

    def __init__(self, partition: TierPartition, metadata: RemoteLogMetadata, checkpoints: CheckpointFiles) -> None:
        super().__init__(partition)
        self._metadata = metadata
        self._checkpoints = checkpoints

    def recorded(self, partition: TierPartition) -> RecordedUploads | None:
        """See `PartitionFacts`."""
        return self._metadata.recorded(partition)

    def log_start(self) -> int | None:
        """The log start of a checkpoint."""
        return self._checkpoints.read().of(self._partition.name)[0]


class _OnDisk(PartitionFacts):
    """The facts about a partition of a disk, from its small files and the broker's."""

    def __init__(self, here: RemotePartitions, name: PartitionName) -> None:
        super().__init__(TierPartition(name.topic, name.partition, ""))
        self._here = here
        self._name = name

    def recorded(self, partition: TierPartition) -> RecordedUploads | None:
        """See `PartitionFacts`."""
        return self._here.metadata.recorded(partition)

    def log_start(self) -> int | None:
        """Return the log start by the broker's checkpoint. A broker cuts the leader epochs off at the log start, so
        they give it if the checkpoint does not. Return None if it is unknown."""
        start, _ = self._here.checkpoints.read().of(self._name)
        return start if start is not None else next((first for _, first in self.lineage()), None)

    def in_tier(self, local_start: int | None) -> TierPartition | None:
        """A broker's checkpoint lists every partition that is tiered, a minute later. Until then, leader epochs below
        the first segment tell that there was more."""
        starts, name = self._here.checkpoints.read().start_offsets, self._name
        if starts and (name.topic, name.partition) not in starts:
            lineage = self.lineage()
            if local_start is not None and lineage and lineage[0][1] >= local_start:
                return None
        try:
            topic_id = parse_partition_metadata(self._here.root.read_whole(f"{name.directory}/{PARTITION_METADATA}"))
        except (NotFound, Denied, CorruptData):
            topic_id = None
        return TierPartition(name.topic, name.partition, topic_id or "")

    def identified(self, partition: TierPartition) -> TierPartition:
        """Return the partition with its topic id. If its directory has lost it, another partition of the topic gives
        it, or the tier: see `namesakes`."""
        if partition.topic_id:
            return partition
        if topic_id := self._here.disks.topic_id_of(partition.topic):
            return partition._replace(topic_id=topic_id)
        layout = self._here.tier.layout
        found = [*layout.partitions(), *self._here.metadata.partitions()]
        of_topic = dict.fromkeys(each for each in found if each.topic == partition.topic)
        return shown(of_topic, layout, self._here.metadata.recorded).get(partition.name.directory, partition)

    def lineage(self) -> Epochs:
        """See `PartitionFacts`."""
        try:
            return parse_lineage(self._here.root.read_whole(f"{self._name.directory}/{LEADER_EPOCHS}"))
        except (NotFound, Denied, CorruptData):
            return ()
