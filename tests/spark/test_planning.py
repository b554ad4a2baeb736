"""What planning leaves out: nothing that the reader would have handed out, and nothing that it would have failed on."""

import gzip
from pathlib import Path

import pytest

from kafkafs.errors import CorruptData, TooLarge
from kafkafs.log.options import ReadOptions
from kafkafs.spark.filters import Wanted
from kafkafs.spark.locations import Location
from kafkafs.spark.offsets import TopicPartition
from kafkafs.spark.planning import PartitionRange, pruned
from kafkafs.spark.snapshots import Snapshot
from kafkafs.spark.tasks import data_loss, records_of
from tests.format.batch_maker import v2_around
from tests.log.making import Made, log_of, made, write_partition
from tests.log.reading import Row, rows

NAME = TopicPartition("t", 0)


def damaged(batch: Made) -> Made:
    """The same with a bit of its last record flipped: indexed as it was."""
    return Made(batch.data[:-1] + bytes([batch.data[-1] ^ 1]), batch.records)


def unpackable(base: int, timestamp: int) -> Made:
    """A batch whose CRC is right and whose gzip data are none."""
    return Made(v2_around(b"no gzip", 1, base, base, timestamp, timestamp, 1), ())


def since(path: Path, time: int) -> list[tuple[int, int]]:
    """The offsets that are left of the whole log."""
    location = Location(path, NAME)
    whole = PartitionRange(location, 0, log_of(path).end_offset)
    snapshots = {NAME: Snapshot(location, "read_uncommitted")}
    return [(each.start, each.end) for each in pruned([whole], snapshots, Wanted(since=time))]


def read(path: Path, start: int, end: int) -> list[Row]:
    """The records that a task hands out."""
    return rows(records_of(PartitionRange(Location(path, NAME), start, end), "read_uncommitted", data_loss(fail=True)))


def test_a_time_filter_begins_at_the_first_record_late_enough(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1, 2, 3])], 3: [made(3, [4])], 4: [made(4, [2])], 5: [made(5, [9])]})
    assert [since(tmp_path, time) for time in (1, 3, 4, 5, 10)] == [[(0, 6)], [(2, 4), (5, 6)], [(3, 4), (5, 6)],
                                                                   [(5, 6)], []]  # fmt: skip


@pytest.mark.parametrize("bad", [damaged(made(1, [5])), unpackable(1, 5)], ids=["crc", "gzip"])
@pytest.mark.parametrize("behind", [(6,), (4, 6), (4,)])
def test_a_time_filter_hides_no_corrupt_batch(tmp_path, bad, behind):
    """A query with a filter began behind the batch that the same query without one fails on."""
    later = [made(2 + number, [timestamp]) for number, timestamp in enumerate(behind)]
    write_partition(tmp_path, {0: [made(0, [1]), bad, *later], 10: []})
    with pytest.raises(CorruptData):
        [read(tmp_path, *each) for each in since(tmp_path, 5)]


def test_a_time_filter_excludes_a_corrupt_batch_whose_header_is_sound(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1]), unpackable(1, 5), made(2, [6])]})
    assert since(tmp_path, 6) == [(2, 3)]


def test_a_time_filter_hides_no_batch_that_is_too_large(tmp_path, monkeypatch):
    for module in ("snapshots", "tasks"):
        monkeypatch.setattr(f"kafkafs.spark.{module}.ReadOptions", lambda **how: ReadOptions(max_batch=1 << 20, **how))
    large = made(1, [5], size=3 << 20, codec=1, compress=gzip.compress)
    write_partition(tmp_path, {0: [made(0, [1]), large, made(2, [6])]})
    assert since(tmp_path, 5) == [(1, 3)]
    assert since(tmp_path, 6) == [(2, 3)]
    with pytest.raises(TooLarge):
        read(tmp_path, 1, 3)
