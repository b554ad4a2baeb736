"""Tell a data directory of a broker from other directories, by what is in it."""

from kafkafs.disk.directory import Directory
from kafkafs.errors import KafkafsError
from kafkafs.format.names import (
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_STARTS,
    META_PROPERTIES,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    parse_partition_name,
    parse_segment_file,
    parse_transitional_file,
)

_MARKS_OF_PARTITION = (PARTITION_METADATA, LEADER_EPOCHS)
_MARKS_OF_KAFKA = (META_PROPERTIES, LOG_STARTS, HIGH_WATERMARKS, RECOVERY_POINTS)


def is_kafkas(root: Directory) -> bool:
    """True if the directory is a broker's data directory, or a copy of one."""
    with root.scan() as scanned:
        entries = {entry.name for entry in scanned}
    is_marked = not entries.isdisjoint(_MARKS_OF_KAFKA)
    return is_marked or any(parse_partition_name(name) and _holds_partition(root, name) for name in entries)


def _holds_partition(root: Directory, name: str) -> bool:
    """True if any of Kafka's files is in there: `dbus-1` and `python-3` are names of other people's directories."""
    try:
        with root.scan(name) as entries:
            return any(
                entry.is_file(follow_symlinks=False)
                and (
                    entry.name in _MARKS_OF_PARTITION
                    or parse_segment_file(entry.name) is not None
                    or parse_transitional_file(entry.name) is not None
                )
                for entry in entries
            )
    except (OSError, KafkafsError):
        return False  # an unreadable directory gives no answer
