"""Names in a remote tier: LocalTieredStorage's directories and files, Aiven's object keys.

    orders-0-a3YuchuOROWw8Ga3Hmv0QQ/00000000000000000480-edbhxJSETWWIK3JMJarBaw.log           LocalTieredStorage
    <prefix>orders-4ke7L66pTJ69Wc3f4EQzWw/0/00000000000000000480-EDYc9BIPSxuxlT08HU2cWg.log    Aiven

Ids are 16 bytes in URL-safe base64, 22 characters that may be `-` and `_`: they are cut off by their length. Sources:
RemoteLogSegmentFileset of LocalTieredStorage, ObjectKeyFactory of Aiven's plug-in.
"""

import re
from typing import NamedTuple

from kafkafs.format.names import OFFSET_DIGITS, PartitionName, parse_offset, parse_partition_name

ID_LENGTH = 22
"""Characters of an id."""

EPOCHS = "leader_epoch_checkpoint"
PRODUCER_SNAPSHOT = "snapshot"
"""The last of a segment's files that LocalTieredStorage writes: with it the segment is complete."""

MANIFEST, INDEXES = "rsm-manifest", "indexes"
"""The files that Aiven's plug-in writes beside the log of a segment."""

_ID = re.compile(r"[A-Za-z0-9_-]{22}", re.ASCII)
_KINDS = frozenset(("log", "index", "timeindex", "txnindex", PRODUCER_SNAPSHOT, EPOCHS, MANIFEST, INDEXES))


class TierPartition(NamedTuple):
    """A partition in a tier; topics of the same name that were made one after the other have other ids."""

    topic: str
    partition: int
    topic_id: str

    @property
    def name(self) -> PartitionName:
        """The name that its directory has on a broker's disk."""
        return PartitionName(f"{self.topic}-{self.partition}", self.topic, self.partition, "")


class TierFile(NamedTuple):
    """One of a remote segment's files. `kind` is the part after the dot."""

    base_offset: int
    segment_id: str
    kind: str


def parse_tier_directory(name: str) -> TierPartition | None:
    """The partition of a directory of LocalTieredStorage; None for every other name."""
    plain, topic_id = name[: -ID_LENGTH - 1], name[-ID_LENGTH:]
    if name[-ID_LENGTH - 1 : -ID_LENGTH] != "-" or not _ID.fullmatch(topic_id):
        return None
    found = parse_partition_name(plain)
    return None if found is None or found.mark else TierPartition(found.topic, found.partition, topic_id)


def parse_tier_file(name: str) -> TierFile | None:
    """The segment's file of that name; None for every other name."""
    offset = parse_offset(name[:OFFSET_DIGITS])
    segment_id = name[OFFSET_DIGITS + 1 : OFFSET_DIGITS + 1 + ID_LENGTH]
    kind = name[OFFSET_DIGITS + 1 + ID_LENGTH :]
    if offset is None or name[OFFSET_DIGITS : OFFSET_DIGITS + 1] != "-" or not _ID.fullmatch(segment_id):
        return None
    return TierFile(offset, segment_id, kind[1:]) if kind[:1] == "." and kind[1:] in _KINDS else None


def parse_object_directory(key: str) -> tuple[str, int] | None:
    """The topic id and the partition of an Aiven object's directory, `…-<topic id>/<partition>`; None for others.

    The part before the id may begin with any prefix. The manifest has the topic's name.
    """
    directory, _, number = key.rpartition("/")
    topic_id = directory[-ID_LENGTH:]
    if directory[-ID_LENGTH - 1 : -ID_LENGTH] != "-" or not _ID.fullmatch(topic_id):
        return None
    if not (number.isascii() and number.isdigit()) or str(int(number)) != number or int(number) >= 1 << 31:
        return None
    return topic_id, int(number)
