"""A data directory beside others: how old an answer may be, and a disk that fails or hangs."""

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kafkafs import sample
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.errors import KafkafsError
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.disks import AMONG_S, DiskView
from tests.bindfs import bindfs
from tests.mounting import wait_until


@pytest.fixture
def data(tmp_path):
    return sample.unpack(tmp_path)


def names(disk):
    return set(disk.known().names)


def is_reported(disk) -> bool:
    """Whether who asks now is told that the disk fails."""
    try:
        disk.known()
    except KafkafsError:
        return True
    return False


@pytest.mark.parametrize("alone", [True, False])
def test_a_new_partition_is_known_when_the_last_look_has_aged(data, alone):
    disk = DiskView(open_data_directory(data), alone)
    known = names(disk)
    assert known == {each.name for each in data.iterdir() if each.is_dir()}
    shutil.copytree(data / "test-0", data / "new-0")
    wait_until(lambda: "new-0" in names(disk))


def test_a_sweep_looks_though_the_last_look_is_young(data):
    """Beside others hardly a request should have to look itself: a disk may hang under it."""
    disk = DiskView(open_data_directory(data), alone=False)
    shutil.copytree(data / "test-0", data / "new-0")
    wait_until(lambda: "new-0" in disk.directory.names())
    disk.refresh()
    assert "new-0" in names(disk)


def test_beside_others_a_request_never_looks_itself_where_something_sweeps(data, tmp_path):
    """Regression: on a busy machine the sweep was late, and `ls` of the root hung in the disk that had just hung."""
    now = [0.0]
    with bindfs(data, tmp_path / "disk") as hanging:
        disk = DiskView(open_data_directory(hanging.path, ReadOptions(clock=lambda: now[0])), alone=False)
        disk.sweep()
        now[0] += AMONG_S
        hanging.hang()
        with ThreadPoolExecutor(1) as thread:
            asked = thread.submit(names, disk)
            try:
                assert "test-0" in asked.result(10)
            finally:
                hanging.go_on()
        shutil.copytree(data / "test-0", data / "new-0")
        now[0] += AMONG_S
        disk.sweep()
        assert "new-0" in names(disk)


def test_a_disk_that_fails_keeps_what_was_known_beside_others_and_is_reported_alone(data):
    disks = {alone: DiskView(open_data_directory(data), alone) for alone in (True, False)}
    null = os.open(os.devnull, os.O_RDONLY)
    for disk in disks.values():
        root = disk.directory.root
        assert isinstance(root, LocalDirectory)
        os.dup2(null, root.descriptor)  # no directory any more
    disks[False].refresh()
    assert "test-0" in names(disks[False])
    wait_until(lambda: is_reported(disks[True]))
    os.close(null)


def test_a_disk_that_hangs_is_not_asked(data):
    """At most two threads wait for one that begins to hang; whoever comes behind them hears that it hangs."""
    now = [0.0]
    disk = DiskView(open_data_directory(data, ReadOptions(clock=lambda: now[0])), alone=False)
    assert disk.ask(lambda: 5) == 5
    disk.sweep()
    hanging, go_on = [threading.Event() for _ in range(3)], threading.Event()

    def hang(number: int) -> int:
        hanging[number].set()
        assert go_on.wait(300)
        return number

    with ThreadPoolExecutor(3) as threads:
        asked = [threads.submit(disk.ask, lambda number=number: hang(number)) for number in range(3)]
        wait_until(lambda: sum(each.is_set() for each in hanging) == 2)
        now[0] += AMONG_S
        assert disk.is_hanging
        (late,) = [future for future, each in zip(asked, hanging, strict=True) if not each.is_set()]
        assert late.result(60) is None
        go_on.set()
    assert all(future.result() is not None for future in asked if future is not late)
    disk.sweep()
    assert disk.ask(lambda: 7) == 7
