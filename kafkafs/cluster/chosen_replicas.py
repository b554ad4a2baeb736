"""The partitions on the disks at hand, each as the replica that counts."""

from collections.abc import Sequence
from functools import cached_property

from kafkafs.cluster.topic_names import TopicNames
from kafkafs.errors import UNREADABLE
from kafkafs.format.checkpoints import parse_partition_metadata
from kafkafs.format.names import GROUPS_TOPIC, METADATA_LOG, PARTITION_METADATA, TRANSACTIONS_TOPIC, PartitionName
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.meta_properties import of_one_cluster
from kafkafs.log.partition import Partition
from kafkafs.log.replicas import furthest, replicas


class ChosenReplicas:
    """See the module. It asks the data directories, and of the metadata topic ids alone, so any thread may call it."""

    def __init__(self, directories: Sequence[DataDirectory], topics: TopicNames) -> None:
        self._directories = directories
        self._topics = topics

    @cached_property
    def directories(self) -> Sequence[DataDirectory]:
        """The directories from which the state is read; empty if they are of several clusters."""
        return of_one_cluster(self._directories)

    def sources(self, topic: str) -> list[Partition]:
        """The partitions that tell about groups, transactions or metadata: those of that topic."""
        names = (name for name, parsed in self.source_names().items() if parsed.topic == topic)
        found = (self.source(name) for name in names)
        return [each for each in found if each is not None]

    def source(self, name: str) -> Partition | None:
        """The replica of such a partition that is the furthest; None if none is here any more."""
        return furthest(replicas(self.directories, name))

    def source_names(self) -> dict[str, PartitionName]:
        """All such partitions, by directory name: those of the metadata first."""
        found = {}
        for directory in self.directories:
            for name, parsed in directory.names().items():
                if not parsed.mark and (name == METADATA_LOG or parsed.topic in (GROUPS_TOPIC, TRANSACTIONS_TOPIC)):
                    found[name] = parsed
        return dict(sorted(found.items(), key=lambda item: (item[0] != METADATA_LOG, item[1].topic, item[1].partition)))

    def all(self) -> list[Partition]:
        """All partitions that clients may write."""
        names = {
            name: (parsed.topic, parsed.partition)
            for directory in self.directories
            for name, parsed in directory.names().items()
            if not parsed.mark and name != METADATA_LOG
        }
        found = (self._counting(name, names[name][0]) for name in sorted(names, key=names.__getitem__))
        return [each for each in found if each is not None]

    def of(self, topic: str, number: int) -> Partition | None:
        """That partition; None if no replica is here."""
        return self._counting(f"{topic}-{number}", topic)

    def _counting(self, name: str, topic: str) -> Partition | None:
        """That of those which are of the topic that the metadata knows: a broker that was down when it was deleted and
        created again still has the former one."""
        found, topic_id = replicas(self.directories, name), self._topics.id_of(topic)
        best = furthest(found)
        if best is None or len(found) < 2 or topic_id is None or _is_of(best, topic_id):
            return best
        return furthest([each for each in found if _is_of(each, topic_id)]) or best


def _is_of(replica: Partition, topic_id: str) -> bool:
    """True if the metadata do not name another topic than that one."""
    try:
        return parse_partition_metadata(replica.read_small_file(PARTITION_METADATA)) == topic_id
    except UNREADABLE:
        return True
