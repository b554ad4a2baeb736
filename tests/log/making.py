"""Partitions made by hand: segments of format v2 with indexes as a broker would have left them.

For what a broker cannot be made to write: every byte of every batch flipped, indexes that lie, files that are none.
The indexer is slow and obvious, and follows LogSegment.append: an entry for each batch but the first of a segment.
"""

import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafkafs.format.index import PAGE
from kafkafs.format.names import segment_file
from kafkafs.format.producer_snapshot import ProducerState, producer_snapshot_bytes
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record

HEADER = struct.Struct(">qiibIhiqqqhii")  # kafka-format.md, section 3.2
NAME = "t-0"
NO_REGULAR_FILE = (os.mkfifo, lambda path: path.symlink_to("/proc/version"), lambda path: path.mkdir())
"""Ways to put something else where a file is looked for; the link is to what no test can write over."""


@dataclass(frozen=True)
class Made:
    """A batch as it was made: its bytes and its records."""

    data: bytes
    records: tuple[Record, ...]

    @property
    def base(self) -> int:
        return int(HEADER.unpack_from(self.data)[0])

    @property
    def last(self) -> int:
        return self.base + int(HEADER.unpack_from(self.data)[6])

    @property
    def max_timestamp(self) -> int:
        return int(HEADER.unpack_from(self.data)[8])


def made(base: int, timestamps: Sequence[int], size: int = 20, **how: object) -> Made:
    """A batch with a record for each timestamp; values tell their offset."""
    records = tuple(
        Record(base + number, timestamp, 0, b"k%d" % (base + number), b"v%d" % (base + number) + b"." * size)
        for number, timestamp in enumerate(timestamps)
    )
    return Made(v2_batch(records, **how), records)  # type: ignore[arg-type]


def indexes(batches: Iterable[Made], base: int) -> tuple[bytes, bytes]:
    """The offset index and the time index of a closed segment."""
    offsets, times, position, newest, newest_at = b"", b"", 0, -1, base
    for number, batch in enumerate(batches):
        grows = batch.max_timestamp > newest
        if grows:
            newest, newest_at = batch.max_timestamp, batch.last
        if number:
            offsets += struct.pack(">ii", batch.last - base, position)
        if number and newest >= 0 and (not times or struct.unpack(">q", times[-12:-4])[0] < newest):
            times += struct.pack(">qi", newest, newest_at - base)
        position += len(batch.data)
    if newest >= 0 and (not times or struct.unpack(">q", times[-12:-4])[0] < newest):
        times += struct.pack(">qi", newest, newest_at - base)
    return offsets, times


def write_partition(data: Path, segments: Mapping[int, Sequence[Made]], name: str = NAME, indexed: bool = True) -> Path:
    """A partition directory under a data directory, of segments by base offset."""
    directory = data / name
    directory.mkdir(parents=True, exist_ok=True)
    (data / "meta.properties").write_text("version=1\n")
    for base, batches in segments.items():
        (directory / segment_file(base, "log")).write_bytes(b"".join(batch.data for batch in batches))
        if indexed:
            offsets, times = indexes(batches, base)
            (directory / segment_file(base, "index")).write_bytes(offsets)
            (directory / segment_file(base, "timeindex")).write_bytes(times)
    return directory


def write_start(data: Path, offset: int, topic: str = "t", partition: int = 0) -> None:
    """The checkpoint that moves the log start."""
    (data / "log-start-offset-checkpoint").write_text(f"0\n1\n{topic} {partition} {offset}\n")


def producer_snapshot(*producers: tuple[int, int]) -> bytes:
    """The file of these producers: (id, first offset of its open transaction or -1) each."""
    return producer_snapshot_bytes(ProducerState(each, 0, 0, 5, 0, 1000, 0, first) for each, first in producers)


def partition_of(data: Path, name: str = NAME) -> Partition:
    """The partition, opened anew."""
    return open_data_directory(data).partition(name)


def log_of(data: Path, name: str = NAME) -> Log:
    """Its log, opened anew."""
    return partition_of(data, name).log()


def spread(batches: Sequence[Made], per_segment: int) -> dict[int, list[Made]]:
    """Batches dealt out to segments, each named after its first offset."""
    return {batches[at].base: list(batches[at : at + per_segment]) for at in range(0, len(batches), per_segment)}


def rewrite_behind_its_first_page(index: Path, entry_size: int) -> None:
    """In place, under a reader that remembers what the second page began with, and no page: from the first page's last
    entry on, the last entry is all there is."""
    entries = index.read_bytes()
    assert len(entries) > PAGE + entry_size
    kept = (PAGE - 1) // entry_size
    index.write_bytes(entries[: kept * entry_size] + entries[-entry_size:] * (len(entries) // entry_size - kept))
