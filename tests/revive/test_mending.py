"""Segments that are gone, unreadable or followed by garbage, in a scan without other replicas."""

from kafkafs.format.names import segment_file
from kafkafs.log.data_directory import open_data_directory
from kafkafs.revive.job import planned
from kafkafs.revive.plan import Choices
from tests.revive import made_logs
from tests.revive.scans import scanned


def test_a_segment_that_is_gone_is_reported(segments):
    """Of a topic that was never compacted; whether it was, the plan knows."""
    log = open_data_directory(segments).partition("segments-0").log()
    (segments / "segments-0" / log.segments[1].log_name).unlink()
    reported = planned([segments], Choices(to=segments.with_name("new")))["revived"]
    (losses,) = (each["losses"] for each in reported if each["topic"] == "segments")
    first, behind = log.segments[1].base_offset, log.segments[2].base_offset
    assert losses == [{"first": first, "last": behind - 1, "reason": "no segment has them"}]


def test_a_segment_that_cannot_be_read_is_damage(segments):
    log = open_data_directory(segments).partition("segments-0").log()
    file = segments / "segments-0" / log.segments[1].log_name
    file.write_bytes(b"\xff" * file.stat().st_size)
    scan, kept = scanned(segments, "segments-0", "skip")
    assert len(kept) == len(log.segments) - 1
    assert scan.tally.losses[0].first == log.segments[1].base_offset


def test_garbage_between_batches_that_follow_one_another_is_no_loss(tmp_path):
    """Nothing is missing, so nothing is cut away, and nobody is asked to say so."""
    made_logs.write(tmp_path, "t-0", "- - | - -")
    log = tmp_path / "t-0" / segment_file(0, "log")
    whole = log.read_bytes()
    for garbage in (b"garbage " * 30, bytes(5000)):
        log.write_bytes(whole + garbage)
        for way in ("refuse", "cut", "skip"):
            scan, kept = scanned(tmp_path, "t-0", way)
            assert (scan.tally.losses, scan.tally.records, kept[0][1]) == ([], 8, whole)
