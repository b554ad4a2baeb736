"""Topics' own `index.interval.bytes`, where the data directory tells: in KRaft's metadata log and its snapshots.

A ConfigRecord is a metadata record of kind 4: frame version, kind and version as unsigned varints, then an int8 for the
kind of resource (2 is a topic) and three compact strings: its name, the setting's name and the value (null: removed).
Sources: ConfigRecord.json, MetadataRecordSerde.
"""

from collections.abc import Iterator

from kafkafs.errors import KafkafsError, NotFound
from kafkafs.format.batches import is_control, walk
from kafkafs.format.records import Records, Refusal, decode
from kafkafs.log.data_directory import DataDirectory
from kafkafs.log.options import ReadOptions
from kafkafs.log.partition import Partition
from kafkafs.log.reading import Reader
from kafkafs.log.transactions import OpenTransactions

METADATA = "__cluster_metadata-0"
SETTING = b"index.interval.bytes"
_CONFIG_RECORD, _TOPIC = 4, 2
_LARGEST_SNAPSHOT = 1 << 30


def topic_intervals(directory: DataDirectory) -> dict[str, int]:
    """The interval of each topic that has its own; none without KRaft, or where its log cannot be read."""
    found: dict[str, int] = {}
    try:
        partition = directory.partition(METADATA)
        log = partition.log()
        for piece in _snapshot(partition):
            _follow(piece, found)
        for piece in Reader(log, ReadOptions(), OpenTransactions()).records(log.start_offset):
            _follow(piece, found)
    except NotFound:
        return {}
    except KafkafsError:
        return found
    return found


def _snapshot(partition: Partition) -> Iterator[Records]:
    """The records of the newest snapshot: what was true before the log begins."""
    names = sorted(name for name in partition.listing().names if name.endswith(".checkpoint"))
    if not names:
        return
    data = partition.root.read_whole(f"{METADATA}/{names[-1]}", _LARGEST_SNAPSHOT)
    rows = walk(data, 0).rows
    for piece in decode(data, 0, rows[~is_control(rows)], _LARGEST_SNAPSHOT):
        if not isinstance(piece, Refusal):
            yield piece


def _follow(piece: Records, found: dict[str, int]) -> None:
    """Takes the settings in these records into account, in order."""
    for index in range(len(piece)):
        value = piece.value(index)
        setting = parse_interval(bytes(value)) if value is not None else None
        if setting is None:
            continue
        topic, interval = setting
        if interval is None:
            found.pop(topic, None)
        else:
            found[topic] = interval


def parse_interval(data: bytes) -> tuple[str, int | None] | None:
    """(topic, interval or None where it is removed) of a record that sets it; None for every other record."""
    if SETTING not in data or data[1:2] != bytes([_CONFIG_RECORD]) or data[3:4] != bytes([_TOPIC]):
        return None
    topic, at = _string(data, 4)
    name, at = _string(data, at)
    value, _ = _string(data, at)
    if topic is None or name != SETTING:
        return None
    return topic.decode(), int(value) if value is not None and value.isdigit() else None


def _string(data: bytes, at: int) -> tuple[bytes | None, int]:
    """A compact string: its length and one more as an unsigned varint; 0 is null."""
    size = shift = 0
    while True:
        byte = data[at]
        at += 1
        size |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    return (None, at) if size == 0 else (data[at : at + size - 1], at + size - 1)
