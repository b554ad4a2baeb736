"""One of two disks hangs: what is on the other is served as if nothing were."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs import sample
from kafkafs.fuse.mountpoint import mounted_at
from tests.mounting import run, wait_until

QUICK_S = 2.0  # on a busy machine


class Disk:
    """A directory seen through bindfs, whose process can be stopped: then every call on it hangs."""

    def __init__(self, source: Path, place: Path) -> None:
        self.path = place
        self._process = subprocess.Popen(["bindfs", "-f", "-o", "ro,attr_timeout=0,entry_timeout=0", source, place])
        wait_until(lambda: mounted_at(place) is not None)

    def hang(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self.go_on()
        run("umount", "-l", self.path, check=False)
        self._process.terminate()
        self._process.wait(5)


@pytest.fixture
def disks(tmp_path) -> Iterator[tuple[Path, Disk]]:
    """Two data directories with different partitions, the second of which can hang."""
    healthy, other, place = tmp_path / "healthy", tmp_path / "other", tmp_path / "disk"
    shutil.copytree(sample.unpack(tmp_path), healthy)
    shutil.copytree(healthy, other)
    for partition in [path for path in other.iterdir() if path.is_dir()]:
        partition.rename(other / f"other-{partition.name}")
    place.mkdir()
    disk = Disk(other, place)
    yield healthy, disk
    disk.end()


def quickly(*command: str | Path) -> bytes:
    started = time.monotonic()
    output = run(*command).stdout
    assert time.monotonic() - started < QUICK_S
    return output


def test_a_hung_disk_stops_only_its_own_directory(disks, mount):
    """A cluster's disks die one at a time; the mount must stay useful for finding out what was on the others."""
    healthy, disk = disks
    mounted = mount(healthy, disk.path)
    assert os.listdir(mounted / "other-test-0/by-offset")
    disk.hang()
    time.sleep(1.5)  # what is known of it grows old
    stuck = [
        subprocess.Popen(["stat", mounted / f"other-test-0/by-offset/{offset}"], stderr=subprocess.DEVNULL)
        for offset in range(23350, 23354)
    ]
    stuck.append(subprocess.Popen(["ls", mounted / "other-orders-0"], stderr=subprocess.DEVNULL))
    for round_ in range(3):
        assert b"test-0\n" in quickly("ls", mounted.path)
        assert quickly("cat", mounted / f"test-0/by-offset/{23360 + round_}")
        assert quickly("ls", mounted / "orders-0/by-time")
    for process in stuck:
        assert process.wait(30) != 0
    disk.go_on()
    wait_until(lambda: run("cat", mounted / "other-test-0/by-offset/23350", check=False).returncode == 0, 10)
