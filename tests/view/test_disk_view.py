"""What the root knows of its data directories: never old, except of a disk that fails while others do not."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from kafkafs import sample
from kafkafs.disk.blocking import non_blocking
from kafkafs.errors import KafkafsError, Vanished
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import AMONG_S, DiskView
from tests.bindfs import bindfs
from tests.mounting import wait_until
from tests.view.trees import cat, opened, read, tree


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


def test_a_disk_that_fails_keeps_what_was_known_beside_others_and_is_told_alone(data):
    disks = {alone: DiskView(open_data_directory(data), alone) for alone in (True, False)}
    null = os.open(os.devnull, os.O_RDONLY)
    for disk in disks.values():
        os.dup2(null, disk.directory.root.descriptor)  # no directory any more
    disks[False].refresh()
    assert "test-0" in names(disks[False])
    wait_until(lambda: is_told(disks[True]))
    os.close(null)


@pytest.mark.parametrize("alone", [True, False])
def test_a_data_directory_that_was_put_aside_is_told_of(data, tmp_path, caplog, alone):
    """It was served without a word, and what was written into the one in its place was not seen."""
    moved = data.rename(tmp_path / "moved")
    root = tree(moved, *([] if alone else [sample.unpack(tmp_path / "beside")]))
    content = opened(root, "test-0/by-offset/0..end")
    whole = read(content)
    moved.rename(tmp_path / "old")
    assert "test-0" in {entry.name for entry in root.entries()}  # as long as no other stands there
    shutil.copytree(tmp_path / "old", moved)
    (disk, *_) = root.disks()
    wait_until(lambda: asked(lambda: cat(root, "test-0/by-offset/0..")) is Vanished, 5)
    assert disk.is_replaced
    assert root.attributes().kind == "directory"  # regression: .kafkafs, which names it, was behind a stale root
    assert read(content) == whole  # what is open stays open
    assert [message for message in caplog.messages if "put in its place" in message] == [
        f"{moved} was moved away, and another directory put in its place: mount again"
    ]
    assert alone or asked(lambda: cat(root, "test-0~2/by-offset/0..")) is bytes
    shutil.rmtree(moved)
    (tmp_path / "old").rename(moved)
    wait_until(lambda: asked(lambda: cat(root, "test-0/by-offset/0..")) is bytes, 5)
    assert not disk.is_replaced


def test_a_data_directory_named_through_a_link_that_leads_elsewhere_is_told_of(data, tmp_path):
    """As operators swap a directory without a moment in which there is none."""
    link = tmp_path / "link"
    link.symlink_to(data)
    root = tree(link)
    assert asked(lambda: cat(root, "test-0/by-offset/0..")) is bytes
    (tmp_path / "new link").symlink_to(sample.unpack(tmp_path / "other"))
    (tmp_path / "new link").rename(link)
    wait_until(lambda: asked(lambda: cat(root, "test-0/by-offset/0..")) is Vanished, 5)


def test_the_thread_that_must_not_wait_sees_it_too(data, tmp_path):
    directory = open_data_directory(data, ReadOptions(names_fresh_s=0.0))
    wait_until(lambda: directory.names() and asked_at_once(directory.names) is dict)
    data.rename(tmp_path / "old")
    shutil.copytree(tmp_path / "old", data)
    assert asked_at_once(directory.names) is Vanished


def asked(question) -> type:
    """What kind of answer there is."""
    try:
        return type(question())
    except KafkafsError as error:
        return type(error)


def asked_at_once(question) -> type:
    with non_blocking():
        return asked(question)
