"""A log that is truncated and grows again while a job reads it: each answer is of one moment, before or after."""

import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from kafkafs.disk.data_file import DataFile
from kafkafs.errors import Vanished
from kafkafs.format.names import segment_file
from kafkafs.log.batch_runs import FIRST_READ
from kafkafs.spark.audit.segment_check import check_segment
from kafkafs.spark.profile.measure import measure
from kafkafs.spark.reindex_job import make
from kafkafs.spark.segment_units import segments_of
from kafkafs.tables.locations import Location
from kafkafs.tables.offsets import TopicPartition
from kafkafs.tables.planning import PartitionRange
from kafkafs.tables.ranges import data_loss, records_of
from tests.log.making import Made, indexes, log_of, made, write_partition
from tests.log.reading import rows

OLD = [made(at, [at + each for each in range(10)], size=400) for at in range(0, 20_000, 10)]
NEW = [
    Made(batch.data[:12] + struct.pack(">i", 7) + batch.data[16:], batch.records)
    for batch in (made(at, [at + each for each in range(15)], size=700) for at in range(300, 15_300, 15))
]
AFTER = [*(batch for batch in OLD if batch.base < 300), *NEW]
"""A log of 9 MB, and what it is after a cut at offset 300: batches of another size, of another leader epoch."""


class Cut:
    """Cuts the log at offset 300, and lets it grow again, at one of the long reads of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, partition: Path, at_read: int) -> None:
        self.partition, self._left = partition, at_read
        read_long = DataFile.read_long

        def reading(file: DataFile, position: int, size: int) -> memoryview:
            if file.name.endswith(".log") and size > FIRST_READ:
                self._left -= 1
                if self._left == 0:
                    self.now()
            return read_long(file, position, size)

        monkeypatch.setattr(DataFile, "read_long", reading)

    def now(self) -> None:
        kept = sum(len(batch.data) for batch in OLD if batch.base < 300)
        offsets, times = indexes(AFTER, 0)
        with (self.partition / segment_file(0, "log")).open("r+b") as log:
            log.truncate(kept)
            log.seek(kept)
            log.write(b"".join(batch.data for batch in NEW))
        (self.partition / segment_file(0, "index")).write_bytes(offsets)
        (self.partition / segment_file(0, "timeindex")).write_bytes(times)

    @property
    def happened(self) -> bool:
        return self._left <= 0


@pytest.fixture(params=[2, 3, 4])
def cut(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], Cut]:
    """Lets the log be cut at the second, third or fourth long read from now on."""
    partition = write_partition(tmp_path / "data", {0: OLD})
    return lambda: Cut(monkeypatch, partition, request.param)


def test_reindex_begins_a_segment_again(cut, tmp_path):
    (segment,) = segments_of([tmp_path / "data"])
    happening = cut()
    found = make(segment, tmp_path / "ours", {})
    assert happening.happened
    make(segment, tmp_path / "after", {})
    for kind in ("index", "timeindex"):
        name = f"t-0/{segment_file(0, kind)}"
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "after" / name).read_bytes()
    assert found.invalid == 0


def test_audit_finds_nothing_in_a_healthy_log(cut, tmp_path):
    (segment,) = segments_of([tmp_path / "data"])
    happening = cut()
    report = check_segment(segment, frozenset())
    assert happening.happened
    assert report.findings == []
    assert report.batches == len(AFTER)


def test_profile_counts_one_generation(cut, tmp_path):
    (segment,) = segments_of([tmp_path / "data"])
    happening = cut()
    numbers = segment.ask(measure)
    assert happening.happened
    assert numbers is not None
    assert numbers.records == sum(len(batch.records) for batch in AFTER)


def test_a_task_is_one_moment_or_fails(cut, tmp_path):
    whole = PartitionRange(Location(tmp_path / "data", TopicPartition("t", 0)), 0, log_of(tmp_path / "data").end_offset)
    happening = cut()
    read = partial(records_of, whole, "read_uncommitted", data_loss(fail=False))
    try:
        found = rows(read())
    except Vanished:
        found = rows(read())  # as Spark tries it again
    assert happening.happened
    assert [(row.offset, row.value) for row in found] == reported(AFTER)


def reported(batches: list[Made]) -> list[tuple[int, bytes | None]]:
    return [(record.offset, record.value) for batch in batches for record in batch.records]
