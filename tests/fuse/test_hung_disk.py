"""One of two disks hangs or is gone: what is on the other is served as if nothing were."""

import errno
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from kafkafs import sample
from tests.bindfs import Disk, bindfs
from tests.mounting import KAFKAFS, PATIENCE_S, run, wait_until
from tests.promises import at_most

QUICK_S = 8.0  # on a busy machine; who waits for the disk has his answer after twenty
EIO_S = at_most(30.0)  # the promise: within that time everybody has his error
AGED_S = 10.0  # until what was known of a disk counts no more, on a busy machine


@pytest.fixture
def disks(tmp_path) -> Iterator[tuple[Path, Disk]]:
    """Two data directories with different partitions, the second of which can hang."""
    healthy, other = tmp_path / "healthy", tmp_path / "other"
    shutil.copytree(sample.unpack(tmp_path), healthy)
    shutil.copytree(healthy, other)
    for partition in [path for path in other.iterdir() if path.is_dir()]:
        partition.rename(other / f"other-{partition.name}")
    with bindfs(other, tmp_path / "disk") as disk:
        yield healthy, disk


def quickly(*command: str | Path) -> bytes:
    started = time.monotonic()
    output = run(*command).stdout
    assert time.monotonic() - started < QUICK_S
    return output


def unanswered(directory: Path, count: int) -> "list[subprocess.Popen[bytes]]":
    """Programs that wait for offsets of a disk that hangs: those are answered as long as what is known of it is young.

    Who is only slow has ended by the time that the others wait.
    """
    asked: list[subprocess.Popen[bytes]] = []
    deadline = time.monotonic() + AGED_S
    while len(waiting := [process for process in asked if process.poll() is None]) < count:
        assert time.monotonic() < deadline
        offset = directory / str(23350 + len(asked))
        asked.append(subprocess.Popen(["stat", offset], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        with suppress(subprocess.TimeoutExpired):
            asked[-1].wait(0.3)
    return waiting


def is_refused(path: Path) -> bool:
    """Whether who opens and reads it is told of an input/output error."""
    return b"Input/output error" in run("cat", path, check=False).stderr


def is_failing(descriptor: int) -> bool:
    """Whether a read is answered with EIO."""
    try:
        os.read(descriptor, 10)
    except OSError as error:
        return error.errno == errno.EIO
    return False


@pytest.mark.urgent
def test_a_hung_disk_stops_only_its_own_directory(disks, mount):
    """A cluster's disks die one at a time; the mount must stay useful for finding out what was on the others."""
    healthy, disk = disks
    mounted = mount(healthy, disk.path)
    assert os.listdir(mounted / "other-test-0/by-offset")
    disk.hang()
    stuck = unanswered(mounted / "other-test-0/by-offset", 4)
    stuck.append(subprocess.Popen(["ls", mounted / "other-orders-0"], stderr=subprocess.DEVNULL))
    for round_ in range(3):
        assert b"test-0\n" in quickly("ls", mounted.path)
        assert quickly("cat", mounted / f"test-0/by-offset/{23360 + round_}")
        assert quickly("ls", mounted / "orders-0/by-time")
    for process in stuck:
        assert process.wait(300) != 0
    disk.go_on()
    wait_until(lambda: run("cat", mounted / "other-test-0/by-offset/23350", check=False).returncode == 0)


@pytest.mark.urgent
def test_who_stands_on_a_hung_disk_has_an_error_in_time_and_others_notice_nothing(disks, mount, tmp_path):
    """Twenty who have files of it open, a follower, and one who wants to mount it; then the disk goes on."""
    healthy, disk = disks
    mounted = mount(healthy, disk.path, options="exact=0")  # what has a size was read for it
    place = tmp_path / "place"
    place.mkdir()
    usage = quickly("df", "--output=size,iused", mounted.path)
    before = mounted.status()
    names = [f"other-test-0/by-offset/{offset}...jsonl" for offset in range(23200, 23220)]
    files = [os.open(mounted / name, os.O_RDONLY) for name in names]
    followers = [
        subprocess.Popen(["cat", mounted / topic / "by-offset/0...follow.jsonl"], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE) for topic in ("test-0", "other-test-0")]  # fmt: skip
    wait_until(lambda: mounted.status()["waitingReads"] == 2)
    disk.hang()
    started = time.monotonic()
    mounting = subprocess.Popen([KAFKAFS, "mount", healthy, disk.path, place], stderr=subprocess.PIPE)
    with ThreadPoolExecutor(len(files)) as pool:
        reads = [pool.submit(os.read, file, 1 << 16) for file in files]
        wait_until(lambda: mounted.status()["busyWorkers"] > 4)
        while not all(read.done() for read in reads):
            assert b"test-0\n" in quickly("ls", mounted.path)
            assert quickly("cat", mounted / "test-0/by-offset/23360...jsonl")
            quickly("find", mounted / "test-0", "-size", "+1")
            quickly("du", mounted / "test-0")
            assert quickly("df", "--output=size,iused", mounted.path) == usage
            assert time.monotonic() - started < EIO_S
        assert [type(read.exception()) for read in reads] == [OSError] * len(reads)
        assert {getattr(read.exception(), "errno", None) for read in reads} == {errno.EIO}
    os.kill(before["pid"], signal.SIGUSR1)
    wait_until(lambda: f"to the disk of '{disk.path}', for 2" in mounted.log)
    assert mounted.status()["stuckWorkers"] > 0
    assert b"Input/output error" in followers[1].communicate(timeout=EIO_S)[1]
    refusal = mounting.communicate(timeout=EIO_S)[1].decode()
    assert time.monotonic() - started < EIO_S
    assert refusal == f"kafkafs: the disk of '{disk.path}' does not answer; leave it out, or mount again when it does\n"
    disk.go_on()
    wait_until(lambda: mounted.status()["stuckWorkers"] == mounted.status()["busyWorkers"] == 0)
    for file in files:
        assert os.read(file, 1 << 16)
        os.close(file)
    assert followers[0].poll() is None
    followers[0].terminate()
    followers[0].wait(PATIENCE_S)
    wait_until(lambda: mounted.status()["openDescriptors"] <= before["openDescriptors"])


@pytest.mark.urgent
def test_a_vanished_disk_takes_nothing_with_it(disks, mount):
    """Its process is killed, as where a network file system's server is gone for good: every call on it fails."""
    healthy, disk = disks
    mounted = mount(healthy, disk.path)
    usage = run("df", "--output=size,iused", mounted.path).stdout
    with open(mounted / "other-test-0/by-offset/23350..", "rb", buffering=0) as opened:
        disk.vanish()
        wait_until(lambda: is_failing(opened.fileno()))
    for name in ("other-test-0", "other-test-0/by-offset/23350", "other-test-0/info.json"):
        wait_until(partial(is_refused, mounted / name))
    assert b"test-0\n" in quickly("ls", mounted.path)
    assert quickly("cat", mounted / "test-0/by-offset/23360")
    assert quickly("df", "--output=size,iused", mounted.path) == usage
