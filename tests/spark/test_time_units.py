"""Timestamps in another unit than milliseconds, as the audit tells of them."""

from pathlib import Path

from kafkafs.spark.audit.audit_job import audit
from kafkafs.tables.local import LocalEngine
from tests.log.making import made, write_partition

SECOND = 1_700_000_000


def units(tmp_path: Path, *times: int) -> list[str]:
    """What an audit says of a partition with a batch for each time, three to a segment."""
    batches = [made(offset, [time]) for offset, time in enumerate(times)]
    segments = {first: batches[first : first + 3] for first in range(0, len(batches), 3)}
    write_partition(tmp_path, segments, "t-0")
    report = audit(LocalEngine(), [tmp_path])
    found = [each for each in report.findings if each.kind == "time-unit"]
    assert all((each.topic, each.partition, each.severity) == ("t", 0, "note") for each in found)
    return [f"{each.offset}: {each.message}" for each in found]


def test_the_probable_unit_is_named_once_a_partition(tmp_path):
    times = [SECOND * 10**6 + number for number in range(7)]
    assert units(tmp_path, *times) == [
        f"0: times look like microseconds in 7 of 7 batches, first {SECOND * 10**6}; Kafka counts milliseconds"
    ]


def test_each_unit_of_a_mixed_partition_is_named(tmp_path):
    reported = units(tmp_path, SECOND * 1000, SECOND, SECOND * 1000, SECOND * 10**9, SECOND * 10**9, SECOND + 1)
    assert [each.partition(",")[0] for each in reported] == [
        "1: times look like seconds in 2 of 6 batches", "3: times look like nanoseconds in 2 of 6 batches",
    ]  # fmt: skip


def test_milliseconds_and_no_time_at_all_are_no_finding(tmp_path):
    assert units(tmp_path, SECOND * 1000, -1, 1000, 2**63 - 1) == []
