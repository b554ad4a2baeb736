"""Questions about many files of one directory: answered as for each by itself, and nothing stays open."""

import os

import pytest

from kafkafs.disk.blocking import non_blocking
from kafkafs.disk.directory import Directory
from kafkafs.errors import Denied, DiskError, NotFound, WouldBlock
from tests.disk.descriptors import descriptors


@pytest.fixture
def root(tmp_path) -> Directory:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0/a").write_bytes(b"content")
    (tmp_path / "secret").write_bytes(b"other")
    return Directory(str(tmp_path))


def test_a_file_is_asked_and_read(root, tmp_path):
    about, before = (tmp_path / "t-0/a").stat(), descriptors()
    with root.inside("t-0") as inside:
        assert inside.stat("a").st_ino == about.st_ino
        assert inside.attributes("a") == (os.stat(tmp_path / "t-0/a"), None)
        file = inside.open("a")
        assert (file.inode, file.read(2, 100)) == (about.st_ino, b"ntent")
        del file
    assert (descriptors(), root.kept) == (before, 0)


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, lambda path: os.symlink("../secret", path)])
def test_nothing_but_a_file_is_opened(root, tmp_path, put):
    """Through a link somebody could have another file of the broker's machine served."""
    put(tmp_path / "t-0/b")
    with root.inside("t-0") as inside, pytest.raises((NotFound, Denied, DiskError)):
        inside.open("b")


def test_what_is_gone_is_not_found(root):
    with pytest.raises(NotFound), root.inside("t-1"):
        pass
    with root.inside("t-0") as inside:
        for question in (inside.stat, inside.attributes, inside.open):
            with pytest.raises(NotFound):
                question("gone")


def test_it_takes_a_worker(root):
    with non_blocking(), pytest.raises(WouldBlock), root.inside("t-0"):
        pass
