"""What spans a partition's segments, and its small files, each against a log that is known."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.names import CLEANER_OFFSETS
from kafkafs.log.data_directory import open_data_directory
from kafkafs.spark.audit.audit_job import AuditReport, joined
from kafkafs.spark.audit.directory_check import check_data_directory
from kafkafs.spark.audit.findings import CheckedFile, Finding
from kafkafs.spark.audit.partition_check import (
    OffsetSpan,
    check_epochs,
    check_joints,
    check_small_files,
    is_compacted,
)
from kafkafs.spark.audit.segment_check import check_segment
from kafkafs.spark.segment_units import segments_of
from tests.log.making import made, partition_of, producer_snapshot, write_partition
from tests.nobody import as_nobody, takes_root


def span(first: int, last: int, has_gaps: bool = False) -> OffsetSpan:
    """A segment with those offsets."""
    return OffsetSpan(CheckedFile("/data", f"t-0/{first:020}.log"), first, last, has_gaps)


@given(st.lists(st.tuples(st.integers(1, 5), st.sampled_from([0, 0, 0, 1, 7])), max_size=8))
def test_each_joint_that_does_not_close_is_found(segments):
    """A segment that was deleted by hand: its records are gone without a word in any index."""
    spans: list[OffsetSpan] = []
    missing, at = [], 0
    for count, gap in segments:
        if gap and spans:
            missing.append(at)
        at += gap
        spans.append(span(at, at + count - 1))
        at += count
    found = check_joints(spans)
    assert [each.offset for each in found] == missing
    assert all((each.kind, each.severity) == ("missing-offsets", "data loss") for each in found)


def test_where_offsets_are_missing_inside_joints_tell_nothing():
    """Compaction leaves such segments, and where it was is not always noted here; nor is what was not read known."""
    assert check_joints([span(0, 4), span(9, 12, has_gaps=True), span(20, 21)]) == []
    assert check_joints([span(0, 4), None, span(20, 21)]) == []
    assert check_joints([]) == []


CHECKPOINT = "leader-epoch-checkpoint"
TOLD = [(3, 10, 19), (5, 20, 29)]
"""The batches' epochs: 3 from offset 10 on, 5 from 20 on."""


def epochs(tmp_path: Path, text: str | None, reported: list[tuple[int, int, int]]) -> list[Finding]:
    """What a checkpoint of that text gives reason to say; None: there is none."""
    directory = write_partition(tmp_path, {10: [made(10, [1] * 20)]})
    if text is not None:
        (directory / CHECKPOINT).write_text(text)
    return check_epochs(partition_of(tmp_path), str(tmp_path), reported)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "0\n2\n3 10\n5 20\n",
        "0\n2\n3 12\n5 20\n",  # the first is cut off at the log start
        "0\n3\n3 10\n5 20\n6 30\n",  # a leader that has written nothing
        "0\n3\n3 10\n4 20\n5 20\n",
        "0\n1\n5 20\n",  # older ones were cut off with their segments
    ],
)
def test_a_checkpoint_that_agrees_is_no_finding(tmp_path, text):
    assert epochs(tmp_path, text, TOLD) == []


@pytest.mark.parametrize(
    ("text", "offset", "reason"),
    [
        ("0\n2\n5 20\n3 10\n", 10, "cannot follow"),
        ("0\n2\n3 20\n5 10\n", 10, "cannot follow"),
        ("0\n0\n", 10, "is empty"),
        ("0\n2\n3 10\n5 25\n", 20, "lets leader epoch 5 begin at offset 25"),
        ("0\n2\n3 10\n6 25\n", 20, "does not name"),
        ("0\n2\n3 5\n5 10\n", 10, "still of epoch 3"),
        ("0\n2\nx\n", None, "cannot be read"),
    ],
)
def test_a_checkpoint_that_contradicts_the_log_is_found(tmp_path, text, offset, reason):
    """Followers cut their logs by it."""
    found = epochs(tmp_path, text, TOLD)
    assert found[0].offset == offset
    assert reason in found[0].message
    assert {(each.kind, each.file) for each in found} == {(CHECKPOINT, f"t-0/{CHECKPOINT}")}


def test_batches_without_an_epoch_agree_with_every_checkpoint(tmp_path):
    """Of brokers before 0.11."""
    assert epochs(tmp_path, "0\n1\n5 20\n", [(-1, 10, 29)]) == []
    assert epochs(tmp_path, "0\n0\n", [(-1, 10, 29)]) == []


def offsets(tmp_path: Path, name: str, offset: int, *, clean: bool, end: int = 10) -> list[Finding]:
    """What a checkpoint with that offset gives reason to say of a log that ends at 10, and was thought to at `end`."""
    write_partition(tmp_path, {0: [made(0, [1] * 10)]})
    (tmp_path / name).write_text(f"0\n1\nt 0 {offset}\n")
    return check_data_directory(open_data_directory(tmp_path), {("t", 0): end}, clean)


ANY = ("replication-offset-checkpoint", "log-start-offset-checkpoint", "cleaner-offset-checkpoint")
RECOVERY = "recovery-point-offset-checkpoint"


@pytest.mark.parametrize("name", [*ANY, RECOVERY])
@pytest.mark.parametrize("clean", [True, False])
def test_a_checkpoint_lies_within_its_log(tmp_path, name, clean):
    """Behind the end: records are gone that were there."""
    assert offsets(tmp_path, name, 10, clean=clean) == []
    (behind,) = offsets(tmp_path, name, 11, clean=clean)
    assert (behind.kind, behind.offset, behind.severity) == ("checkpoint-offset", 11, "data loss")
    (negative,) = offsets(tmp_path, name, -1, clean=clean)
    assert (negative.severity, "is negative" in negative.message) == ("note", True)
    below = offsets(tmp_path, name, 4, clean=clean)
    assert [each.severity for each in below] == (["note"] if clean and name == RECOVERY else [])


def test_a_checkpoint_that_was_written_since_is_held_against_the_log_of_now(tmp_path):
    """A broker goes on while its segments are read."""
    assert offsets(tmp_path, ANY[0], 9, clean=False, end=5) == []
    assert len(offsets(tmp_path, ANY[0], 9, clean=True, end=5)) == 1


def test_a_checkpoint_may_be_of_what_is_not_here_and_must_be_one(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1])]})
    (tmp_path / ANY[0]).write_text("0\n1\nelsewhere 0 99\n")
    (tmp_path / RECOVERY).write_text("0\n2\nt 0 1\n")
    (finding,) = check_data_directory(open_data_directory(tmp_path), {("t", 0): 1}, clean=True)
    assert (finding.kind, finding.file) == ("checkpoint", RECOVERY)


@takes_root
@pytest.mark.parametrize(("name", "kind"), [
    (f"t-0/{9:020}.snapshot", "snapshot"), ("t-0/leader-epoch-checkpoint", "leader-epoch-checkpoint"),
    ("t-0/partition.metadata", "partition-metadata"), (RECOVERY, "checkpoint"), (CLEANER_OFFSETS, "checkpoint"),
    ("meta.properties", "properties"),
])  # fmt: skip
def test_a_small_file_that_may_not_be_read_is_a_finding_and_not_the_end(open_path, name, kind):
    """Regression: an audit told of nothing else where one belonged to another user."""
    directory = write_partition(open_path, {9: [made(9, [1])], 10: [made(10, [1])]})
    for offset in (9, 10):
        (directory / f"{offset:020}.snapshot").write_bytes(producer_snapshot((7, 3)))
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n0 9\n")
    (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {'A' * 21}Q\n")
    for checkpoint in (RECOVERY, CLEANER_OFFSETS):
        (open_path / checkpoint).write_text("0\n0\n")
    (open_path / name).chmod(0)
    with as_nobody():
        units = segments_of([open_path])
        reports = [check_segment(unit, frozenset({open_path})) for unit in units]
        (finding,) = joined(AuditReport(), [open_path], units, reports).findings
    assert (finding.file, finding.kind) == (name, kind)


@takes_root
@pytest.mark.parametrize("name", ["t-0", "t-0/{:020}.log", "t-0/{:020}.index", "t-0/{:020}.timeindex"])
def test_what_may_not_be_read_is_one_finding_and_the_rest_is_looked_at(open_path, name):
    """Regression: a directory of another user's ended an audit, an index passed for an empty one or a sound one, and
    behind a log that ended nobody knew where checkpoints were called wrong."""
    write_partition(open_path, {0: [made(0, [1])], 1: [made(1, [2])]})
    write_partition(open_path, {0: [made(0, [1])]}, "u-0")
    (open_path / RECOVERY).write_text("0\n1\nt 0 2\n")
    refused = name.format(1)
    (open_path / refused).chmod(0)
    with as_nobody():
        units = segments_of([open_path], refused=False)
        reports = [check_segment(unit, frozenset()) for unit in units]
        report = joined(AuditReport(), [open_path], units, reports)
    assert [(each.file, each.kind) for each in report.findings] == [(refused, "unreadable")]
    assert report.partitions == 2


def test_a_partition_that_the_cleaner_knows_is_compacted(tmp_path):
    """Offsets may be missing in it, and no finding."""
    directory = write_partition(tmp_path, {0: [made(0, [1])]})
    write_partition(tmp_path, {0: [made(0, [1])]}, "u-0")
    opened = open_data_directory(tmp_path)
    partitions = [opened.partition(name) for name in ("t-0", "u-0")]
    assert [is_compacted(opened, each) for each in partitions] == [False, False]
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\nu 0 1\n")
    assert [is_compacted(opened, each) for each in partitions] == [False, True]
    (directory / f"{0:020}.log.cleaned").touch()
    assert is_compacted(open_data_directory(tmp_path), partition_of(tmp_path))


def small(tmp_path: Path, *, clean: bool = True) -> list[tuple[str, str]]:
    """(file, kind) of what is wrong with a partition's small files."""
    found = check_small_files(partition_of(tmp_path), str(tmp_path), clean)
    return [(each.file.removeprefix("t-0/"), each.kind) for each in found]


def test_each_small_file_is_read(tmp_path):
    directory = write_partition(tmp_path, {0: [made(0, [1])]})
    (directory / f"{1:020}.snapshot").write_bytes(producer_snapshot((7, 0)))
    (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {'A' * 21}Q\n")
    assert small(tmp_path) == []
    (directory / f"{1:020}.snapshot").write_bytes(producer_snapshot((7, 0))[:-1] + b"!")
    (directory / "partition.metadata").write_text("version: 0\n")
    (directory / f"{5:020}.index").touch()
    (directory / f"{9:020}.log").symlink_to("/proc/version")
    assert small(tmp_path) == [
        ("t-0", "not-regular"),
        (f"{1:020}.snapshot", "snapshot"),
        ("partition.metadata", "partition-metadata"),
        (f"{5:020}.log", "missing-log"),
    ]


def test_a_snapshot_that_a_broker_fills_is_none_of_a_stopped_one(tmp_path):
    """It stands at the log end, empty or cut; anywhere else, or where the broker has stopped, it is damaged."""
    directory = write_partition(tmp_path, {0: [made(0, [1, 2])]})
    (directory / f"{2:020}.snapshot").touch()
    assert small(tmp_path, clean=False) == []
    assert small(tmp_path) == [(f"{2:020}.snapshot", "snapshot")]
    (directory / f"{1:020}.snapshot").touch()
    assert small(tmp_path, clean=False) == [(f"{1:020}.snapshot", "snapshot")]
