"""The cluster's metadata with all that a controller needs, secrets too, and which record versions tell it.

`.cluster/` shows `cluster.image.Image`, which leaves secrets out. Here they are kept as the original records,
since they are written again and never shown.
"""

from kafkafs.cluster.image import Image
from kafkafs.format.messages.message_values import Fields
from kafkafs.format.messages.topic_records import Message

_PRE_MIGRATION = 2  # from 3.5 on; source: ZkMigrationState


class WholeImage(Image):
    """An image that forgets nothing. `credentials` and `tokens` have the fields of their records."""

    ignored_types = frozenset()

    def __init__(self) -> None:
        super().__init__()
        self.credentials: dict[tuple[str, int], Fields] = {}
        self.tokens: dict[str, Fields] = {}
        self.removed: set[str] = set()
        """Ids of topics that were deleted."""

        self.later: set[tuple[str, int]] = set()
        """Partitions that were made after the moment that this is of: topic id and number."""

        self.next_producer_id = 0
        self.is_in_zookeeper = False
        """True as long as a migration from ZooKeeper was prepared and had not copied the metadata."""

    def apply(self, record: Message) -> None:
        """Applies a record: see `Image.apply`."""
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
            case "ZkMigrationStateRecord":
                self.is_in_zookeeper = value["zkMigrationState"] == _PRE_MIGRATION
            case "RemoveTopicRecord":
                self.removed.add(value["topicId"])
        super().apply(record)
