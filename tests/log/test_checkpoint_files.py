"""The checkpoint files of a data directory: what they say now, of whom, and what counts where it is not sound."""

import logging

import pytest

from kafkafs.disk.directory import Directory
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.errors import Exhausted
from kafkafs.format.names import HIGH_WATERMARKS, LOG_STARTS, parse_partition_name
from kafkafs.log import checkpoint_files
from kafkafs.log.checkpoint_files import CheckpointFiles
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from tests.disk.descriptors import no_descriptors
from tests.log.making import NO_REGULAR_FILE, made, write_partition, write_start
from tests.mounting import wait_until

UUID = "0123456789abcdef0123456789abcdef"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def checkpoint(path, **offsets: int) -> None:
    """Written as a broker does: beside it, then renamed."""
    lines = [f"{name} 0 {offset}" for name, offset in offsets.items()]
    path.with_suffix(".tmp").write_text("\n".join(["0", str(len(lines)), *lines, ""]))
    path.with_suffix(".tmp").rename(path)


@pytest.fixture
def files(tmp_path) -> tuple[CheckpointFiles, Clock]:
    clock = Clock()
    options = ReadOptions(names_fresh_s=1.0, clock=clock)
    return CheckpointFiles(LocalDirectory(str(tmp_path)), options, logging.getLogger(__name__).warning), clock


def test_a_look_is_good_for_a_moment_and_a_file_that_stays_is_read_once(files, tmp_path, calls):
    """Every lookup asks for the log start: neither a request nor a disk may be paid for each."""
    (known, clock), reads = files, calls(Directory, "read_whole")
    checkpoint(tmp_path / LOG_STARTS, t=4)
    checkpoint(tmp_path / HIGH_WATERMARKS, t=9)
    first = known.read()
    assert first.of(parse_partition_name("t-0")) == (4, 9)
    checkpoint(tmp_path / LOG_STARTS, t=5)
    assert known.read() is first
    clock.now += 1.0
    assert known.read().of(parse_partition_name("t-0")) == (5, 9)
    assert known.read(now=True) is known.read()
    assert [name for _, name in reads] == [LOG_STARTS, HIGH_WATERMARKS] * 2


def test_who_cannot_wait_for_the_clock_looks_again(files, tmp_path):
    """After a truncation the start from before must not count a moment longer."""
    known, _ = files
    checkpoint(tmp_path / LOG_STARTS, t=4)
    assert known.read().start_offsets == {("t", 0): 4}
    (tmp_path / LOG_STARTS).unlink()
    assert known.read(now=True).start_offsets == {}
    assert known.read(now=True).problems == ()


def test_what_is_broken_is_ignored_and_is_reported_once(files, tmp_path, caplog):
    """The other file counts; the broken one is read again each time, as a disk may give what it refused."""
    known, clock = files
    (tmp_path / LOG_STARTS).write_text("0\n2\nt 0 5\n")
    checkpoint(tmp_path / HIGH_WATERMARKS, t=9)
    for _ in range(3):
        clock.now += 1.0
        found = known.read()
        assert found.of(parse_partition_name("t-0")) == (None, 9)
        assert [problem.partition(":")[0] for problem in found.problems] == [f"{LOG_STARTS} is ignored"]
    assert len(caplog.messages) == 1
    checkpoint(tmp_path / LOG_STARTS, t=5)
    clock.now += 1.0
    assert (known.read().of(parse_partition_name("t-0")), known.read().problems) == ((5, 9), ())


def test_checkpoints_are_read_again_when_they_are_replaced(tmp_path):
    """The log start moves while we are mounted; what it leaves behind must go."""
    write_partition(tmp_path, {0: [made(0, [1] * 9)]})
    partition = open_data_directory(tmp_path).partition("t-0")
    assert (partition.log().start_offset, partition.log().high_watermark) == (0, None)
    write_start(tmp_path, 4)
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\nt 0 8\n")
    wait_until(lambda: (partition.log().start_offset, partition.log().high_watermark) == (4, 8))
    (tmp_path / "log-start-offset-checkpoint").write_text("broken")
    wait_until(lambda: partition.log().start_offset == 0)


def test_a_log_that_was_cut_has_no_start_from_before(tmp_path):
    """A broker that truncates to below the log start moves the start back with it."""
    write_partition(tmp_path, {0: [made(0, [1] * 9)]})
    write_start(tmp_path, 4)
    partition = open_data_directory(tmp_path, ReadOptions(names_fresh_s=60.0)).partition("t-0")
    assert (partition.log().start_offset, partition.log().end_offset) == (4, 9)
    (tmp_path / "log-start-offset-checkpoint").unlink()
    write_partition(tmp_path, {0: [made(0, [2] * 3), made(3, [2] * 5)]})
    partition.look_again()
    assert (partition.log().start_offset, partition.log().end_offset) == (0, 8)


@pytest.mark.parametrize("make", NO_REGULAR_FILE)
@pytest.mark.parametrize("name", [LOG_STARTS, HIGH_WATERMARKS])
def test_a_checkpoint_that_is_no_regular_file_is_reported(tmp_path, caplog, name, make):
    """It is ignored, and an operator may wonder why deleted records are there again."""
    write_partition(tmp_path, {0: [made(0, [1] * 9)]})
    make(tmp_path / name)
    directory = open_data_directory(tmp_path)
    for _ in range(3):
        (problem,) = directory.checkpoints.read(now=True).problems
        assert problem.startswith(f"{name} is ignored: '{name}' is ")
    assert caplog.messages == [f"{tmp_path}: {problem}"]


def test_a_checkpoint_without_a_descriptor_to_read_it_is_not_absent(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1] * 9)]})
    write_start(tmp_path, 4)
    directory = open_data_directory(tmp_path, ReadOptions())  # no directory beside it has descriptors to give
    partition = directory.partition("t-0")
    with no_descriptors(), pytest.raises(Exhausted):
        directory.checkpoints.read()
    assert partition.log().start_offset == 4


@pytest.mark.parametrize(("mark", "start"), [("", 4), ("-future", 4), ("-delete", 0), ("-stray", 0)])
def test_whose_checkpoint_it_is(tmp_path, mark, start):
    name = f"t-0.{UUID}{mark}" if mark else "t-0"
    write_partition(tmp_path, {0: [made(0, [1] * 9)]}, name)
    write_start(tmp_path, 4)
    assert open_data_directory(tmp_path).partition(name).log().start_offset == start


def test_a_checkpoint_of_another_partition_changes_nothing(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1] * 9)]})
    write_start(tmp_path, 4, "t", 1)
    assert open_data_directory(tmp_path).partition("t-0").log().start_offset == 0


def test_the_cleaners_offsets_are_parsed_once_for_all_partitions(tmp_path, calls):
    """Regression: an audit parsed the file, with a line for each partition, once for each partition."""
    parsed = calls(checkpoint_files, "parse_offset_checkpoint")
    write_partition(tmp_path, {0: [made(0, [1])]})
    files = open_data_directory(tmp_path).checkpoints
    assert files.cleaner_offsets() is None
    place = tmp_path / "cleaner-offset-checkpoint"
    checkpoint(place, t=3)
    assert [files.cleaner_offsets() for _ in range(5)] == [{("t", 0): 3}] * 5
    assert len(parsed) == 1
    checkpoint(place, t=4, u=1)
    assert files.cleaner_offsets() == {("t", 0): 4, ("u", 0): 1}
    place.write_text("rubbish")
    assert files.cleaner_offsets() is None
