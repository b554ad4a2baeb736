"""Scans of partitions that real brokers wrote, and damage to them."""

import numpy as np

from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.data_directory import open_data_directory
from kafkafs.revive.kept_parts import Borrowed, KeptSegment
from kafkafs.revive.scan_state import Rules
from kafkafs.revive.scanning import PartitionScan
from tests.kafka.dataset import Dataset

SOURCE = Dataset("4.3.1", "stopped")


def scanned(path, name, corrupt="refuse", until_ms=None):
    """The scan, when it is over, and what it kept: segments with the bytes of each."""
    partition = open_data_directory(path).partition(name)
    scan = PartitionScan(partition, partition.log(), Rules(corrupt, until_ms))
    kept = [(each, bytes_of(each)) for each in scan.segments()]
    return scan, kept


def bytes_of(kept: KeptSegment) -> bytes:
    log = kept.segment.log()
    return b"".join(
        log.read(*each) if isinstance(each, tuple) else each for each in kept.pieces if not isinstance(each, Borrowed)
    )


def damage(data, number=1):
    """One byte of a batch in the middle of a closed segment is another now: which offsets that batch has."""
    log = open_data_directory(data).partition("segments-0").log()
    segment = log.segments[number]
    rows = np.concatenate(
        [item.rows for at, item in log.walk(0, log.end_offset) if at is segment and isinstance(item, BatchRun)]
    )
    row = rows[len(rows) // 2]
    file = data / "segments-0" / segment.log_name
    content = bytearray(file.read_bytes())
    content[int(row["position"]) + int(row["size"]) - 3] ^= 1
    file.write_bytes(content)
    return int(row["base_offset"]), int(row["last_offset"])


def destroy_the_end(data):
    """The last bytes of the last batch are others now: the offset where that one begins."""
    log = open_data_directory(data).partition("segments-0").log()
    assert log.tail is not None
    assert log.tail.last is not None
    with open(data / "segments-0" / log.segments[-1].log_name, "r+b") as file:
        file.seek(log.tail.position - 4)
        file.write(b"\xff" * 4)
    return log.tail.last.base_offset
