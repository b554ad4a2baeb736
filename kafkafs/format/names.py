"""Names in a data directory: which directory is a partition, which file is what. Source: LocalLog, LogFileUtils.

Only the spelling that Kafka itself produces counts: `a-b-3` is partition 3 of topic `a-b`; `a-03` and `a-+3`, which a
Java parser would take, are foreign and ignored.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

OFFSET_DIGITS = 20
"""Width to which Kafka pads an offset in file names."""

_MAX_INT = 2**31 - 1
_MAX_LONG = 2**63 - 1
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}", re.ASCII)
_PLAIN = re.compile(rf"({_TOPIC.pattern})-(0|[1-9][0-9]{{0,9}})", re.ASCII)
_MARKED = re.compile(r"(\S+-\S+)\.([0-9a-f]{32})-(delete|future|stray)", re.ASCII)

SEGMENT_KINDS = {f".{kind}": kind for kind in ("log", "index", "timeindex", "txnindex", "snapshot")}
"""The suffix after the offset in the name of a segment's file, and the kind of file."""

NODE_KEYS = ("node.id", "broker.id")
"""Keys of a node's id in `meta.properties`: under KRaft, under ZooKeeper."""

LARGEST_NODE = 2**31 - 1
"""The largest node id: a Java int."""

META_PROPERTIES = "meta.properties"
LOG_STARTS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
"""The six files of a data directory."""

PARTITION_METADATA = "partition.metadata"
LEADER_EPOCHS = "leader-epoch-checkpoint"
"""The two files of a partition."""

GROUPS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
SHARE_TOPIC = "__share_group_state"
INTERNAL_TOPICS = frozenset((GROUPS_TOPIC, TRANSACTIONS_TOPIC, SHARE_TOPIC))
"""The topics that Kafka calls internal. Source: Topic.INTERNAL_TOPICS."""

METADATA_TOPIC = "__cluster_metadata"
METADATA_LOG = f"{METADATA_TOPIC}-0"
"""The topic of KRaft, and its one partition."""

REMOTE_LOG_METADATA = "__remote_log_metadata"
"""The topic with the metadata of a remote tier's segments."""

OWN_TOPICS = INTERNAL_TOPICS | {METADATA_TOPIC, REMOTE_LOG_METADATA}
"""All that a cluster makes for itself. They are never tiered; a topic of a user may begin with `__` too, and be tiered.
Source: UnifiedLog.isRemoteLogEnabled."""


_LONGEST_NAME = 255
"""Characters at which Kafka cuts the topic in the name of a `-delete` or `-stray` directory."""


def is_topic_name(name: str) -> bool:
    """True if Kafka allows a topic of this name: any other one could lead out of a data directory. Source:
    Topic.validate."""
    return _TOPIC.fullmatch(name) is not None and name not in (".", "..")


@dataclass(frozen=True, slots=True)
class PartitionName:
    """A partition directory's name, taken apart. `mark` is "", "delete", "future" or "stray"."""

    directory: str
    topic: str
    partition: int
    mark: str

    @property
    def may_be_cut(self) -> bool:
        """True if the topic may be only the beginning of the topic's name."""
        return self.mark in ("delete", "stray") and len(self.directory) >= _LONGEST_NAME


def parse_partition_name(directory: str) -> PartitionName | None:
    """The partition that a directory of this name holds; None for every other name.

    A marked name has its mark and uuid cut off at the last dot; the topic of a long `-delete` or `-stray` name is only
    a prefix, because Kafka caps those names at 255 characters.
    """
    marked = _MARKED.fullmatch(directory)
    plain = _PLAIN.fullmatch(marked[1] if marked else directory)
    if plain is None or not is_topic_name(plain[1]) or int(plain[2]) > _MAX_INT:
        return None
    return PartitionName(directory, plain[1], int(plain[2]), marked[3] if marked else "")


class SegmentFile(NamedTuple):
    """A file named after an offset. `kind` is "log", "index", "timeindex", "txnindex" or "snapshot"."""

    name: str
    offset: int
    kind: str


def parse_segment_file(name: str) -> SegmentFile | None:
    """The segment file of this name; None for others, `.deleted`, `.cleaned` and `.swap` files among them."""
    kind, offset = SEGMENT_KINDS.get(name[OFFSET_DIGITS:]), parse_offset(name[:OFFSET_DIGITS])
    return None if kind is None or offset is None else SegmentFile(name, offset, kind)


def parse_offset(digits: str) -> int | None:
    """The offset that a segment file's name begins with; None if those characters are none."""
    if not (digits.isascii() and digits.isdigit()) or (offset := int(digits)) > _MAX_LONG:
        return None
    return offset


def segment_file(base_offset: int, kind: str) -> str:
    """The file name of a segment's log, index or snapshot."""
    return f"{base_offset:0{OFFSET_DIGITS}}.{kind}"


_SWAPPED = re.compile(r"([0-9]{20})\.(log|index|timeindex|txnindex)\.(swap|deleted|cleaned)", re.ASCII)


def parse_transitional_file(name: str) -> tuple[SegmentFile, str] | None:
    """A segment file on its way in or out, and its extra suffix ("swap", "deleted" or "cleaned"); None for others."""
    found = _SWAPPED.fullmatch(name)
    if found is None or int(found[1]) > _MAX_LONG:
        return None
    return SegmentFile(name, int(found[1]), found[2]), found[3]


REMOTE_INDEX_CACHE = "remote-log-index-cache"
"""The directory in which a broker with tiered storage keeps indexes of remote segments. It is in one of the broker's
data directories."""

BROKER_DIRECTORIES = (
    REMOTE_INDEX_CACHE,
    "@metadata-0",  # 2.8's `__cluster_metadata-0`
)
"""Directories that brokers of some release make in a data directory beside partitions."""

_CHECKSUM = r"(\.adler)?"  # Confluent Server's, beside what it protects
_OF_DATA_DIRECTORY = re.compile(
    r"(meta\.properties|bootstrap\.checkpoint|[a-z-]+-offset-checkpoint|\.kafka_cleanshutdown"
    r"|_rlmm_committed_offsets)(\.tmp)?|\.lock"  # tiered storage's, up to 3.5
    r"|revive\.json|(server|second)\.properties",  # of `kafkafs revive`
    re.ASCII,
)
_OF_PARTITION = re.compile(
    r"((leader-epoch-checkpoint|partition\.metadata|quorum-state|remote_log_snapshot)(\.tmp)?|\.kafka_cleanshutdown"
    r"|[0-9]{20}-[0-9]{10}.*\.checkpoint(\.part|\.deleted)?|[0-9]{20}\.snapshot(\.deleted|\.cleaned|\.swap|\.tmp)?"
    r"|[0-9]{20}\.tierstate(\.[a-z]+)*)" + _CHECKSUM,  # Confluent Server's state of a tiered partition
    re.ASCII,
)


def is_of_data_directory(name: str) -> bool:
    """True if a broker of 2.8 to 4.4, Confluent's, or `kafkafs revive` makes a file of this name in a data directory.
    Sources: LogManager, BootstrapDirectory, CleanShutdownFileHandler, ConsumerManager of tiered storage's metadata."""
    return _OF_DATA_DIRECTORY.fullmatch(name) is not None


def is_of_partition(name: str) -> bool:
    """True if Kafka makes a file of this name in a partition's directory. Sources: UnifiedLog, LogFileUtils, Snapshots,
    FileQuorumStateStore, RemoteLogMetadataSnapshotFile; Confluent's names as they are seen on its brokers."""
    known = parse_segment_file(name) or parse_transitional_file(name) or _OF_PARTITION.fullmatch(name)
    return known is not None
