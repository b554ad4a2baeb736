"""Snapshots of the metadata log: which there are, and the records of one.

A snapshot `<offset>-<epoch>.checkpoint` is the state of all records below its offset; it is whole where a footer stands
last in it. Sources: Snapshots, RecordsSnapshotReader.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from kafkafs.cluster.row_lines import known
from kafkafs.format.batch import Batches, is_control
from kafkafs.format.control import ControlType, control_type
from kafkafs.format.messages.topic_records import parse_fields
from kafkafs.format.names import METADATA_LOG
from kafkafs.format.records import Records, Refusal, decode
from kafkafs.log.partition import Partition
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.segment import Damage, batches_of

_NAME = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint", re.ASCII)


class Snapshot(NamedTuple):
    """A snapshot's offset, its epoch, its file name and the replica that has it."""

    offset: int
    epoch: int
    name: str
    partition: Partition

    @property
    def place(self) -> str:
        """The file, as sentences name it."""
        return f"{METADATA_LOG}/{self.name}"


def snapshots_of(partitions: Iterable[Partition]) -> list[list[Snapshot]]:
    """All snapshots, the newest first. The copies of one snapshot, one for each replica with it, are grouped."""
    found = []
    for partition in partitions:
        for name in partition.listing().names:
            parts = _NAME.fullmatch(name)
            if parts is not None:
                found.append(Snapshot(int(parts[1]), int(parts[2]), name, partition))
    found.sort(key=lambda each: each[:2], reverse=True)
    return [[*same] for _, same in groupby(found, lambda each: each[:2])]


class SnapshotReading:
    """One reading of a snapshot. Behind all its pieces `is_whole` is true if the snapshot has batches from the first
    byte to the last, and a footer at the end; `has_records` if it has any batch of records. `time_ms` is that of the
    last record below it."""

    def __init__(self, snapshot: Snapshot, options: ReadOptions) -> None:
        self.snapshot = snapshot
        self.is_whole = self.has_records = False
        self.time_ms: int | None = None
        self._options = options

    def pieces(self) -> Iterator[tuple[Records | Refusal, Batches]]:
        """All that can be read, with the batches that it is of."""
        name = f"{self.snapshot.partition.name.directory}/{self.snapshot.name}"
        file = self.snapshot.partition.root.open_now(name)
        end, is_damaged, is_footer = 0, False, False
        for item in batches_of(file):
            if isinstance(item, Damage):
                is_damaged = True
                continue
            end, control, is_footer = item.end, is_control(item.rows), False
            self.has_records |= not control.all()
            for piece in decode(item.data, item.position, item.rows, self._options.max_batch, self._options.memory):
                is_footer = False
                if isinstance(piece, Records):
                    if self.time_ms is None:
                        self.time_ms = _last_contained(piece)
                    is_last = control[-1] and piece.rows["batch"][-1] == len(item.rows) - 1
                    kind = control_type(piece.key(len(piece) - 1) or b"") if is_last else None
                    is_footer = kind is ControlType.SNAPSHOT_FOOTER
                yield piece, item.rows
                del piece  # and with it a large batch's memory, before the next is unpacked
        self.is_whole = is_footer and not is_damaged and end == file.size


def _last_contained(beginning: Records) -> int | None:
    """The time of the last record below a snapshot, from its header; the file's time if the header is lost."""
    header = None
    if control_type(beginning.key(0) or b"") is ControlType.SNAPSHOT_HEADER:
        header = parse_fields("clients", "SnapshotHeaderRecord", 0, bytes(beginning.value(0) or b""))
    return known(header["lastContainedLogTimestamp"] if header else int(beginning.rows["timestamp"][0]))
