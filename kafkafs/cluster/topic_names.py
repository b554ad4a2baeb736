"""Names and ids of topics, as the metadata log tells them, or else the directories on the disks at hand."""

from collections.abc import Iterator, Sequence
from functools import partial

from kafkafs.cluster.following import Following, follow
from kafkafs.cluster.image import Image
from kafkafs.cluster.metadata import AsOf, Metadata
from kafkafs.disk.cached_value import same_objects
from kafkafs.format.names import PartitionName
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions


class TopicNames:
    """The names and ids of topics."""

    def __init__(self, directories: Sequence[DataDirectory], options: ReadOptions, until_ms: int | None) -> None:
        self._directories = directories
        self._options = options
        self._until_ms = until_ms
        self._followed: Following[Metadata] | None = None  # as long as a metadata log is here
        self._named: dict[str, str] = {}
        self._named_of: list[dict[str, PartitionName]] = []

    def look(self, source: Partition | None) -> None:
        """Bring the metadata up to date. `source`: the log that counts; None if none is here."""
        if source is None:
            self._followed = None
            return
        made = partial(Metadata, source, self._options, until_ms=self._until_ms)
        self._followed = follow(self._followed, source, made, self._options, self._until_ms)
        self._followed.look()

    @property
    def image(self) -> Image | None:
        """Topics, brokers and settings; None if no metadata log is here, or it cannot be understood."""
        return self._followed.replay.image if self._followed else None

    @property
    def as_of(self) -> AsOf | None:
        """How far the metadata log was read."""
        return self._followed.replay.as_of if self._followed else None

    def problems(self) -> Iterator[str]:
        """Sentences about all of the metadata that could not be read."""
        return self._followed.problems() if self._followed else iter(())

    def id_of(self, topic: str) -> str | None:
        """The id of a topic; None if the metadata has none of that name."""
        return self.image.ids.get(topic) if self.image else None

    def partition_count(self, topic: str) -> int | None:
        """How many partitions a topic has; None if that is not known."""
        image, topic_id = self.image, self.id_of(topic)
        return len(image.topics[topic_id].partitions) if image and topic_id else None

    def name_of(self, topic_id: str) -> str | None:
        """The topic's name, as the metadata or the directories on these disks tell it; None of one that was deleted
        where another has its name now."""
        image = self.image
        if image and topic_id in image.topics:
            return image.topics[topic_id].name
        name = self._ids_here().get(topic_id)
        return None if image and name in image.ids else name

    def version(self) -> object:
        """A value that changes whenever `name_of` may return something else."""
        return (id(self.image), self.image.renamed) if self.image else None

    def _ids_here(self) -> dict[str, str]:
        """Names of topics by id, from `partition.metadata` of the directories here."""
        names = [directory.names() for directory in self._directories]
        if not same_objects(names, self._named_of):
            found: dict[str, str] = {}
            for directory, here in zip(self._directories, names, strict=True):
                for name in here:
                    if (topic_id := directory.topic_id(name)) is not None:
                        found.setdefault(topic_id, here[name].topic)
            self._named_of, self._named = names, found
        return self._named
