"""Small files that claim or hold enormous content: decoded views refuse them soon, raw views serve them all.

A bomb is a valid batch; so is one whose counts and lengths lie, for its CRC is true.
"""

import errno
import gzip
import os
import threading
import time
from pathlib import Path

import cramjam
import pytest
import zstandard

from kafkafs.sample import unpack
from tests.faults.questions import FIRST, read
from tests.format.batch_maker import v2_around, varint
from tests.mounting import resident_bytes
from tests.promises import at_most

pytestmark = pytest.mark.urgent


def zstd_bomb() -> bytes:
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(1024)) + packer.flush()


def gzip_bomb() -> bytes:
    return b"".join([gzip.compress(bytes(64 << 20), 6)] * 16)


def lz4_bomb() -> bytes:
    """A frame of 4 MiB blocks, each a run of zeros."""
    return bytes(cramjam.lz4.compress(bytes(256 << 20))) * 4


def lying(content: bytes) -> list[bytes]:
    """Records whose counts and lengths promise 2 GiB."""
    huge = varint(2**31 - 1)
    return [huge + content, varint(60) + b"\0\0\0" + huge + content, varint(60) + b"\0\0\0\1" + huge + content]


@pytest.fixture(scope="module")
def bombs(tmp_path_factory) -> Path:
    """A data directory with one bomb a partition."""
    data = unpack(tmp_path_factory.mktemp("bombs"))
    batches = [v2_around(zstd_bomb(), 1, attributes=4), v2_around(gzip_bomb(), 1, attributes=1),
               v2_around(lz4_bomb(), 1, attributes=3)]  # fmt: skip
    batches += [v2_around(content, 2**31 - 1, 0, 5) for content in lying(bytes(100))]
    batches += [v2_around(content, 1) for content in lying(bytes(100))]
    for number, batch in enumerate(batches):
        directory = data / f"bomb-{number}"
        directory.mkdir()
        (directory / f"{0:020d}.log").write_bytes(batch + v2_around(b"", 0, 10, 10))
    return data


def test_sixteen_bombs_at_once(bombs, mount):
    mounted = mount(bombs)
    pid = mounted.status()["pid"]
    names = sorted(name for name in os.listdir(mounted.path) if name.startswith("bomb"))
    outcomes: list[tuple[str, int, float]] = []
    neighbours: list[float] = []
    done = threading.Event()

    def decode(name: str) -> None:
        started, number = time.monotonic(), 0
        try:
            read(mounted / f"{name}/by-offset/0...jsonl")
        except OSError as error:
            number = error.errno or 0
        outcomes.append((name, number, time.monotonic() - started))

    def look_about() -> None:
        number = 0
        while not done.is_set():
            started, number = time.monotonic(), number + 1
            os.stat(mounted / f"test-0/by-offset/{FIRST + number % 300}")
            neighbours.append(time.monotonic() - started)
            time.sleep(0.01)

    threads = [threading.Thread(target=decode, args=(names[at % len(names)],)) for at in range(16)]
    beside = threading.Thread(target=look_about)
    for thread in (*threads, beside):
        thread.start()
    highest = 0
    while any(thread.is_alive() for thread in threads):
        highest = max(highest, resident_bytes(pid))
        time.sleep(0.02)
    done.set()
    beside.join(300)
    neighbours.sort()
    print(f"\nhighest rss {highest >> 20} MiB, slowest refusal {max(took for *_, took in outcomes):.2f} s,"
          f" p99 of a neighbour's stat {neighbours[int(len(neighbours) * 0.99)] * 1000:.0f} ms")  # fmt: skip
    assert {number for _, number, _ in outcomes} <= {errno.EFBIG, errno.EIO}
    assert [name for name, number, _ in outcomes if number == 0] == []
    assert max(took for *_, took in outcomes) < at_most(5)
    assert highest < 512 << 20
    assert neighbours[int(len(neighbours) * 0.99)] < at_most(1.0)
    for name in names:
        assert read(mounted / f"{name}/by-offset/0..") == (bombs / name / f"{0:020d}.log").read_bytes()
