"""The small text files beside the segments. Sources: CheckpointFile, LeaderEpochCheckpointFile, PartitionMetadataFile.

Beside each parser is the writer of such a file. A parser takes the whole file as bytes and returns plain values, or
raises CorruptData with what is wrong; what cannot be parsed is ignored for a caller, who names it in `problems`.
"""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kafkafs.errors import CorruptData

MOST_BYTES = 16 << 20
"""Largest size of a file of this module that is read: no broker has so many partitions."""

CheckpointOffsets = dict[tuple[str, int], int]
"""Offsets by topic and partition."""

_METADATA_BYTES = 4096
_LONGEST = len(str(-(2**63)))


@dataclass(frozen=True, slots=True)
class LeaderEpoch:
    """A leader epoch and the first offset that was written under it."""

    epoch: int
    start_offset: int


def parse_offset_checkpoint(data: bytes) -> CheckpointOffsets:
    """Parse a `*-offset-checkpoint`. An empty file, which Kafka leaves behind at times, has no entries."""
    offsets: CheckpointOffsets = {}
    for topic, partition, offset in _entries(data, fields=3):
        offsets[topic, _int32(partition)] = _int64(offset)
    return offsets


def offset_checkpoint_bytes(offsets: CheckpointOffsets) -> bytes:
    """Bytes that `parse_offset_checkpoint` reads."""
    return _file_of([f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items())])


def parse_leader_epochs(data: bytes) -> tuple[LeaderEpoch, ...]:
    """The epochs of a partition's `leader-epoch-checkpoint`, in file order, which is ascending."""
    return tuple(LeaderEpoch(_int32(epoch), _int64(start)) for epoch, start in _entries(data, fields=2))


def parse_lineage(data: bytes) -> tuple[tuple[int, int], ...]:
    """The epochs of a `leader-epoch-checkpoint` with their first offsets, both ascending. Kafka orders the lines
    by epoch. CorruptData if the offsets then go back, or a number is negative."""
    found = sorted((each.epoch, each.start_offset) for each in parse_leader_epochs(data))
    for (_, before), (epoch, start) in pairwise([(0, 0), *found]):
        if epoch < 0 or start < before:
            raise CorruptData(f"epoch {epoch} begins at offset {start}, and the epoch before it at {before}")
    return tuple(found)


def leader_epochs_bytes(epochs: Sequence[LeaderEpoch]) -> bytes:
    """Bytes that `parse_leader_epochs` reads."""
    return _file_of([f"{each.epoch} {each.start_offset}" for each in epochs])


def partition_metadata_bytes(topic_id: str) -> bytes:
    """Bytes that `parse_partition_metadata` reads: two lines, and no line feed after the second."""
    return f"version: 0\ntopic_id: {topic_id}".encode()


def _file_of(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in ("0", str(len(lines)), *lines)).encode()


def parse_partition_metadata(data: bytes) -> str:
    """The topic id in `partition.metadata`, as Kafka prints it: 22 characters of URL-safe base64."""
    if len(data) > _METADATA_BYTES:
        raise CorruptData("it does not have the two lines 'version: 0' and 'topic_id: ...'")
    lines = _lines(data)
    fields = dict(line.split(": ", 1) for line in lines if ": " in line)
    if len(lines) != 2 or set(fields) != {"version", "topic_id"} or _int32(fields["version"]) < 0:
        raise CorruptData("it does not have the two lines 'version: 0' and 'topic_id: ...'")
    topic_id = fields["topic_id"].strip()
    try:
        uuid = base64.b64decode(topic_id + "==", altchars=b"-_", validate=True)
    except ValueError as error:
        raise CorruptData(f"{topic_id!r} is not a topic id") from error
    if len(uuid) != 16 or not any(uuid):
        raise CorruptData(f"{topic_id!r} is not a topic id")
    return topic_id


def _entries(data: bytes, fields: int) -> Iterator[list[str]]:
    """Version 0, a count, and that many lines of `fields` words: the rules of Kafka's own reader."""
    if len(data) >= MOST_BYTES:
        raise CorruptData(f"it has {MOST_BYTES} bytes or more, and is not read")
    lines = _lines(data)
    if not lines:
        return
    if _int32(lines[0]) != 0:
        raise CorruptData(f"version {lines[0][:40]!r} is not 0, the only one known")
    if len(lines) == 1:
        return
    if _int32(lines[1]) != len(lines) - 2:
        raise CorruptData(f"it announces {lines[1]!r} entries and holds {len(lines) - 2}")
    for number, line in enumerate(lines[2:], start=3):
        entry = line.split(None, fields)
        if len(entry) != fields:
            raise CorruptData(f"line {number} does not have the {fields} words that belong there")
        yield entry


def _lines(data: bytes) -> list[str]:
    """The lines as Java reads them: only a line feed or a carriage return ends one."""
    if nuls := data.count(0):
        what = "nothing but" if nuls == len(data) else f"among its {len(data)} bytes"
        why = ": it was allocated, and not written before the power went" if data.endswith(b"\0") else ""
        raise CorruptData(f"it has {what} {nuls} NUL byte{'s' if nuls > 1 else ''}{why}")
    try:
        return [line.decode("utf-8") for line in data.splitlines()]
    except UnicodeDecodeError as error:
        raise CorruptData("it is not text") from error


def _int32(word: str) -> int:
    return _number(word, 32)


def _int64(word: str) -> int:
    return _number(word, 64)


def _number(word: str, bits: int) -> int:
    """The number, within the limits of what Java reads it into."""
    word = word.strip()
    if not (word.isascii() and word.removeprefix("-").isdigit() and len(word) <= _LONGEST):
        raise CorruptData(f"{word[:40]!r} is no number")
    number = int(word)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise CorruptData(f"{word} does not fit into {bits} bits")
    return number
