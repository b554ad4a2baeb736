"""Partitions that the cluster's metadata name and no disk here has, and `.topics/<topic>/info.json`, which names them.

Metadata and directories may be on any of the disks. While one of them hangs, nothing is compared: `problems` says so.
"""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kafkafs.disk.blocking import may_block
from kafkafs.disk.cached_value import made_once
from kafkafs.errors import DiskError, StoreError
from kafkafs.format.names import METADATA_LOG
from kafkafs.view.disks import DiskView
from kafkafs.view.made import MadeFile
from kafkafs.view.node import Attributes
from kafkafs.view.resources import Resources
from kafkafs.view.topic_access import TopicAccess

if TYPE_CHECKING:
    from kafkafs.cluster.topic_partitions import Places, TopicMetadata, TopicPartitions

_HANGS = "a disk does not answer, so the missing partitions are unknown"


class MissingPartitions:
    """The comparison of all topics of one tree, made when it is first asked for. Any thread may ask."""

    def __init__(self, disks: Sequence[DiskView], resources: Resources, here: "Callable[[str], Places]") -> None:
        """`here` are the directories of a topic's partitions: the same object until one of the tree comes or goes."""
        self._disks = disks
        self._resources = resources
        self._here = here

    def compared(self, topic: str) -> "TopicPartitions | None":
        """The topic's partitions by the metadata and on the disks.

        None while a disk hangs, or while the store of one of several directories fails."""
        may_block()
        if any(disk.is_hanging for disk in self._disks):
            return None
        try:
            return self._metadata.compare(topic, self._here(topic))
        except StoreError:
            if len(self._disks) == 1:
                raise
            return None

    def problems(self, topic: str) -> list[str]:
        """Sentences that name the topic's missing partitions; none without metadata."""
        if not any(METADATA_LOG in disk.last_known().names for disk in self._disks) or not self._here(topic):
            return []
        found = self.compared(topic)
        return [_HANGS] if found is None else found.problems

    def unknown(self) -> list[str]:
        """A sentence if nobody knows which partitions are missing, because the metadata cannot be read."""
        problem = self._metadata.problem()
        return [f"{problem}; so it is unknown if partitions are missing here"] if problem else []

    def restricted(self, about: Attributes) -> Attributes:
        """Attributes for those only who may read the metadata, too."""
        return self._access.restricted(about)

    @made_once
    def _access(self) -> TopicAccess:
        return TopicAccess(lambda: self._metadata.source, self._resources.options.clock)

    @made_once
    def _metadata(self) -> "TopicMetadata":
        """Imported only when it is first asked for, as all of `cluster`: it takes Kafka's schemas."""
        from kafkafs.cluster.topic_partitions import TopicMetadata

        return TopicMetadata([disk.directory for disk in self._disks], self._resources.options)


class TopicInfo(MadeFile):
    """`.topics/<topic>/info.json`."""

    lane = ".topics"

    def __init__(
        self,
        topic: str,
        missing: MissingPartitions,
        attributes: Callable[[], Attributes],
        find_lost: Callable[[], str],
        resources: Resources,
    ) -> None:
        """`attributes` are those of the topic's directory; NotFound once nothing of the topic is here. `find_lost` has
        the partitions found that only a tier has, or tells why they are not known."""
        self._topic = topic
        self._missing = missing
        self._of_directory = attributes
        self._find_lost = find_lost
        self._texts = resources.made

    def _about(self) -> Attributes:
        """The rights that the root and the metadata grant together."""
        about = self._of_directory()
        own = about._replace(kind="file", mode=about.mode & 0o444, timeout_s=0.0)
        return self._missing.restricted(own)

    def _make(self) -> bytes:
        unknown = self._find_lost()
        self._of_directory()
        found = self._missing.compared(self._topic)
        if found is None:
            raise DiskError(f".topics/{self._topic}/info.json: {_HANGS}")
        fields = {
            "topic": found.topic,
            "topicId": found.topic_id,
            "partitions": list(found.partitions),
            "missing": list(found.missing),
            "problems": [
                *found.problems,
                *self._missing.unknown(),
                *([f"{unknown}; so partitions may be missing here"] if unknown else []),
            ],
        }
        lines = (f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in fields.items())
        return ("{\n" + ",\n".join(lines) + "\n}\n").encode()
