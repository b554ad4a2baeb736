"""The cluster's metadata with all that a controller needs, secrets too, and which record versions tell it.

What `.cluster/` shows is `cluster.image.Image`, which leaves secrets behind. Here they are kept as the records that
told them, since they are written again and never shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kafkafs.cluster.image import Image
from kafkafs.cluster.metadata import METADATA_LOG, AsOf, Metadata, read_once
from kafkafs.errors import KafkafsError, NotFound
from kafkafs.format.messages.message_values import Fields
from kafkafs.format.messages.topic_records import Message
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.replicas import furthest, replicas

_QUORUM_STATE = "quorum-state"
_DYNAMIC = b'"data_version":1'


class WholeImage(Image):
    """An image that forgets nothing. `credentials` and `tokens` have the fields of their records."""

    def __init__(self) -> None:
        super().__init__()
        self.credentials: dict[tuple[str, int], Fields] = {}
        self.tokens: dict[str, Fields] = {}
        self.removed: set[str] = set()
        """Ids of topics that were deleted."""

        self.later: set[tuple[str, int]] = set()
        """Partitions that were made after the moment that this is of: topic id and number."""

        self.next_producer_id = 0

    def take(self, record: Message) -> None:
        """Applies a record: see `Image.take`."""
        value = record.value or {}
        match record.name:
            case "UserScramCredentialRecord":
                self.credentials[value["name"], value["mechanism"]] = value
            case "RemoveUserScramCredentialRecord":
                self.credentials.pop((value["name"], value["mechanism"]), None)
            case "DelegationTokenRecord":
                self.tokens[value["tokenId"]] = value
            case "RemoveDelegationTokenRecord":
                self.tokens.pop(value["tokenId"], None)
            case "ProducerIdsRecord":
                self.next_producer_id = max(self.next_producer_id, value["nextProducerId"])
            case "RemoveTopicRecord":
                self.removed.add(value["topicId"])
        super().take(record)


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """What the metadata log of the furthest replica tells, `as_of` its end.

    `image` is None where there is no such log (ZooKeeper's time, a lost disk) or it cannot be understood. `sentences`:
    what of it is not as it was at the moment that was asked for.
    """

    image: WholeImage | None
    as_of: AsOf | None
    is_dynamic: bool  # the quorum's voters stand in the log (kraft.version 1), not in everybody's settings
    problems: tuple[str, ...]
    sentences: tuple[str, ...] = ()


def read_metadata(
    directories: Sequence[DataDirectory], options: ReadOptions, until_ms: int | None = None
) -> ClusterMetadata:
    """The cluster's metadata on these disks, as of a moment where one is given."""
    partition = furthest(replicas(directories, METADATA_LOG))
    if partition is None:
        return ClusterMetadata(None, None, False, ())
    try:
        metadata, image = _read(partition, options, None)
        then = _read(partition, options, until_ms)[1] if until_ms is not None and image is not None else None
    except KafkafsError as error:
        return ClusterMetadata(None, None, False, (f"{METADATA_LOG} cannot be read: {error}",))
    sentences = []
    if image is not None and then is not None:
        image = _goes_on_from(then, image)
    elif image is not None and until_ms is not None:
        sentences.append("topics and settings are those of the end: the metadata of that moment are no longer there")
    is_dynamic = _is_dynamic(partition)
    return ClusterMetadata(image, metadata.as_of, is_dynamic, tuple(metadata.problems), tuple(sentences))


def _read(partition: Partition, options: ReadOptions, until_ms: int | None) -> tuple[Metadata, WholeImage | None]:
    metadata = read_once(partition, options, WholeImage, until_ms)
    return metadata, metadata.image if isinstance(metadata.image, WholeImage) else None


def _goes_on_from(then: WholeImage, now: WholeImage) -> WholeImage:
    """The image of then, with what must never be given out twice as it is now: ids of producers, epochs of leaders. And
    who has all that was acknowledged, since disks are those of now."""
    then.next_producer_id = now.next_producer_id
    for topic_id, topic in now.topics.items():
        partitions = then.topics[topic_id].partitions if topic_id in then.topics else {}
        for number, state in topic.partitions.items():
            if number not in partitions:
                then.later.add((topic_id, number))
                continue
            partitions[number] = partitions[number]._replace(
                leader_epoch=max(state.leader_epoch, partitions[number].leader_epoch),
                partition_epoch=max(state.partition_epoch, partitions[number].partition_epoch),
                isr=state.isr,
                eligible=state.eligible,
            )
    return then


def _is_dynamic(partition: Partition) -> bool:
    """The version of the file that a node keeps its vote in tells."""
    try:
        state = partition.root.read_whole(f"{partition.name.directory}/{_QUORUM_STATE}", 1 << 16)
    except (NotFound, KafkafsError):
        return False
    return _DYNAMIC in state.replace(b" ", b"")
