"""How soon a mount shows what a broker did, and what it costs to look: with real tools, through a real mount."""

import errno
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkafs.view.node import KEEP_S
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.live.moves import Moves
from tests.log.making import made, write_partition
from tests.mounting import PATIENCE_S, run, wait_until
from tests.promises import at_most

pytestmark = pytest.mark.urgent

SOON_S = at_most(1.0)


@pytest.fixture
def broker(tmp_path) -> Moves:
    broker = Moves(tmp_path / "data")
    broker.append([2, 3])
    return broker


def seconds_until(condition: Callable[[], object]) -> float:
    started = time.monotonic()
    wait_until(condition)
    return time.monotonic() - started


def read(path: Path) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return b"".join(iter(lambda: file.read(1 << 17), b""))


def raw(broker: Moves) -> bytes:
    return b"".join(made.data for base in sorted(broker.segments) for made in broker.segments[base])


def lines_of(broker: Moves) -> bytes:
    return b"".join(broker.history.values())


def test_records_segments_and_partitions_come_and_go_within_a_second(mount, broker):
    mounted = mount(broker.data)
    names = mounted / "t-0/by-offset"
    assert len(os.listdir(names)) == 1
    for _ in range(3):
        link = f"by-offset/{broker.next_offset}"
        broker.append([1])
        assert seconds_until((mounted / f"t-0/{link}.jsonl").exists) < SOON_S
        assert seconds_until(lambda link=link: os.readlink(mounted / "t-0/latest") == link) < SOON_S  # type: ignore[misc]
        broker.roll()
        assert seconds_until(lambda: len(os.listdir(names)) == len(broker.segments)) < SOON_S
    oldest = min(broker.segments)
    broker.retain(reported=True)
    assert seconds_until(lambda: not (names / f"{oldest}").exists()) < SOON_S
    (broker.data / "new-7").mkdir()
    (broker.data / "new-7" / f"{0:020d}.log").write_bytes(b"")
    assert seconds_until((mounted / "new-7").exists) < SOON_S
    (broker.data / "new-7").rename(broker.data / ("new-7." + "0" * 32 + "-delete"))
    assert seconds_until(lambda: not (mounted / "new-7").exists()) < SOON_S
    assert (mounted / ("new-7." + "0" * 32 + "-delete")).is_dir()


def test_tail_follows_an_open_range(mount, broker):
    mounted = mount(broker.data)
    tail = subprocess.Popen(["tail", "-c", "+1", "-f", "-s", "0.1", mounted / "t-0/by-offset/0.."],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
    assert tail.stdout is not None
    stdout = tail.stdout
    os.set_blocking(stdout.fileno(), False)
    got = b""

    def all_came() -> bool:
        nonlocal got
        got += stdout.read() or b""
        return got == raw(broker)

    try:
        wait_until(all_came)
        for counts in ([1], [3, 3], [2]):
            broker.append(counts)
            wait_until(all_came)
        broker.roll()
        broker.append([2])
        wait_until(all_came)
    finally:
        tail.kill()
        tail.wait(PATIENCE_S)


def test_an_open_range_does_not_shrink_when_the_log_begins_later(mount, broker):
    """`tail -f` would print all of it again. Who asks by name, from elsewhere, has what opening it now would give."""
    mounted = mount(broker.data)
    broker.roll()
    path, whole = mounted / "t-0/by-offset/0..", raw(broker)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        broker.append([2, 2])
        whole += broker.path(broker.last, "log").read_bytes()
        assert seconds_until(lambda: os.fstat(descriptor).st_size == len(whole)) < SOON_S
        broker.retain(reported=False)
        broker.unlink_deleted()
        left = len(raw(broker))
        assert left < len(whole)
        assert seconds_until(lambda: int(run("stat", "-c", "%s", path).stdout) == left) < SOON_S
        assert os.fstat(descriptor).st_size == len(whole)
        broker.append([3])
        whole += raw(broker)[left:]
        assert seconds_until(lambda: os.fstat(descriptor).st_size == len(whole)) < SOON_S
        assert os.pread(descriptor, 1 << 20, 0) == whole
    finally:
        os.close(descriptor)


def test_a_follower_ends_where_its_log_is_another_one(mount, broker):
    """Even where the new topic's files have the inodes of the old ones, and more records."""
    mounted = mount(broker.data)
    for at_once in (True, False):
        lines = broker.next_offset
        follower = subprocess.Popen(["cat", mounted / "t-0/by-offset/0...follow.jsonl"],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        assert follower.stdout is not None
        text = b"".join(follower.stdout.readline() for _ in range(lines))
        assert text == lines_of(broker)
        broker.recreate(at_once)
        broker.append([3, 3, 3])
        rest, error = follower.communicate(timeout=PATIENCE_S)
        assert (rest, follower.returncode) == (b"", 1)
        assert os.strerror(errno.ESTALE) in error.decode()
        assert seconds_until(lambda: read(mounted / "t-0/by-offset/0...jsonl") == lines_of(broker)) < SOON_S


def test_waiting_costs_next_to_nothing_and_waking_takes_a_moment(mount, broker):
    mounted = mount(broker.data)
    pid = mounted.status()["pid"]
    followers = [subprocess.Popen(["cat", mounted / "t-0/by-offset/5...follow.jsonl"], stdout=subprocess.PIPE)
                 for _ in range(8)]  # fmt: skip
    wait_until(lambda: mounted.status()["waitingReads"] == len(followers))
    before = _processor_seconds(pid)
    time.sleep(2)
    assert _processor_seconds(pid) - before < 1.5
    delays = []
    for _ in range(5):
        broker.append([1])
        started = time.monotonic()
        for follower in followers:
            assert follower.stdout is not None
            assert follower.stdout.readline() == broker.history[broker.next_offset - 1]
        delays.append(time.monotonic() - started)
    for follower in followers:
        follower.send_signal(signal.SIGINT)
        follower.wait(PATIENCE_S)
    print(f"\nwakes: {[round(delay * 1000) for delay in delays]} ms")
    assert sorted(delays)[2] < at_most(0.2)


MOVING = ["by-offset/latest", "by-offset/latest.value", "by-offset/-9..-2", "by-time/latest.jsonl",
          "by-time/latest.batches.jsonl", "by-key/k0", f"segments/{0:020}.log.txt"]  # fmt: skip


def test_no_name_is_refused_that_means_something_else_each_moment(mount, tmp_path):
    """Between `stat` and `open` the log has grown: one open in seven was a stale file, and each of the dump."""
    log = write_partition(tmp_path / "data", {0: [made(0, [1], size=9)]}) / f"{0:020}.log"
    written, stop = 1, threading.Event()

    def write() -> None:
        nonlocal written
        with open(log, "ab", buffering=0) as file:
            while not stop.wait(0.0005):
                file.write(v2_batch([Record(written, written, 0, b"k0", b"v" * (written % 300))]))
                written += 1

    mounted = mount(tmp_path / "data")
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for name in MOVING:
            path, before = mounted / "t-0" / name, written
            while written < before + 300:
                assert read(path)
    finally:
        stop.set()
        writer.join()


def test_who_asks_between_does_not_change_what_is_opened(mount, tmp_path):
    """A descriptor of O_PATH keeps the inode: the kernel asks for its attributes when they have run out, and opens it
    without a lookup."""
    log = write_partition(tmp_path / "data", {0: [made(0, [1], size=9)]}) / f"{0:020}.log"
    names = mount(tmp_path / "data") / "t-0/by-offset"
    value = read(names / "latest.value")
    descriptor = os.open(names / "latest.value", os.O_PATH)
    with open(log, "ab") as file:
        file.write(made(1, [2], size=300).data)
    wait_until((names / "1.value").exists)
    time.sleep(KEEP_S)  # what the kernel was told of has run out
    assert os.fstat(descriptor).st_size == len(value)
    assert read(Path(f"/proc/self/fd/{descriptor}")) == value
    os.close(descriptor)
    assert len(read(names / "latest.value")) > len(value)


@pytest.mark.parametrize("hole", [True, False])
def test_a_preallocated_end_costs_little_per_look(mount, broker, hole):
    """A broker with preallocate=true has up to 1 GiB of nothing behind the end, which moves while the size does not."""
    path = broker.path(broker.last, "log")
    used = path.stat().st_size
    if hole:
        os.truncate(path, 1 << 30)
    else:
        with open(path, "ab") as log:
            log.write(bytes(64 << 20))
    mounted = mount(broker.data)
    assert read(mounted / "t-0/by-offset/0..") == raw(broker)
    pid, looks = mounted.status()["pid"], 10
    before = _bytes_read(pid)
    for _ in range(looks):
        used += broker.append_at(used, 2)
        wait_until((mounted / f"t-0/by-offset/{broker.next_offset - 1}.jsonl").exists)
    assert _bytes_read(pid) - before < looks * (8 << 20)
    assert read(mounted / "t-0/by-offset/0..") == raw(broker)


def test_after_a_crash_the_log_ends_with_its_last_whole_batch(mount, broker):
    """Half a batch, zeros behind it, and what compaction and deletion left: then the rest of the batch comes."""
    broker.roll()
    broker.append([2])
    broker.path(0, "log").rename(broker.path(0, "log.swap"))
    (broker.directory / f"{999:020d}.log.deleted").write_bytes(b"x")
    whole = raw(broker)
    broker.tear(2, 0.7)
    mounted = mount(broker.data)
    assert read(mounted / "t-0/by-offset/0..") == whole
    assert run("cat", mounted / "t-0/by-offset/0...jsonl").stdout == lines_of(broker)
    broker.finish()
    wait_until(lambda: read(mounted / "t-0/by-offset/0..") == raw(broker))
    assert run("cat", mounted / "t-0/by-offset/0...jsonl").stdout == lines_of(broker)


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _bytes_read(pid: int) -> int:
    return int(Path(f"/proc/{pid}/io").read_text().split()[1])
