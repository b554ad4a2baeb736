"""Replicas of a partition on several brokers' disks, made by hand: under which leader epochs how many were appended.

disk(tmp_path / "a", 1, {"t-0": Made([(0, 100)])})       a hundred records of epoch 0
disk(tmp_path / "b", 2, {"t-0": Made([(0, 60)], noted=[(0, 0), (5, 60)])})
                                                         sixty, and a leader of epoch 5 that wrote nothing
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kafkafs.format.batch import batch_bytes
from kafkafs.format.checkpoints import LeaderEpoch, leader_epochs_bytes, partition_metadata_bytes
from kafkafs.format.names import LEADER_EPOCHS, PARTITION_METADATA, segment_file
from kafkafs.log.data_directory import DataDirectory, open_data_directory

UUID = "0123456789abcdef0123456789abcdef"
START_MS = 1_700_000_000_000


class Made(NamedTuple):
    """A log: (leader epoch, records) one after the other, batches of ten; `noted`: (epoch, first offset) of its
    checkpoint, None for what the batches tell, () for none."""

    written: Sequence[tuple[int, int]]
    topic_id: str | None = None
    recorded: Sequence[tuple[int, int]] | None = None
    start: int = 0


def disk(path: Path, node: int, logs: Mapping[str, Made]) -> DataDirectory:
    """A data directory of a broker with these partitions' directories."""
    path.mkdir(parents=True)
    (path / "meta.properties").write_text(f"version=1\nnode.id={node}\ncluster.id=uBxTSvaETEx3i2U_wtBtcQ\n")
    for name, made in logs.items():
        _write(path / name, made)
    return open_data_directory(path)


def _write(place: Path, made: Made) -> None:
    place.mkdir()
    offset, log, begins = made.start, b"", []
    for epoch, count in made.written:
        begins.append((epoch, offset))
        end = offset + count
        while offset < end:
            size = min(10, end - offset)
            records = [(None, b"%d in %d" % (each, epoch)) for each in range(offset, offset + size)]
            log += batch_bytes(records, offset, timestamp=START_MS + offset, leader_epoch=epoch)
            offset += size
    (place / segment_file(made.start, "log")).write_bytes(log)
    for kind in ("index", "timeindex"):
        (place / segment_file(made.start, kind)).touch()
    recorded = begins if made.recorded is None else made.recorded
    if recorded:
        (place / LEADER_EPOCHS).write_bytes(leader_epochs_bytes([LeaderEpoch(*each) for each in recorded]))
    if made.topic_id is not None:
        (place / PARTITION_METADATA).write_bytes(partition_metadata_bytes(made.topic_id))
