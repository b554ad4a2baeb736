"""Reads leave the page cache as they found it: cold pages stay out, hot ones in, raw and decoded, whatever the disk."""

import os
import random
from pathlib import Path

import pytest

from kafkafs.log import page_cache
from tests.kafka.dataset import Dataset
from tests.live.test_broker_untouched import resident
from tests.mounting import run

SIZE = 128 << 20
HOT = (32 << 20, 2 << 20)   # position and size of what the broker has in use
BORDER = 32 << 10   # a few pages of the hot part were seen to go on a busy machine, in decoded views; why is open
POINTS = 50


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A large log of real batches, one behind the other, with rising offsets; only its hot part is in memory."""
    directory = tmp_path / "data" / "big-0"
    directory.mkdir(parents=True)
    (tmp_path / "data" / "meta.properties").write_text("version=1\n")
    path = directory / f"{0:020d}.log"
    _write(path)
    _cool(path)
    return path


def _write(path: Path) -> None:
    source = Dataset("4.3.1", "stopped").directory("codec-none").joinpath(f"{0:020d}.log").read_bytes()
    size = 12 + int.from_bytes(source[8:12], "big")
    count = 1 + int.from_bytes(source[23:27], "big")
    with open(path, "wb") as file:
        for number in range(SIZE // size):
            file.write((number * count).to_bytes(8, "big") + source[8:size])    # the offset is outside the checksum
        os.fsync(file.fileno())


def _cool(path: Path) -> None:
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        os.pread(file.fileno(), HOT[1], HOT[0])


def _hot_bytes(path: Path) -> int:
    """How much of the hot part is in memory."""
    with open(path, "rb") as file:
        return sum(page_cache._resident(file.fileno(), HOT[0] + at, 4096) for at in range(0, HOT[1], 4096)) * 4096


VIEWS = ("segments/{name}", "by-offset/0..", "by-offset/0...jsonl", "by-offset/0...batches.jsonl")


@pytest.mark.parametrize("view", VIEWS)
def test_a_cold_log_stays_cold(mount, log, view):
    before = resident(log)
    mounted = mount(log.parents[1])
    run("dd", f"if={mounted.path}/big-0/{view.format(name=log.name)}", "of=/dev/null", "bs=1M", timeout=60)
    assert resident(log) <= before + SIZE // 100
    assert _hot_bytes(log) >= HOT[1] - BORDER


def test_points_bring_in_what_they_need(mount, log):
    """Not the 128 KiB that the kernel would read ahead for each."""
    mounted = mount(log.parents[1])
    os.stat(mounted.path / "big-0/by-offset/0")
    _cool(log)
    before = resident(log)
    for _ in range(POINTS):
        run("dd", f"if={mounted.path}/big-0/segments/{log.name}", "of=/dev/null", "bs=4096", "count=1",
            f"skip={random.randrange(SIZE // 4096)}", timeout=20)   # fmt: skip
    assert resident(log) <= before + POINTS * (16 << 10)


@pytest.mark.parametrize("refusing", [False, True], ids=["dontcache", "fallback"])
def test_a_long_read_drops_what_it_brought_in(log, monkeypatch, refusing):
    """The fallback is for file systems that refuse RWF_DONTCACHE: btrfs, overlayfs."""
    about = log.stat()
    monkeypatch.setattr(page_cache, "_refusing", {about.st_dev} if refusing else set())
    before = resident(log)
    buffer = memoryview(bytearray(1 << 20))
    with open(log, "rb") as file:
        for position in range(0, SIZE - len(buffer), len(buffer)):
            assert page_cache.read_patiently(file.fileno(), buffer, position) == len(buffer)
    assert resident(log) <= before + SIZE // 100
    assert _hot_bytes(log) == HOT[1]
