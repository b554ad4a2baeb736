"""Broker files: which are opened at all, how many at a time, and what a reader gets when there are none left."""

import errno
import gc
import os
import stat
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress

import pytest

from kafkafs.disk import ancestors, data_file, local_directory
from kafkafs.disk.access import access_of
from kafkafs.disk.ancestors import Ancestors
from kafkafs.disk.blocking import non_blocking
from kafkafs.disk.budget import KEPT_FILES
from kafkafs.disk.data_file import DataFile, DiskOptions
from kafkafs.disk.directory import Directory
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.errors import Denied, DiskError, Exhausted, NotFound, Vanished, WouldBlock
from tests.disk.descriptors import few_descriptors, open_below


def write_files(tmp_path, numbers: range) -> None:
    for number in numbers:
        (tmp_path / "d" / str(number)).write_bytes(b"%d" % number * 100)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "d").mkdir()
    write_files(tmp_path, range(300))
    return LocalDirectory(str(tmp_path))


def inode(tmp_path, name: str) -> int:
    return os.stat(tmp_path / name).st_ino


def test_the_cache_keeps_few_files_and_closes_the_rest(root, tmp_path):
    write_files(tmp_path, range(300, KEPT_FILES + 100))
    before = open_below(tmp_path)
    for number in range(KEPT_FILES + 100):
        root.open(f"d/{number}", inode(tmp_path, f"d/{number}"))
    assert len(open_below(tmp_path)) - len(before) <= KEPT_FILES
    root.forget_cached()
    assert open_below(tmp_path) == before


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def unswept(tmp_path, clock) -> Directory:
    """A directory that keeps a deleted file open, as one does that no mount sweeps."""
    for name in ("deleted", "other"):
        (tmp_path / name).write_bytes(b"x")
    directory = LocalDirectory(str(tmp_path), DiskOptions(clock=clock))
    directory.open("deleted", inode(tmp_path, "deleted"))
    (tmp_path / "deleted").unlink()
    return directory


def deleted_files(place) -> list[str]:
    """Those that were there, and that this process still holds open."""
    return [link for link in open_below(place) if link.endswith("(deleted)")]


def look_into(root: Directory) -> None:
    with root.scan() as entries:
        list(entries)


QUESTIONS = {
    "open": lambda root: root.open_now("other"),
    "scan": look_into,
    "stat": lambda root: root.stat("other"),
    "attributes": lambda root: root.attributes_at_once(),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_whatever_is_asked_lets_go_of_what_was_deleted(unswept, tmp_path, clock, question):
    """Regression: only a mount swept. A Spark stream, and `cat` of what follows, kept the space of 4,096 files."""
    QUESTIONS[question](unswept)
    assert deleted_files(tmp_path) == [f"{tmp_path}/deleted (deleted)"]  # it was asked for a moment ago
    clock.now += local_directory.IDLE_S
    QUESTIONS[question](unswept)
    assert deleted_files(tmp_path) == []


def test_a_file_that_cannot_be_looked_at_is_let_go_of_and_fails_no_other_question(unswept, clock, monkeypatch):
    """A server of NFS says "Stale file handle" of what was deleted there."""
    stale, fstat = unswept.open_now("other"), os.fstat
    unswept.files.keep(stale, "other")

    def fails(descriptor: int) -> os.stat_result:
        if descriptor == stale.descriptor:
            raise OSError(errno.ESTALE, "Stale file handle")
        return fstat(descriptor)

    monkeypatch.setattr(os, "fstat", fails)
    clock.now += local_directory.IDLE_S
    stale.is_used = True
    assert stat.S_ISREG(unswept.stat("other").st_mode)
    assert unswept.files.known("other", stale.inode) is None


def test_a_thread_that_must_not_wait_does_not_sweep(unswept, tmp_path, clock):
    """To let go may wait, too: as to close a file of another host."""
    clock.now += local_directory.IDLE_S
    with non_blocking(), suppress(WouldBlock):
        unswept.stat("other")
        unswept.open("other", inode(tmp_path, "other"))
    assert deleted_files(tmp_path) == [f"{tmp_path}/deleted (deleted)"]


def test_a_failed_open_leaves_no_descriptor(root, tmp_path):
    """Errors happen all day beside a broker; a leak of one each ends the mount."""
    os.mkfifo(tmp_path / "d/fifo")
    (tmp_path / "d/link").symlink_to("0")
    (tmp_path / "link").symlink_to("d")
    before = open_below(tmp_path)
    for name in ("d/none", "d/fifo", "d/link", "link/0", "d", "../d/0", "/etc/passwd", "x" * 5000, "d/\udcff"):
        with pytest.raises(NotFound):
            root.open_now(name)
    for _ in range(3):
        with pytest.raises(Vanished):
            root.open("d/1", 1)
        with pytest.raises(NotFound), root.scan("d/none") as entries:
            list(entries)
    assert open_below(tmp_path) == before


def test_when_descriptors_run_out_the_cache_gives_its_own(root, tmp_path):
    """Somebody's thousand open files must not end everybody's lookups."""
    with few_descriptors(40):
        for number in range(300):
            name = f"d/{number}"
            assert root.open(name, inode(tmp_path, name)).read(0, 3) == (b"%d" % number * 100)[:3]
        held: list[DataFile] = []
        with pytest.raises(Exhausted):
            held.extend(root.open_now("d/5") for _ in range(100_000))
        held.clear()
        assert root.open_now("d/5").size == 100


def test_the_impatient_open_nothing(root, tmp_path):
    """Opening can hang on a disk; the thread that serves everybody leaves it to a worker."""
    number = inode(tmp_path, "d/7")
    with non_blocking():
        for ask in (lambda: root.open("d/7", number + 1), lambda: root.open_now("d/7"),
                    lambda: root.read_whole("d/7")):  # fmt: skip
            with pytest.raises(WouldBlock):
                ask()
    opened = root.open("d/7", number)
    with non_blocking():
        assert root.open("d/7", number) is opened
        assert opened.read(0, 2) == b"77"


def test_what_the_impatient_are_reported_a_name_is_what_anybody_is(root, tmp_path):
    """As far as the kernel has it in memory, and what was just looked at is there."""
    (tmp_path / "link").symlink_to("d/7")
    (tmp_path / "there").symlink_to("d")
    for name in (".", "d", "d/7", "link", "there"):
        wanted = root.stat(name)
        with non_blocking():
            reported = root.stat(name)
        assert (reported.st_ino, reported.st_mode, reported.st_mtime_ns) == (
            wanted.st_ino,
            wanted.st_mode,
            wanted.st_mtime_ns,
        )
    with pytest.raises(NotFound):
        root.stat("d/none")
    for name in ("d/none", "there/7", "../d"):
        with non_blocking(), pytest.raises((NotFound, WouldBlock)):
            root.stat(name)
    before = open_below(tmp_path)
    with non_blocking():
        root.stat("d/7")
    assert open_below(tmp_path) == before


def test_what_the_impatient_open_is_not_read_ahead_either(root, tmp_path, calls):
    """One read of a file that the kernel was not told about, and its readahead goes on for good."""
    number, device = inode(tmp_path, "d/7"), os.stat(tmp_path).st_dev
    reported = calls(os, "posix_fadvise")
    takes = root.options.hints.page_cache.takes
    for takes[device] in (False, True):
        reported.clear()
        root.forget_cached()
        with non_blocking():
            assert root.open("d/7", number).read(0, 2) == b"77"
        assert [advice for *_, advice in reported] == [os.POSIX_FADV_RANDOM]
    takes.clear()
    root.forget_cached()
    with non_blocking(), pytest.raises(WouldBlock):
        root.open("d/7", number)


def test_a_file_that_was_replaced_is_not_taken_for_the_old_one(root, tmp_path):
    number = inode(tmp_path, "d/7")
    old = root.open("d/7", number)
    (tmp_path / "d/new").write_bytes(b"other")
    (tmp_path / "d/new").rename(tmp_path / "d/7")
    root.forget_cached()
    assert old.read(0, 4) == b"7777"
    assert root.open("d/7", inode(tmp_path, "d/7")).read(0, 10) == b"other"


def test_a_read_is_short_only_at_the_end(root, tmp_path):
    opened = root.open_now("d/123")
    assert opened.read(290, 100) == (b"123" * 100)[290:]
    assert (opened.read(300, 5), opened.read(10**12, 5), opened.read(5, 0), opened.read(5, -1)) == (b"", b"", b"", b"")
    assert bytes(opened.stream(0, 1 << 20)) == b"123" * 100


def test_reading_moves_no_access_time(root, tmp_path):
    path = tmp_path / "d/9"
    os.utime(path, (1, path.stat().st_mtime))
    assert root.open_now("d/9").read(0, 100)
    assert path.stat().st_atime == 1


def test_a_file_that_somebody_lets_go_of_is_not_found_half_closed(tmp_path):
    """Its number may be another file's a moment later: whoever found it again would read that one."""
    names = [f"t-0/{number:020d}.log" for number in range(4)]
    (tmp_path / "t-0").mkdir()
    for name in names:
        (tmp_path / name).write_bytes(name.encode())
    inodes = {name: os.stat(tmp_path / name).st_ino for name in names}
    directory = LocalDirectory(str(tmp_path))

    def read(number: int) -> set[bytes]:
        name, ends = names[number % len(names)], time.monotonic() + 1
        found = set()
        while time.monotonic() < ends:
            directory.forget_cached()
            found.add(directory.open(name, inodes[name]).read(0, 100))
        return found - {name.encode()}

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read, range(8))) == [set()] * 8


@pytest.mark.parametrize("is_blocking", [True, False])
def test_an_open_directory_that_cannot_be_looked_at_is_the_disks_failure(root, monkeypatch, is_blocking):
    def fails(descriptor):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fstat", fails)
    with nullcontext() if is_blocking else non_blocking(), pytest.raises(DiskError):
        root.attributes_at_once("d")


def test_nothing_is_said_where_python_ends_before_its_files(tmp_path, monkeypatch):
    """Regression: "Exception ignored in _Closing.__del__" after the answer: modules lose their names first."""
    (tmp_path / "x").touch()
    unraised: list[object] = []
    before = open_below(tmp_path)
    monkeypatch.setattr(sys, "unraisablehook", unraised.append)
    directory = LocalDirectory(str(tmp_path))
    held = [directory, directory.open_now("x"), Ancestors(tmp_path)]
    del directory
    assert len(open_below(tmp_path)) > len(before)
    with monkeypatch.context() as ending:
        for module in (ancestors, data_file, local_directory):
            ending.setattr(module, "os", None)
        held.clear()
        gc.collect()
    assert unraised == []
    assert open_below(tmp_path) == before


@pytest.fixture
def small(tmp_path) -> Directory:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0/a").write_bytes(b"content")
    (tmp_path / "secret").write_bytes(b"other")
    return LocalDirectory(str(tmp_path))


def test_a_file_is_asked_and_read(small, tmp_path):
    about, before = os.stat(tmp_path / "t-0/a"), open_below(tmp_path)
    with small.inside("t-0") as inside:
        assert inside.stat("a").st_ino == about.st_ino
        assert inside.attributes("a") == (about, access_of(about, None))
        file = inside.open("a")
        assert (file.inode, file.read(2, 100)) == (about.st_ino, b"ntent")
        del file
    assert (open_below(tmp_path), small.files.kept) == (before, 0)


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, lambda path: os.symlink("../secret", path)])
def test_nothing_but_a_file_is_opened(small, tmp_path, put):
    """Through a link somebody could have another file of the broker's machine served."""
    put(tmp_path / "t-0/b")
    with small.inside("t-0") as inside, pytest.raises((NotFound, Denied, DiskError)):
        inside.open("b")


def test_what_is_gone_is_not_found(small):
    with pytest.raises(NotFound), small.inside("t-1"):
        pass
    with small.inside("t-0") as inside:
        for question in (inside.stat, inside.attributes, inside.open):
            with pytest.raises(NotFound):
                question("gone")


def test_it_takes_a_worker(small):
    with non_blocking(), pytest.raises(WouldBlock), small.inside("t-0"):
        pass
