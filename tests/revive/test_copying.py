"""Ways of a log's bytes into a new file. Reflinks: on a file system that has them, `scripts/soak revive`."""

import os
import resource

import pytest

from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.errors import DiskError, UsageError, Vanished
from kafkafs.revive.copying import can_reflink, link_log, make_log
from kafkafs.revive.place import NewDirectory

CONTENT = bytes(range(256)) * 1000


@pytest.fixture
def place(tmp_path):
    return NewDirectory(tmp_path / "new", {})


@pytest.fixture
def source(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old/x.log").write_bytes(CONTENT)
    return LocalDirectory(str(tmp_path / "old"))


@pytest.mark.parametrize("method", ["copy", "reflink"])
@pytest.mark.parametrize("ranges", [((0, len(CONTENT)),), ((0, 5000),), ((0, 100), (300, 7), (200_000, 56_000)), ()])
def test_the_ranges_come_one_behind_the_other(tmp_path, place, source, method, ranges):
    """Where blocks cannot be shared they are copied."""
    file = source.open_now("x.log")
    make_log(file, ranges, place, "y.log", 1_000_000_000, method)
    assert (tmp_path / "new/y.log").read_bytes() == b"".join(CONTENT[at : at + size] for at, size in ranges)
    assert (tmp_path / "new/y.log").stat().st_mtime_ns == 1_000_000_000
    assert (tmp_path / "old/x.log").read_bytes() == CONTENT


def test_a_file_that_became_shorter_is_reported(place, source, tmp_path):
    file = source.open_now("x.log")
    os.truncate(tmp_path / "old/x.log", 100)
    with pytest.raises(Vanished, match="became shorter"):
        make_log(file, ((0, 5000),), place, "y.log", 0, "copy")


def test_a_link_is_the_same_file(tmp_path, place, source):
    link_log(source, source.open_now("x.log"), place, "y.log")
    assert (tmp_path / "new/y.log").samefile(tmp_path / "old/x.log")


def test_a_link_to_another_file_system_is_refused(place):
    directory = LocalDirectory("/proc/self")
    with pytest.raises(UsageError, match="cannot be a hard link"):
        link_log(directory, directory.open_now("status"), place, "y.log")


def test_trying_leaves_nothing_behind(tmp_path, place, source):
    can_reflink(source.open_now("x.log"), place)
    assert os.listdir(tmp_path / "new") == ["revive.json"]


def test_a_made_batch_that_has_room_in_part_is_not_taken_for_written(place, source):
    """A disk that becomes full writes what it has room for, and refuses the rest only when asked again."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, before[1]))
    try:
        with pytest.raises(DiskError, match="cannot be written"):
            make_log(source.open_now("x.log"), (b"x" * 61,), place, "made.log", 0, "copy")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
