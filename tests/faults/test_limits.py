"""Descriptors, processes that are stopped or killed, a disk that hangs: one caller may suffer, the mount may not."""

import errno
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from kafkafs.fuse.life.mountpoint import mounted_at
from kafkafs.sample import unpack
from tests.bindfs import bindfs
from tests.faults.questions import FIRST, Questions, read
from tests.kafka.dataset import Dataset
from tests.live.moves import Moves
from tests.mounting import KAFKAFS, PATIENCE_S, mounting, run, wait_until
from tests.promises import at_most

PACKED = ("broker-gzip-0", "broker-zstd-0", "large-0")


@pytest.fixture
def many_segments(tmp_path) -> Moves:
    """A log of 120 segments."""
    broker = Moves(tmp_path / "data")
    for _ in range(120):
        broker.append([2, 3])
        broker.roll()
    return broker


def limit_descriptors(mounted, limit: int) -> None:
    run("prlimit", "--pid", str(mounted.status()["pid"]), f"--nofile={limit}:{limit}")


@pytest.mark.parametrize("limit", [28])
def test_few_descriptors_are_enough_for_any_answer(mount, many_segments, limit):
    """The mount itself has 21 of them."""
    mounted = mount(many_segments.data)
    limit_descriptors(mounted, limit)
    everything = b"".join(made.data for made in _all_batches(many_segments))
    for _ in range(2):
        assert read(mounted / "t-0/by-offset/0..") == everything
        assert len(read(mounted / "t-0/by-offset/0...jsonl").splitlines()) == 600
        run("ls", "-lR", mounted.path)
        run("bash", "-c", f"cat {mounted.path}/t-0/by-offset/*.. {mounted.path}/t-0/by-time/* | cksum")


def test_short_of_descriptors_one_caller_gets_an_error_and_the_next_is_served(mount, many_segments):
    mounted = mount(many_segments.data)
    limit_descriptors(mounted, 40)
    opened, errors = [], set()
    for base in sorted(many_segments.segments)[:100]:
        try:
            opened.append(os.open(mounted / f"t-0/segments/{base:020d}.log", os.O_RDONLY))
        except OSError as error:
            errors.add(error.errno)
    assert errors == {errno.EMFILE}
    assert len(opened) > 10
    assert mounted.status()["openDescriptors"] in range(38, 41)
    for descriptor in opened:
        assert os.pread(descriptor, 61, 0)
        os.close(descriptor)
    wait_until(lambda: mounted.status()["openFiles"] <= 1)
    assert len(read(mounted / "t-0/by-offset/0...jsonl").splitlines()) == 600


def test_without_any_descriptor_status_is_reported(mount, many_segments):
    """Just then it is wanted, also where what is known of the root is no longer fresh."""
    mounted = mount(many_segments.data)
    opened = [os.open(path, os.O_RDONLY) for path in sorted((mounted / "t-0/segments").iterdir())[:3]]
    limit_descriptors(mounted, 18)
    until = time.monotonic() + 1.2
    while time.monotonic() < until:
        assert mounted.status()["openDescriptors"] > 18
    run("ls", "-l", mounted / ".kafkafs")
    run("cat", mounted / ".kafkafs/metrics")
    for descriptor in opened:
        os.close(descriptor)


def test_a_thousand_open_files_stay_readable_whatever_is_deleted(mount, many_segments):
    mounted = mount(many_segments.data)
    before = mounted.status()["openDescriptors"]
    opened = [os.open(mounted / f"t-0/by-offset/{n % 600}{'' if n % 2 else '..'}", os.O_RDONLY) for n in range(1000)]
    wanted = [os.pread(descriptor, 1 << 20, 0) for descriptor in opened[:20]]
    while len(many_segments.segments) > 60:
        many_segments.retain(reported=False)
    many_segments.unlink_deleted()
    for descriptor, data in zip(opened, wanted, strict=False):
        assert os.pread(descriptor, 1 << 20, 0) == data
    for descriptor in opened:
        os.close(descriptor)
    wait_until(lambda: mounted.status()["openDescriptors"] <= before + 2)


def test_deleted_files_give_their_space_back_within_seconds(mount, many_segments):
    mounted = mount(many_segments.data)
    assert read(mounted / "t-0/by-offset/0..")
    pid = mounted.status()["pid"]
    many_segments.recreate(at_once=True)
    wait_until(lambda: not [link for link in _descriptors(pid) if link.endswith("(deleted)")])


def test_short_of_memory_callers_get_errors_and_the_next_are_served(mount, tmp_path):
    """Every allocation that needs new pages fails: buffers, Python's own, those of the decoder."""
    data = Dataset("4.3.1", "stopped").copy_to(tmp_path / "data", *PACKED)
    mounted = mount(data)
    pid = mounted.status()["pid"]
    names = [f"{topic}/by-offset/{name}" for topic in PACKED for name in ("0..", "0...jsonl", "0...batches.jsonl")]
    errors: list[int] = []
    for spare in (0, 1 << 20, 4 << 20):
        run("prlimit", "--pid", str(pid), f"--as={_address_space(pid) + spare}:unlimited")
        threads = [threading.Thread(target=_error_of, args=(mounted / name, errors), daemon=True) for name in names * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
    run("prlimit", "--pid", str(pid), "--as=unlimited:unlimited")
    for topic in PACKED:
        assert read(mounted / f"{topic}/by-offset/0..") == b"".join(
            path.read_bytes() for path in sorted((data / topic).glob("*.log"))
        )
    print(f"\n{len(errors)} of {3 * len(threads)} reads failed: {Counter(map(os.strerror, errors))}")
    assert set(errors) == {errno.ENOMEM}
    assert "bug in" not in mounted.log


def test_a_follower_that_has_ended_holds_no_deleted_file_open(mount, many_segments):
    """Its disk space would stay in use, which was what the broker deleted it for."""
    mounted = mount(many_segments.data)
    pid = mounted.status()["pid"]
    followers = [subprocess.Popen(["cat", mounted / f"t-0/by-offset/{n}...follow.jsonl"], stdout=subprocess.DEVNULL)
                 for n in (0, 590)]  # fmt: skip
    wait_until(lambda: mounted.status()["waitingReads"] == len(followers))
    assert any("/t-0/" in path for path in _descriptors(pid))
    for follower in followers:
        follower.terminate()
        follower.wait(PATIENCE_S)
    wait_until(lambda: not any("/t-0/" in path for path in _descriptors(pid)))


def test_a_stopped_daemon_goes_on_where_it_was(mount, tmp_path):
    mounted = mount(unpack(tmp_path))
    questions = Questions(mounted.path)
    pid = mounted.status()["pid"]
    os.kill(pid, signal.SIGSTOP)
    reader = subprocess.Popen(["cat", mounted / f"test-0/by-offset/{FIRST}...jsonl"], stdout=subprocess.PIPE)
    wait_until(lambda: Path(f"/proc/{reader.pid}/wchan").read_text() == "request_wait_answer")
    os.kill(pid, signal.SIGCONT)
    assert reader.communicate(timeout=PATIENCE_S)[0].count(b"\n") == 341
    assert [questions.ask(name) for name in questions.names] == [0] * len(questions.names)


@pytest.mark.urgent
@pytest.mark.parametrize("times", [int(os.environ.get("KAFKAFS_KILLS", "2"))])
def test_a_killed_daemon_leaves_no_stale_mount(tmp_path, times):
    """Under load; its parent takes the mount away, and the next one stands within moments."""
    data, place = unpack(tmp_path), tmp_path / "mnt"
    place.mkdir()
    gone, back = [], []
    for number in range(times):
        started = time.monotonic()
        with mounting([KAFKAFS, "mount", data, place], place, tmp_path / f"log-{number}") as mounted:
            load = [subprocess.Popen(["bash", "-c", f"while cat {place}/test-0/by-offset/0...jsonl; do :; done"],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in "123"]  # fmt: skip
            pid = mounted.status()["pid"]
            back.append(time.monotonic() - started)
            time.sleep(0.05 * (number % 20))
            os.kill(pid, signal.SIGKILL)
            killed = time.monotonic()
            wait_until(lambda: mounted_at(place) is None)
            gone.append(time.monotonic() - killed)
            for process in load:
                process.wait(PATIENCE_S)
            assert mounted.process.wait(PATIENCE_S) != 0
    print(f"\n{times} times killed: unmounted after {max(gone):.2f} s at most, mounted again after {max(back):.2f} s")
    assert max(gone) < at_most(1.0)


@pytest.mark.urgent
def test_open_files_of_a_hung_disk_hold_nobody_up(mount, tmp_path):
    """A disk that is stopped answers nothing, not even a close. See also tests/fuse/test_hung_disk."""
    healthy, source = unpack(tmp_path), tmp_path / "hung"
    broker = Moves(source)
    broker.append([3, 3])
    with bindfs(source, tmp_path / "disk") as disk:
        mounted = mount(healthy, disk.path)
        questions = Questions(mounted.path)
        held = [os.open(mounted / f"t-0/by-offset/{n}..", os.O_RDONLY) for n in range(3)]
        assert os.pread(held[0], 100, 0)
        disk.hang()
        errors: list[int] = []
        threads = [threading.Thread(target=_error_of, args=(mounted.path / "t-0/by-offset" / name, errors), daemon=True)
                   for name in ("5", "0...jsonl", "1.value", "2..")]  # fmt: skip
        for thread in threads:
            thread.start()
        os.close(held[0])
        for name in questions.names:
            assert questions.ask(name) == 0
        disk.go_on()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert set(errors) <= {errno.EIO}
        wait_until(lambda: mounted.status()["stuckWorkers"] == 0)
        assert read(mounted / "t-0/by-offset/0..") == b"".join(made.data for made in _all_batches(broker))
        for descriptor in held[1:]:
            os.close(descriptor)
        assert mounted.end() == 0


def _address_space(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")


def _error_of(path: Path, errors: list[int]) -> None:
    try:
        read(path)
    except OSError as error:
        errors.append(error.errno or 0)


def _all_batches(broker: Moves):
    return [made for base in sorted(broker.segments) for made in broker.segments[base]]


def _descriptors(pid: int) -> list[str]:
    links = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{number}"))
        except OSError:
            continue
    return links
