"""Many readers of huge batches that are valid: memory is bounded; who finds no room is told so, and can try again."""

import errno
import os
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
import zstandard

from kafkafs.sample import unpack
from tests.faults.questions import FIRST
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.mounting import resident_bytes, wait_until
from tests.promises import at_most

pytestmark = pytest.mark.alone

RECORDS, VALUE = 200, b"v" * (1 << 20)
READERS = 8
PLAIN, PACKED = "plain-0", "packed-0"
MIB = 1 << 20


@pytest.fixture(scope="module")
def huge(tmp_path_factory) -> Path:
    """A data directory with batches of 200 MiB: two packed by zstd, one as it is."""
    data = unpack(tmp_path_factory.mktemp("huge"))
    for name, batches in ((PACKED, [(0, 4), (RECORDS, 4)]), (PLAIN, [(0, 0)])):
        (data / name).mkdir()
        (data / name / f"{0:020d}.log").write_bytes(b"".join(_batch(base, codec) for base, codec in batches))
    return data


def _batch(base: int, codec: int) -> bytes:
    records = [Record(base + number, 0, 0, None, VALUE) for number in range(RECORDS)]
    return v2_batch(records, codec=codec, compress=zstandard.ZstdCompressor().compress if codec else bytes)


@pytest.mark.slow
def test_readers_of_huge_batches_share_what_memory_there_is(huge, mount):
    mounted = mount(huge)
    pid = mounted.status()["pid"]
    outcomes: list[tuple[int, int]] = []
    slowest: list[float] = []

    def decode(name: str) -> None:
        lines = number = 0
        longest = 0.0
        try:
            with open(mounted / f"{name}/by-offset/0...jsonl", "rb", buffering=0) as file:
                started = time.monotonic()
                while part := file.read(1 << 17):
                    longest = max(longest, time.monotonic() - started)
                    lines += part.count(b"\n")
                    started = time.monotonic()
        except OSError as error:
            number = error.errno or 0
        slowest.append(longest)
        outcomes.append((number, lines))

    threads = [threading.Thread(target=decode, args=((PACKED, PLAIN)[at % 2],)) for at in range(READERS)]
    for thread in threads:
        thread.start()
    highest, neighbours = 0, list[float]()
    while any(thread.is_alive() for thread in threads):
        highest = max(highest, resident_bytes(pid))
        started = time.monotonic()
        os.stat(mounted / f"test-0/by-offset/{FIRST + len(neighbours) % 300}")
        neighbours.append(time.monotonic() - started)
        time.sleep(0.01)
    numbers = [number for number, _ in outcomes]
    print(f"\nhighest rss {highest // MIB} MiB, slowest read {max(slowest):.2f} s, of {READERS} readers"
          f" {numbers.count(0)} got all, a neighbour's slowest stat {max(neighbours) * 1000:.0f} ms")  # fmt: skip
    assert set(numbers) <= {0, errno.ENOMEM}
    assert {lines for number, lines in outcomes if not number} <= {RECORDS, 2 * RECORDS}
    assert numbers.count(0) >= 2
    assert max(slowest) < at_most(5)
    assert highest < 900 * MIB
    for name, expected in ((PACKED, 2 * RECORDS), (PLAIN, RECORDS)):
        outcomes.clear()
        decode(name)
        assert outcomes == [(0, expected)]


def test_who_reads_no_further_gives_way(huge, mount):
    """Two half-read streams hold the memory that is there; who comes third gets it, and the first go on after him."""
    mounted = mount(huge)
    path = mounted / f"{PACKED}/by-offset/0...jsonl"
    with ExitStack() as handles:
        opened = [handles.enter_context(open(path, "rb", buffering=0)) for _ in range(3)]
        heads = [file.read(1 << 17) for file in opened]
        assert heads[1:] == heads[:1] * 2
        for file in opened:
            rest = iter(lambda file=file: file.read(1 << 20), b"")  # type: ignore[misc]
            assert sum(part.count(b"\n") for part in rest) == 2 * RECORDS
    pid = mounted.status()["pid"]
    wait_until(lambda: resident_bytes(pid) < 300 * MIB)
