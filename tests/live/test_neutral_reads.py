"""Reads leave the page cache as they found it: cold pages stay out, hot ones in, raw and decoded, whatever the disk.

The kernel may take pages meanwhile by itself. In our virtual machines DAMON pages out, some pages a second, what is
unmapped and was not asked for in a while, files that nobody reads as well: a control file beside the log, as large as
its hot part and touched with it, tells how many. What a read does it does each time: so one attempt in which no more
is lost than the control loses clears it.
"""

import ctypes
import mmap
import os
import random
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from kafkafs.disk.blocking import non_blocking
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.errors import WouldBlock
from kafkafs.format.batch import batch_bytes
from tests.kafka.dataset import Dataset
from tests.live.disks import DISKS, Disk, plain, resident
from tests.mounting import KAFKAFS, run

pytestmark = pytest.mark.urgent

SIZE = 128 << 20
HOT = (32 << 20, 2 << 20)  # position and size of what the broker has in use
ATTEMPTS = 10
POINTS = 50
PAGE = 4096
INDEX_INTERVAL = 4096
LARGE = 80  # batches
FEW = SIZE // 100
"""Bytes: index pages, headers, and where each of many workers begins; reads so short are left to the kernel."""


class Cold:
    """A large log of real batches, one behind the other, with rising offsets; only its hot part is in memory."""

    def __init__(self, disk: Disk) -> None:
        directory = disk.path / "data" / "big-0"
        directory.mkdir(parents=True)
        (disk.path / "data" / "meta.properties").write_text("version=1\n")
        self.data = disk.path / "data"
        self.log = directory / f"{0:020d}.log"
        self.records = _write(self.log)
        self.real = disk.file(self.log)
        control = disk.path / "control"
        with open(control, "wb") as file:
            file.write(os.urandom(HOT[1]))
            os.fsync(file.fileno())
        self.control = disk.file(control)

    def cool(self) -> None:
        """Leaves of the log only its hot part in memory, and all of the control."""
        for path, position in ((self.real, HOT[0]), (self.control, 0)):
            with open(path, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
                assert len(os.pread(file.fileno(), HOT[1], position)) == HOT[1]

    def hot_lost_by(self, read: Callable[[], object]) -> int:
        """Hot bytes that are lost after `read`, beyond what the control lost.

        A read may leave a hundredth more in memory than before.
        """
        lost: list[int] = []
        while 0 not in lost and len(lost) < ATTEMPTS:
            self.cool()
            before = resident(self.real)
            read()
            assert resident(self.real) <= before + FEW
            lost.append(max(0, cached(self.control, 0, HOT[1]) - cached(self.real, *HOT)))
        return min(lost)

    def left_by(self, read: Callable[[], object], attempts: int = 3) -> int:
        """How many bytes `read` leaves in memory that were not there: the least of a few times, as two processes that
        drop what they brought in may find a page in the other's hands."""
        left: list[int] = []
        while (not left or min(left) > FEW) and len(left) < attempts:
            self.cool()
            before = resident(self.real)
            read()
            left.append(resident(self.real) - before)
        return min(left)


def _write(path: Path) -> int:
    """The log, and an offset index as a broker would have left it: how many records are in there."""
    source = Dataset("4.3.1", "stopped").directory("codec-none").joinpath(f"{0:020d}.log").read_bytes()
    batch = 12 + int.from_bytes(source[8:12], "big")
    count = 1 + int.from_bytes(source[23:27], "big")
    numbers = np.arange(SIZE // batch)
    batches = np.tile(np.frombuffer(source[:batch], np.uint8), (len(numbers), 1))
    batches[:, :8] = (numbers * count).astype(">i8")[:, None].view(np.uint8)  # the offset is outside the checksum
    step = INDEX_INTERVAL // batch + 1
    indexed = numbers[step::step]
    entries = np.stack([(indexed + 1) * count - 1, indexed * batch], axis=1)
    path.with_suffix(".index").write_bytes(entries.astype(">i4").tobytes())
    with open(path, "wb") as file:
        file.write(batches.data)
        os.fsync(file.fileno())
    return len(numbers) * count


def cached(path: Path, position: int, size: int) -> int:
    """How many bytes of the range are in memory, as the kernel counts."""
    with open(path, "rb") as file:
        counts = ctypes.create_string_buffer(40)
        where = ctypes.create_string_buffer(struct.pack("QQ", position, size))
        assert ctypes.CDLL(None).syscall(451, file.fileno(), where, counts, 0) == 0
    return int(struct.unpack("QQQQQ", counts.raw)[0]) * PAGE


@pytest.fixture(params=DISKS)
def cold(request, tmp_path):
    """The log on each kind of file system."""
    with DISKS[request.param](tmp_path) as disk:
        yield Cold(disk)


@pytest.mark.sampled
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")
@pytest.mark.parametrize(
    "view", ["segments/{name}", "by-offset/0..", "by-offset/0...jsonl", "by-offset/0...batches.jsonl"]
)
def test_a_cold_log_stays_cold(mount, cold, view):
    path = mount(cold.data) / f"big-0/{view.format(name=cold.log.name)}"
    assert cold.hot_lost_by(lambda: run("dd", f"if={path}", "of=/dev/null", "bs=1M", timeout=300)) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")
def test_of_a_range_in_the_midst_nothing_behind_it_comes_in(mount, cold):
    """A kernel reads ahead by as much as the disk is told to, up to 8 MiB and more, and nobody would drop that."""
    mounted, start = mount(cold.data), cold.records // 2
    for suffix in ("", ".jsonl", ".batches.jsonl"):
        path = mounted.path / f"big-0/by-offset/{start}..{start + cold.records // 16}{suffix}"
        os.stat(path)
        left = cold.left_by(lambda path=path: run("dd", f"if={path}", "of=/dev/null", "bs=1M", timeout=300), attempts=1)
        assert left <= FEW, suffix


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")
def test_a_search_leaves_a_cold_log_cold(cold):
    """Workers take parts of a segment: each ends in the midst of it."""
    assert cold.left_by(lambda: run(KAFKAFS, "grep", "not there", cold.data, timeout=300, check=False)) <= FEW


@pytest.mark.sampled
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")
@pytest.mark.parametrize("size", [100_000, 1 << 20])
@pytest.mark.parametrize("tried", [False, True], ids=["waits", "is tried at once before"])
def test_a_long_read_drops_what_it_brought_in(cold, size, tried):
    """Wherever it begins and ends. A read that does not wait has the kernel read ahead as well."""

    def read() -> None:
        buffer = memoryview(mmap.mmap(-1, size))
        file = LocalDirectory(str(cold.log.parent)).open_now(cold.log.name)
        for position in range(0, file.size, size):
            if tried:
                with suppress(WouldBlock), non_blocking():
                    file.read_into(buffer, position)
            assert file.read_into(buffer, position) == min(size, file.size - position)

    assert cold.hot_lost_by(read) == 0


def test_points_bring_in_what_they_need(mount, tmp_path):
    """Some 12 KiB each, not the 128 that the kernel would read ahead."""
    with plain(tmp_path) as disk:
        cold = Cold(disk)
        mounted = mount(cold.data)
        os.stat(mounted.path / "big-0/by-offset/0")
        cold.cool()
        before = resident(cold.log)
        for offset in random.sample(range(cold.records), POINTS):
            assert run("cat", f"{mounted.path}/big-0/by-offset/{offset}").stdout
        assert resident(cold.log) <= before + POINTS * (16 << 10)


def test_points_in_large_batches_leave_next_to_nothing(mount, tmp_path):
    """Each reads two of 850 KB, one behind the other: what the kernel read ahead of them was three times as much."""
    with plain(tmp_path) as disk:
        directory = disk.path / "data" / "large-0"
        directory.mkdir(parents=True)
        (disk.path / "data" / "meta.properties").write_text("version=1\n")
        log = directory / f"{0:020d}.log"
        with open(log, "wb") as file:
            for offset in range(LARGE):
                file.write(batch_bytes([(None, os.urandom(850_000))], offset, timestamp=offset, leader_epoch=0))
            os.fsync(file.fileno())
        mounted = mount(disk.path / "data")
        os.stat(mounted.path / "large-0/by-offset/0")
        with open(log, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        before = resident(log)
        for offset in range(5, LARGE, 10):
            assert run("cat", f"{mounted.path}/large-0/by-offset/{offset}.jsonl").stdout
        assert resident(log) <= before + LARGE // 10 * 64 * PAGE
