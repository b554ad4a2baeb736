"""Many readers, followers and lookups at once: nobody gets an error, nobody starves, nothing is left behind.

`scripts/soak load SECONDS` goes on for longer, with 64 readers.
"""

import os
import random
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from kafkafs.fuse.serve.inodes import MOST_LEAVES
from kafkafs.sample import unpack
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.kafka.dataset import Dataset
from tests.live.moves import Moves
from tests.log.making import Made, write_partition
from tests.mounting import PATIENCE_S, shell, wait_until
from tests.promises import at_most

SECONDS = float(os.environ.get("KAFKAFS_LOAD_SECONDS", "3"))
READERS = int(os.environ.get("KAFKAFS_LOAD_READERS", "12"))
SEED = int(os.environ.get("KAFKAFS_SEED", "0")) or random.randrange(1, 1 << 30)
FOLLOWERS = 16
TOPICS = ("broker-gzip-0", "broker-zstd-0", "segments-0", "large-0", "long-index-0")

pytestmark = pytest.mark.timeout(SECONDS * 2 + 900)


@pytest.fixture
def processes():
    """Starts programs that end with the test."""
    with ExitStack() as stack:

        def start(*command: str | Path) -> "subprocess.Popen[bytes]":
            null = subprocess.DEVNULL
            process = subprocess.Popen(command, stdout=null, stderr=subprocess.PIPE, start_new_session=True)
            stack.callback(process.wait, PATIENCE_S)
            stack.callback(lambda: os.killpg(process.pid, 9) if process.poll() is None else None)
            return process

        yield start


@pytest.mark.alone
def test_heavy_readers_starve_nobody(mount, tmp_path, processes):
    data = Dataset("4.3.1", "stopped").copy_to(tmp_path / "data")
    broker = Moves(data)
    broker.append([1])
    mounted = mount(data, guard_s=SECONDS * 2 + 600)
    before = mounted.status()
    chance = random.Random(SEED)
    followers = [processes("cat", mounted / "t-0/by-offset/0...follow.jsonl") for _ in range(FOLLOWERS)]
    wait_until(lambda: mounted.status()["waitingReads"] == FOLLOWERS)
    readers = [
        processes("bash", "-c", f"set -e; while :; do cat {mounted.path}/{topic}/by-offset/0..{suffix}; done")
        for topic, suffix in ((chance.choice(TOPICS), chance.choice((".jsonl", "", ".batches.jsonl")))
                              for _ in range(READERS))
    ]  # fmt: skip
    took, highest, ends = [], 0, time.monotonic() + SECONDS
    while time.monotonic() < ends:
        broker.append([1])
        for topic in TOPICS:
            name = mounted / topic / f"by-offset/{chance.randrange(10)}{chance.choice(('', '.jsonl'))}"
            started = time.monotonic()
            os.stat(name)
            took.append(time.monotonic() - started)
        highest = max(highest, mounted.status()["residentBytes"])
    assert [process.communicate()[1] for process in readers if process.poll() is not None] == []
    assert [process.poll() for process in followers] == [None] * FOLLOWERS
    for process in (*readers, *followers):
        os.killpg(process.pid, 15)
        process.wait(PATIENCE_S)
    took.sort()
    late = took[int(len(took) * 0.99)]
    print(f"\nseed {SEED}: {len(took)} lookups beside {READERS} readers: p99 {late * 1000:.0f} ms,"
          f" worst {took[-1] * 1000:.0f} ms, highest rss {highest >> 20} MiB")  # fmt: skip
    assert late < at_most(1.0)
    assert took[-1] < at_most(5.0)
    assert highest < 256 << 20
    wait_until(lambda: mounted.status()["openFiles"] <= 1)
    wait_until(lambda: mounted.status()["openDescriptors"] <= before["openDescriptors"] + 2)
    assert mounted.status()["workerThreads"] == before["workerThreads"]


@pytest.mark.urgent
def test_256_followers_leave_room_for_others(mount, tmp_path, processes):
    broker = Moves(tmp_path / "data")
    broker.append([1])
    mounted = mount(broker.data)
    processes("bash", "-c", f"for i in $(seq 256); do cat {mounted.path}/t-0/by-offset/0...follow.jsonl & done; wait")
    wait_until(lambda: mounted.status()["waitingReads"] == 256)
    took = []
    for _ in range(20):
        started = time.monotonic()
        os.listdir(mounted / "t-0/by-offset")
        took.append(time.monotonic() - started)
    print(f"\nls beside 256 followers: median {sorted(took)[10] * 1000:.1f} ms")
    assert sorted(took)[10] < at_most(0.1)


def test_names_that_were_looked_up_leave_nothing_behind(mount, tmp_path):
    broker = Moves(tmp_path / "data")
    broker.append([4] * 10)
    mounted = mount(broker.data)
    resident = mounted.status()["residentBytes"]
    shell(f"cd {mounted.path}/t-0/by-offset && for n in $(seq 0 4000); do echo {{$n..,$n..$((n+1)),$n.jsonl}}; done"
          " | tr ' ' '\\n' | xargs stat > /dev/null 2>&1; true", timeout=300)  # fmt: skip
    assert mounted.status()["operations"]["lookup"]["count"] > 4000
    mounted.forget_names()
    wait_until(lambda: mounted.status()["inodes"] <= 1000)
    assert mounted.status()["residentBytes"] < resident + (64 << 20)


@pytest.mark.slow
def test_the_kernel_is_asked_to_forget_names_beyond_a_limit(mount, tmp_path):
    """By itself it would remember all of them as long as memory lasts. Who holds one open notices nothing."""
    mounted = mount(unpack(tmp_path))
    resident = mounted.status()["residentBytes"]
    place = mounted / "test-0/by-time"
    whole = (place / "5.jsonl").read_bytes()
    with (place / "5.jsonl").open("rb", 0) as held:
        start = held.read(10)
        for number in range(MOST_LEAVES * 5 // 4):
            os.stat(place / str(number))
        wait_until(lambda: mounted.status()["inodes"] <= MOST_LEAVES + 100)
        assert os.readlink(f"/proc/self/fd/{held.fileno()}") == os.fspath(place / "5.jsonl")
        assert start + held.read() == whole
    assert os.stat(place / "7").st_size == os.stat(place / "8").st_size > 0
    assert mounted.status()["residentBytes"] < resident + (96 << 20)
    assert mounted.status()["errors"] == []


def test_a_thousand_that_are_half_read_hold_little(mount, tmp_path):
    """Each has a large batch before it; whoever reads on, however late, goes on where he was."""
    value = b"v" * 1000
    batches = [
        Made(v2_batch([Record(base + n, 1000, 0, None, value) for n in range(900)]), ()) for base in range(0, 5400, 900)
    ]
    write_partition(tmp_path, {0: batches})
    mounted = mount(tmp_path, guard_s=600)
    whole = (mounted / "t-0/by-offset/0..5400.jsonl").read_bytes()
    before = mounted.status()["residentBytes"]
    with ExitStack() as stack:
        files = [stack.enter_context((mounted / "t-0/by-offset/0..5400.jsonl").open("rb", 0)) for _ in range(1000)]
        starts = [file.read(4096) for file in files]
        assert mounted.status()["residentBytes"] - before < 256 << 20
        assert {*starts} == {whole[:4096]}
        for file in files[::90]:
            assert starts[0] + file.read() == whole
