"""Hundreds of thousands of groups in a log of some megabytes: who asks for the same answer waits for one maker."""

import subprocess
import threading
import time
import tracemalloc
import zlib
from pathlib import Path

import pytest

from kafkafs.cluster.kept_records import LastValue
from kafkafs.cluster.last_values import LastValues
from kafkafs.disk.blocking import acquired, time_slice
from kafkafs.errors import Unfinished
from kafkafs.format.messages.topic_records import InternalTopic
from tests.cluster.writing import Data, commit
from tests.format.batch_maker import sized, v2_around, varint
from tests.mounting import KAFKAFS, mounting, resident_bytes
from tests.promises import at_most

GROUPS, READERS = 300_000, 12
SECONDS = 100.0  # for a file that is made once; made for each reader it takes ten times as long, on whichever machine
MEGABYTE = 1 << 20


def packed_commits(first: int, count: int) -> bytes:
    """A batch of gzip with one commit each of so many groups."""
    key, value = (part or b"" for part in commit("group-000000", "topic", 0, 5))
    records = []
    for number in range(count):
        body = (
            b"\0\0" + varint(number) + sized(key.replace(b"000000", b"%06d" % (first + number))) + sized(value) + b"\0"
        )
        records.append(varint(len(body)) + body)
    packer = zlib.compressobj(9, wbits=31)
    content = packer.compress(b"".join(records)) + packer.flush()
    return v2_around(content, count, first, header=(1, count - 1, 1000, 1000, -1, -1, -1, count))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = Data(tmp_path_factory.mktemp("many") / "data")
    log = data.path / "__consumer_offsets-0" / f"{0:020}.log"
    log.parent.mkdir()
    log.write_bytes(b"".join(packed_commits(first, 10_000) for first in range(0, GROUPS, 10_000)))
    return data.path


@pytest.mark.slow
def test_twelve_readers_all_get_three_hundred_thousand_groups(many: Path, tmp_path: Path) -> None:
    """Regression: those that waited for the first were answered with an I/O error, and the log blamed the disk."""
    (place := tmp_path / "mount").mkdir()
    with mounting([KAFKAFS, "mount", many, place], place, tmp_path / "log", guard_s=600) as mounted:
        pid, most, ended = int(mounted.status()["pid"]), 0, threading.Event()
        begun = time.monotonic()
        command = ["wc", "-l", str(mounted / ".cluster/groups.jsonl")]
        readers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(READERS)]

        def watch() -> None:
            nonlocal most
            while not ended.wait(0.1):
                most = max(most, resident_bytes(pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            reported = [reader.communicate(timeout=300) for reader in readers]
        finally:
            ended.set()
            watcher.join()
        took = time.monotonic() - begun
        assert [(out.split()[:1], err) for out, err in reported] == [([b"%d" % GROUPS], b"")] * READERS
        assert took < at_most(SECONDS)
        assert most < 600 * MEGABYTE
        assert "does not answer" not in mounted.log


def test_the_state_of_groups_takes_what_its_records_take() -> None:
    """SQLite's memory is its own, so what is counted beside it has to be next to nothing."""
    values = LastValues(InternalTopic.OFFSETS, "here")
    key, value = (part or b"" for part in commit("group-000000", "topic", 0, 5))
    before = resident_bytes_here()
    tracemalloc.start()
    for number in range(100_000):
        values.kept.put(key.replace(b"000000", b"%06d" % number), LastValue(number, value))
    assert len(values.kept.of(b"group-099999")) == 1
    assert tracemalloc.get_traced_memory()[0] < 5 * MEGABYTE
    tracemalloc.stop()
    assert resident_bytes_here() - before < 40 * MEGABYTE


def resident_bytes_here() -> int:
    return resident_bytes(int(Path("/proc/self").readlink().name))


def test_who_waits_for_a_maker_asks_again() -> None:
    """A thread that waits uses no processor, and after a while counts as one whose disk hangs."""
    lock = threading.Lock()
    with lock, time_slice(0.05):
        begun = time.monotonic()
        with pytest.raises(Unfinished), acquired(lock):
            pass
        assert time.monotonic() - begun < at_most(5)
    with time_slice(0.05), acquired(lock):
        assert lock.locked()
