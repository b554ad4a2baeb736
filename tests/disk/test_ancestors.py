"""The directories above a data directory: each as it is now, however it may be opened."""

import subprocess

import pytest

from kafkafs.disk.access import access_of
from kafkafs.disk.ancestors import Ancestors
from kafkafs.disk.blocking import non_blocking
from kafkafs.errors import DiskError, WouldBlock
from tests.disk.descriptors import open_below
from tests.nobody import as_nobody, takes_root


@pytest.fixture
def data(open_path):
    place = open_path / "disk" / "kafka" / "data"
    place.mkdir(parents=True)
    return place


def test_all_up_to_the_root_and_none_below(data):
    (data.parent / "link").symlink_to(data)
    found = [about.st_ino for about, _ in Ancestors(data.parent / "link").attributes()]
    assert found == [parent.stat().st_ino for parent in data.parents]


def test_modes_and_lists_are_those_of_now(data):
    ancestors = Ancestors(data)
    about, before = next(ancestors.attributes())
    assert before == access_of(about, None)
    data.parent.chmod(0o711)
    subprocess.run(["setfacl", "-m", "u:1:-", data.parent], check=True)
    data.parent.rename(data.parent.with_name("moved"))
    about, access = next(ancestors.attributes())
    assert about.st_mode & 0o777 == 0o711
    assert access == (before.uid, before.gid, 0o700)


@takes_root
def test_one_that_may_be_searched_and_not_listed_is_asked_all_the_same(data):
    """Its list is then asked for by its path: Linux gives none of what is open as a place only."""
    subprocess.run(["setfacl", "-m", "u:1:-", data.parent], check=True)
    data.parent.chmod(0o711)
    with as_nobody():
        about, access = next(Ancestors(data).attributes())
    assert about.st_ino == data.parent.stat().st_ino
    assert access.mode == 0o700


def test_it_is_asked_where_one_may_wait_and_a_disk_that_fails_is_reported(data, monkeypatch):
    ancestors = Ancestors(data)
    with non_blocking(), pytest.raises(WouldBlock):
        next(ancestors.attributes())

    def fails(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("os.fstat", fails)
    with pytest.raises(DiskError, match="kafka' cannot be looked at: Input/output error"):
        next(ancestors.attributes())


def test_they_are_held_and_let_go(data):
    ancestors = Ancestors(data)
    assert str(data.parent) in open_below(data.parents[1])
    del ancestors
    assert open_below(data.parents[1]) == []
