"""What the root knows of its data directories: never old, except of a disk that fails while others do not."""

import os
import shutil

import pytest

from kafkafs import sample
from kafkafs.errors import KafkafsError
from kafkafs.log.data_directory import open_data_directory
from kafkafs.view.disk_view import DiskView
from tests.mounting import wait_until


@pytest.fixture
def data(tmp_path):
    return sample.unpack(tmp_path)


def names(disk):
    return set(disk.known().names)


def is_told(disk) -> bool:
    """Whether who asks now is told that the disk fails."""
    try:
        disk.known()
    except KafkafsError:
        return True
    return False


@pytest.mark.parametrize("alone", [True, False])
def test_a_new_partition_is_known_when_the_last_look_has_aged(data, alone):
    disk = DiskView(open_data_directory(data), alone)
    assert names(disk) == {"test-0", "orders-0", "__transaction_state-0"}
    shutil.copytree(data / "test-0", data / "new-0")
    wait_until(lambda: "new-0" in names(disk))


def test_a_sweep_looks_though_the_last_look_is_young(data):
    """Beside others hardly a request should have to look itself: a disk may hang under it."""
    disk = DiskView(open_data_directory(data), alone=False)
    shutil.copytree(data / "test-0", data / "new-0")
    wait_until(lambda: "new-0" in disk.directory.names())
    disk.refresh()
    assert "new-0" in names(disk)


def test_a_disk_that_fails_keeps_what_was_known_beside_others_and_is_told_alone(data):
    disks = {alone: DiskView(open_data_directory(data), alone) for alone in (True, False)}
    null = os.open(os.devnull, os.O_RDONLY)
    for disk in disks.values():
        os.dup2(null, disk.directory.root.descriptor)  # no directory any more
    disks[False].refresh()
    assert "test-0" in names(disks[False])
    wait_until(lambda: is_told(disks[True]))
    os.close(null)
