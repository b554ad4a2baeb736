"""The cluster's metadata with all that a controller needs, secrets too, and which record versions tell it.

What `.cluster/` shows is `cluster.image.Image`, which leaves secrets behind. Here they are kept as the records that
told them, since they are written again and never shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kafkafs.cluster.following import Following
from kafkafs.cluster.image import Image
from kafkafs.cluster.metadata import NAME, AsOf, Metadata
from kafkafs.errors import KafkafsError, NotFound
from kafkafs.format.messages.records import Message
from kafkafs.format.messages.values import Fields
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.options import ReadOptions
from kafkafs.log.partition import Partition
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
    """What the metadata log of the furthest replica tells. `end_offset` and `epoch` are those of that log.

    `image` is None where there is no such log (ZooKeeper's time, a lost disk) or it cannot be understood.
    """

    image: WholeImage | None
    as_of: AsOf | None
    is_dynamic: bool  # the quorum's voters stand in the log (kraft.version 1), not in everybody's settings
    problems: tuple[str, ...]


def read_metadata(directories: Sequence[DataDirectory], options: ReadOptions) -> ClusterMetadata:
    """The cluster's metadata on these disks."""
    partition = furthest(replicas(directories, NAME))
    if partition is None:
        return ClusterMetadata(None, None, False, ())
    metadata = Metadata(partition, options, WholeImage)
    try:
        Following(partition, metadata, options).catch_up()
    except KafkafsError as error:
        return ClusterMetadata(None, None, False, (f"{NAME} cannot be read: {error}",))
    image = metadata.image
    whole = image if isinstance(image, WholeImage) else None
    return ClusterMetadata(whole, metadata.as_of, _is_dynamic(partition), tuple(metadata.problems))


def _is_dynamic(partition: Partition) -> bool:
    """The version of the file that a node keeps its vote in tells."""
    try:
        state = partition.root.read_whole(f"{partition.name.directory}/{_QUORUM_STATE}", 1 << 16)
    except (NotFound, KafkafsError):
        return False
    return _DYNAMIC in state.replace(b" ", b"")
