"""Reading ahead gives the file's own bytes, reads the disk once, and takes a fixed amount of memory."""

import os
import random
from pathlib import Path

import pytest

from kafkafs.disk import prefetch
from kafkafs.disk.blocking import non_blocking
from kafkafs.disk.budget import Budget
from kafkafs.disk.data_file import DataFile
from kafkafs.disk.directory import Directory
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.disk.prefetch import BLOCK, MEMORY, Prefetch
from kafkafs.errors import WouldBlock
from tests.mounting import wait_until

SIZE = 5 * BLOCK + 12_345
BUDGET = Budget(MEMORY)
_READERS = MEMORY // prefetch.MOST


@pytest.fixture
def directory(tmp_path: Path) -> Directory:
    """Two files that are not in memory."""
    for name in ("a", "b"):
        with open(tmp_path / name, "wb") as file:
            file.write(random.Random(name).randbytes(SIZE))
            os.fsync(file.fileno())
    cool(tmp_path)
    return LocalDirectory(str(tmp_path))


def cool(place: Path) -> None:
    for name in ("a", "b"):
        with open(place / name, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Reader:
    """Reads as `fuse` does: at once, or else in a worker; afterwards a worker may go ahead."""

    def __init__(self) -> None:
        self.prefetch = Prefetch(BUDGET)
        self.waits = 0

    def read(self, file: DataFile, position: int, size: int, end: int = SIZE) -> bytes:
        try:
            with non_blocking():
                data = bytes(self.prefetch.read(file, position, size, end))
        except WouldBlock:
            self.waits += 1
            data = bytes(self.prefetch.read(file, position, size, end))
        if self.prefetch.is_due:
            self.prefetch.fill()
        return data

    def read_through(self, file: DataFile, size: int, start: int = 0) -> bytes:
        return b"".join(self.read(file, position, size) for position in range(start, SIZE, size))


@pytest.fixture
def reader():
    reader = Reader()
    yield reader
    reader.prefetch.close()


@pytest.mark.parametrize("start", [0, 1, 777_777])
@pytest.mark.parametrize("size", [60_000, 128 << 10, 1 << 20])
def test_who_reads_straight_on_finds_what_he_asks_for(directory, tmp_path, reader, start, size):
    got = reader.read_through(directory.open_now("a"), size, start)
    assert got == (tmp_path / "a").read_bytes()[start:]
    assert reader.waits <= 2 + -(-prefetch.STRAIGHT // size)


@pytest.mark.parametrize("size", [64 << 10, 256 << 10, 1 << 20])
def test_the_disk_is_read_once(directory, reader, size):
    """Not again whatever of a folio was dropped behind the read before."""
    before = disk_bytes()
    reader.read_through(directory.open_now("a"), size)
    assert disk_bytes() - before <= SIZE + (1 << 20)


def disk_bytes() -> int:
    """What this process had read from disks."""
    return int(Path("/proc/self/io").read_text().split("\nread_bytes: ")[1].split("\n")[0])


def test_reads_in_any_order_in_two_files(directory, tmp_path, reader):
    chance = random.Random(7)
    whole = {name: (tmp_path / name).read_bytes() for name in "ab"}
    cool(tmp_path)
    files = {name: directory.open_now(name) for name in "ab"}
    name, position, end = "a", 0, SIZE
    for _ in range(600):
        if chance.random() < 0.1:
            name, position = chance.choice("ab"), chance.randrange(SIZE)
            end = chance.randrange(position, SIZE + 1)
        size = chance.choice([1, 4096, 128 << 10, 1 << 20])
        assert reader.read(files[name], position, size, end) == whole[name][position : min(position + size, end)]
        position += size
        if position >= end:
            name, position, end = chance.choice("ab"), 0, SIZE


def test_what_was_written_since_is_read_again(directory, tmp_path, reader):
    file = directory.open_now("a")
    for position in range(0, BLOCK, 1 << 18):
        reader.read(file, position, 1 << 18)
    assert reader.prefetch.made is not None
    with open(tmp_path / "a", "r+b") as writer:
        writer.seek(BLOCK)
        writer.write(b"new")
    assert reader.read(file, BLOCK, 3) == b"new"
    os.truncate(tmp_path / "a", BLOCK + 100)
    assert reader.read(file, BLOCK + 3, 1000, BLOCK + 100) == (tmp_path / "a").read_bytes()[BLOCK + 3 :]


def test_few_have_memory_and_all_get_their_bytes(directory, tmp_path):
    readers = [Reader() for _ in range(_READERS + 4)]
    whole = (tmp_path / "a").read_bytes()
    cool(tmp_path)
    file = directory.open_now("a")
    for position in range(0, SIZE, 1 << 18):
        for reader in readers:
            assert reader.read(file, position, 1 << 18) == whole[position : position + (1 << 18)]
        held = [reader.prefetch.made for reader in readers if reader.prefetch.made is not None]
        assert len(held) <= _READERS
        assert all(made.end - made.position <= prefetch.MOST for made in held)
    for reader in readers:
        reader.prefetch.close()
    assert BUDGET.has_spare


def read_a_block(reader: Reader, file: DataFile) -> None:
    for position in range(0, BLOCK, 1 << 18):
        reader.read(file, position, 1 << 18)


def test_who_has_stopped_loses_his_blocks_to_another(directory, tmp_path):
    file, whole = directory.open_now("a"), (tmp_path / "a").read_bytes()
    readers = [Reader() for _ in range(_READERS)]
    another = Reader()

    def another_has_blocks() -> bool:
        cool(tmp_path)
        read_a_block(another, file)
        return another.prefetch.made is not None

    for reader in readers:
        cool(tmp_path)
        read_a_block(reader, file)
    wait_until(another_has_blocks)
    assert [reader.prefetch.made is None for reader in readers] == [True] + [False] * (len(readers) - 1)
    assert readers[0].read(file, BLOCK, 1 << 18) == whole[BLOCK : BLOCK + (1 << 18)]
    for reader in (*readers, another):
        reader.prefetch.close()
