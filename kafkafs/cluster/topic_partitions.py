"""A topic's partitions by the cluster's metadata, against those on these disks: the rest is missing here.

One comparison for all: the mount shows it, and jobs refuse to read a part of a topic as the whole of it. Only the
metadata log is read for this, and of its records only those that make or delete topics and partitions.
"""

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from kafkafs.cluster.following import Following, follow
from kafkafs.cluster.image import Image, PartitionState, all_but
from kafkafs.cluster.metadata import Metadata
from kafkafs.disk.blocking import acquired
from kafkafs.errors import UNREADABLE
from kafkafs.format.messages.topic_records import Message
from kafkafs.format.names import METADATA_LOG
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.meta_properties import of_one_cluster
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.replicas import furthest, replicas

Places = Sequence[tuple[int, DataDirectory, str]]
"""Directories of one topic's partitions: the partition's number, the data directory, and the name there."""


class TopicPartitions(NamedTuple):
    """The comparison for one topic. Without metadata about it, `partitions` are those here, and nothing is missing.

    `replaced` maps a missing number to the id of the former topic of this name that its directories here belong to.
    """

    topic: str
    topic_id: str | None
    partitions: tuple[int, ...]
    missing: tuple[int, ...]
    replaced: Mapping[int, str] = {}

    @property
    def problems(self) -> list[str]:
        """Sentences that name the missing partitions."""
        gone = [number for number in self.missing if number not in self.replaced]
        found = []
        if gone:
            are = "are" if len(gone) > 1 else "is"
            found.append(f"of {self.topic} {many(gone)} of {len(self.partitions)} {are} not on these disks")
        if self.replaced:
            former = next(iter(self.replaced.values()))
            found.append(
                f"of {self.topic} {many([*self.replaced])} here belong to a deleted topic of this name (id {former});"
                f" the topic has the id {self.topic_id} now"
            )
        return found


def many(numbers: Sequence[int]) -> str:
    """`partition 3`, `partitions 0, 1, 2, ...`"""
    shown = ", ".join(map(str, numbers[:10])) + (", ..." if len(numbers) > 10 else "")
    return f"partition{'s' if len(numbers) > 1 else ''} {shown}"


class TopicMetadata:
    """The topics that the furthest metadata log on some disks knows, read once and then followed.

    Any thread may ask; one at a time brings it up to date.
    """

    def __init__(self, directories: Sequence[DataDirectory], options: ReadOptions) -> None:
        self._directories = tuple(directories)
        self._options = options
        self._lock = threading.Lock()
        self._following: Following[Metadata] | None = None
        self._known: dict[str, tuple[Places, object, TopicPartitions]] = {}
        self._problem = ""

    @property
    def source(self) -> Partition | None:
        """The metadata log that counts; None if no disk has one, or if the disks are of several clusters."""
        found = []
        for directory in of_one_cluster(self._directories):
            with suppress(*UNREADABLE):  # another disk may have it
                found += replicas([directory], METADATA_LOG)
        return furthest(found)

    def problem(self) -> str:
        """Why the metadata may not name all topics, in a sentence; "" if they do, or if no disk has metadata."""
        with acquired(self._lock):
            self._image()
            return self._problem

    def topics(self) -> list[str]:
        """The topics that the metadata name, sorted; none without metadata."""
        with acquired(self._lock):
            image = self._image()
            return sorted(image.ids) if image else []

    def compare(self, topic: str, here: Places) -> TopicPartitions:
        """Compare the topic with its directories `here`, none of which a broker has set aside.

        The answer for the same `here` object is remembered until the metadata change.
        """
        with acquired(self._lock):
            image = self._image()
            version = (id(image), image.changes) if image else None
            known = self._known.get(topic)
            if known is None or known[0] is not here or known[1] != version:
                known = self._known[topic] = here, version, _compared(topic, here, image)
            return known[2]

    def _image(self) -> "_TopicsImage | None":
        self._problem = ""
        source = self.source
        if source is None:
            return None
        made = partial(Metadata, source, self._options, _TopicsImage)
        self._following = follow(self._following, source, made, self._options)
        metadata = self._following.look()
        self._problem = self._following.unread or metadata.lost
        image = None if self._following.unread else metadata.image
        return image if isinstance(image, _TopicsImage) else None


class _TopicsImage(Image):
    """Topics and the numbers of their partitions, and nothing else about them."""

    ignored_types = all_but("TopicRecord", "PartitionRecord", "RemoveTopicRecord")

    def __init__(self) -> None:
        super().__init__()
        self.changes = 0

    def apply(self, record: Message) -> None:
        """See `Image`."""
        self.changes += 1
        if record.name == "PartitionRecord" and record.value is not None:
            self.topics[record.value["topicId"]].partitions[record.value["partitionId"]] = _SOME_STATE
        else:
            super().apply(record)


_SOME_STATE = PartitionState(-1, -1, -1, (), (), (), (), (), (), None)


def _compared(topic: str, here: Places, image: Image | None) -> TopicPartitions:
    known = image.topics[image.ids[topic]] if image is not None and topic in image.ids else None
    claims = ((number, directory.topic_id(name)) for number, directory, name in here)
    if known is None:
        topic_id = next((each for _, each in claims if each is not None), None)
        return TopicPartitions(topic, topic_id, tuple(sorted({number for number, _, _ in here})), ())
    claimed = [*claims]
    has = {number for number, topic_id in claimed if topic_id in (None, known.topic_id)}
    replaced = {number: topic_id for number, topic_id in claimed if topic_id is not None and number not in has}
    numbers = tuple(sorted(known.partitions))
    missing = tuple(number for number in numbers if number not in has)
    return TopicPartitions(
        topic,
        known.topic_id,
        numbers,
        missing,
        {number: replaced[number] for number in missing if number in replaced},
    )


def compare_with(image: Image | None, directories: Sequence[DataDirectory]) -> dict[str, TopicPartitions]:
    """The comparison for every topic that the metadata or directories here name, by name. `image`: the metadata, if
    there are any. KafkafsError if a data directory cannot be listed."""
    found = places_by_topic(directories)
    names = sorted({*found, *(image.ids if image is not None else ())})
    return {topic: _compared(topic, found.get(topic, []), image) for topic in names}


def places_by_topic(directories: Sequence[DataDirectory]) -> dict[str, Places]:
    """The directories of each topic's partitions, but those that a broker has set aside."""
    found: defaultdict[str, list[tuple[int, DataDirectory, str]]] = defaultdict(list)
    for directory in directories:
        for name, parsed in directory.names().items():
            if not parsed.mark:
                found[parsed.topic].append((parsed.partition, directory, name))
    return dict(found)
