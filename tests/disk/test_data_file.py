"""An open file of the broker's: what `DataFile` promises of any file, against what was written."""

import os

import pytest

from kafkafs.disk.blocking import non_blocking
from kafkafs.disk.data_file import DiskOptions
from kafkafs.disk.directory import Directory
from kafkafs.disk.hints import Hints
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.disk.page_cache import PageCache
from kafkafs.errors import WouldBlock

DATA = bytes(range(256)) * 20


@pytest.fixture
def directory(tmp_path) -> Directory:
    (tmp_path / "file").write_bytes(DATA)
    return LocalDirectory(str(tmp_path))


def test_each_way_of_reading_gives_the_bytes_that_are_there(directory):
    file = directory.open_now("file")
    for at, size in ((0, 10), (5, 4096), (5000, 1000), (6000, 5)):
        buffer = memoryview(bytearray(size))
        expected = DATA[at : at + size]
        assert file.read(at, size) == bytes(file.read_long(at, size)) == bytes(file.stream(at, size)) == expected
        assert bytes(buffer[: file.read_into(buffer, at)]) == expected


def test_its_attributes_are_its_own_whatever_it_is_called_by_now(directory, tmp_path):
    file = directory.open_now("file")
    os.rename(tmp_path / "file", tmp_path / "other")
    assert (file.size, file.stat().st_ino) == (len(DATA), file.inode)


@pytest.mark.parametrize(
    ("takes", "keep", "reported"),
    [
        (True, False, [os.POSIX_FADV_RANDOM, os.POSIX_FADV_NORMAL, os.POSIX_FADV_RANDOM]),
        (False, False, [os.POSIX_FADV_RANDOM] * 3),
        (True, True, []),
    ],
    ids=["drops what it brought in", "drops what we name", "keeps pages"],
)
def test_the_kernel_reads_ahead_only_for_who_goes_straight_on(tmp_path, calls, takes, keep, reported):
    """Told once each time that it changes. Where pages have to be dropped it never may; who keeps them has no rule."""
    (tmp_path / "file").write_bytes(DATA)
    hints = Hints(PageCache({os.stat(tmp_path).st_dev: takes}))
    heard = calls(os, "posix_fadvise")
    file = LocalDirectory(str(tmp_path), DiskOptions(cache_keep=keep, hints=hints)).open_now("file")
    for straight in (False, True, True, False):
        assert file.read_into(memoryview(bytearray(10)), 0, straight=straight) == 10
    assert [advice for *_, advice in heard] == reported


def test_a_hole_is_passed_over(directory, tmp_path):
    with open(tmp_path / "sparse", "wb") as made:
        made.seek(1 << 20)
        made.write(b"x")
    sparse = directory.open_now("sparse")
    assert 0 < sparse.next_data(0) <= 1 << 20
    assert directory.open_now("file").next_data(7) == 7


def test_opening_waits_and_who_must_not_wait_is_reported(directory):
    with non_blocking(), pytest.raises(WouldBlock):
        directory.open_now("file")
