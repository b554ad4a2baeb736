"""The partitions on the disks at hand, each as the replica that counts."""

from collections.abc import Sequence
from functools import cached_property

from kafkafs.cluster.topic_names import TopicNames
from kafkafs.errors import UNREADABLE
from kafkafs.format.checkpoints import parse_partition_metadata
from kafkafs.format.names import METADATA_LOG, PARTITION_METADATA
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.meta_properties import of_one_cluster
from kafkafs.log.partition import Partition
from kafkafs.log.replicas import furthest, replicas


class ChosenReplicas:
    """The partitions here, each as the replica that counts. It asks the data directories, and of the metadata topic ids
    alone, so any thread may call it."""

    def __init__(self, directories: Sequence[DataDirectory], topics: TopicNames) -> None:
        self._directories = directories
        self._topics = topics

    @cached_property
    def directories(self) -> Sequence[DataDirectory]:
        """The directories from which the state is read; empty if they are of several clusters."""
        return of_one_cluster(self._directories)

    def metadata(self) -> Partition | None:
        """The replica of the metadata log that is the furthest; None if none is here."""
        return furthest(replicas(self.directories, METADATA_LOG))

    def sources(self, topic: str) -> list[Partition]:
        """The partitions of a topic that tells about groups or transactions, each as the replica that is the furthest,
        by number."""
        found = {
            name: parsed.partition
            for directory in self.directories
            for name, parsed in directory.names().items()
            if parsed.topic == topic and not parsed.mark
        }
        chosen = (furthest(replicas(self.directories, name)) for name in sorted(found, key=found.__getitem__))
        return [each for each in chosen if each is not None]

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
        """The chosen replica of a partition; None if no replica is here."""
        return self._counting(f"{topic}-{number}", topic)

    def _counting(self, name: str, topic: str) -> Partition | None:
        """The chosen replica among those of the topic that the metadata knows. A broker that was down when a topic was
        deleted and created again still has a replica of the former topic."""
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
