"""The directories of one tree share its descriptors: many disks must not take more than there are."""

import errno
import os
from pathlib import Path

import pytest

from kafkafs.disk.budget import DescriptorBudget
from kafkafs.disk.data_file import DiskOptions, LocalFile
from kafkafs.disk.directory import Directory
from kafkafs.disk.local_directory import LocalDirectory
from tests.disk.descriptors import few_descriptors, open_below

DISKS, FILES = 6, 300


LIMIT = 100
"""As if so many descriptors were left, however many other tests have left open in this process."""


@pytest.fixture
def disks(tmp_path: Path) -> list[Directory]:
    """Those of one tree, each with many files."""
    options = DiskOptions(descriptors=DescriptorBudget(lambda: LIMIT), clock=lambda: 0.0)  # nothing becomes idle
    for disk in range(DISKS):
        (tmp_path / str(disk)).mkdir()
        for number in range(FILES):
            (tmp_path / str(disk) / str(number)).write_bytes(b"%d" % number)
    return [LocalDirectory(str(tmp_path / str(disk)), options) for disk in range(DISKS)]


def opened(directory: Directory, number: int) -> LocalFile:
    """A file, as a lookup opens it."""
    file = directory.open(str(number), directory.stat(str(number)).st_ino)
    assert isinstance(file, LocalFile)
    return file


def open_many(directories: list[Directory], count: int = FILES) -> None:
    for number in range(count):
        for directory in directories:
            opened(directory, number)


def test_all_disks_together_keep_a_quarter_of_the_limit(disks, tmp_path):
    """Regression: each kept a quarter, so that five of them kept more than there are."""
    before = open_below(tmp_path)
    open_many(disks)
    kept = len(open_below(tmp_path)) - len(before)
    assert kept == LIMIT // 4


def test_handles_on_all_disks_together_hold_half_of_the_limit(disks):
    """What they hold cannot be let go of: the rest is for answers."""
    held: list[LocalFile] = []
    while disks[len(held) % DISKS].may_hold_more():
        held.append(opened(disks[len(held) % DISKS], len(held) // DISKS))
    assert len(held) == LIMIT // 2
    assert not any(disk.may_hold_more() for disk in disks)
    held.clear()
    for disk in disks:
        disk.forget_cached()
    assert all(disk.may_hold_more() for disk in disks)


@pytest.mark.parametrize("left", [0, 1])
def test_when_descriptors_run_out_all_disks_let_go(disks, left):
    """Regression: only the one that had to open a file did, which had none to let go of; and a list takes two."""
    first, *_, last = disks
    open_many([first])
    with few_descriptors(1):
        taken: list[int] = []
        with pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
            taken.extend(os.dup(0) for _ in range(10_000))
        for _ in range(left):
            os.close(taken.pop())
        try:
            with last.scan() as entries:
                assert "7" in {entry.name for entry in entries}
            assert last.open_now("7").read(0, 10) == b"7"
        finally:
            for descriptor in taken:
                os.close(descriptor)


def test_the_disk_that_keeps_most_lets_go_first(disks):
    """A scan of one disk must not close the few files that lookups on another go to."""
    quiet, busy, *_ = disks
    looked_up = [opened(quiet, number).descriptor for number in range(5)]
    open_many([busy])
    assert [opened(quiet, number).descriptor for number in range(5)] == looked_up


def test_one_disk_alone_may_keep_all_of_it(disks, tmp_path):
    before = open_below(tmp_path)
    open_many(disks[:1])
    assert len(open_below(tmp_path)) - len(before) == LIMIT // 4


def test_what_a_closed_directory_had_is_free_again(disks, tmp_path):
    """A process of Spark's opens another directory where one was replaced."""
    open_many(disks)
    last = disks.pop()
    disks.clear()
    last.forget_cached()
    before = open_below(tmp_path)
    open_many([last])
    assert len(open_below(tmp_path)) - len(before) == LIMIT // 4
