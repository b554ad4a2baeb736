"""Reads that leave the page cache as it was, by descriptor: the right bytes, and which pages are dropped behind them.

On real mounts, and beside what is hot, `tests/live/test_neutral_reads.py` looks.
"""

import errno
import mmap
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs.disk.page_cache import LONG_READ, RWF_DONTCACHE, PageCache, absent
from tests.live.disks import plain, resident

PAGE = mmap.PAGESIZE
SIZE = 8 * LONG_READ + 1234
DATA = random.Random(1).randbytes(SIZE)


@pytest.fixture
def cache() -> PageCache:
    """It knows no file system yet."""
    return PageCache()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    """A file on a disk, none of it in memory."""
    with plain(tmp_path) as disk:
        (disk.path / "file").write_bytes(DATA)
        descriptor = os.open(disk.path / "file", os.O_RDWR)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        yield descriptor
        os.close(descriptor)


def in_memory(descriptor: int) -> int:
    return resident(Path(os.readlink(f"/proc/self/fd/{descriptor}")))


def device(descriptor: int) -> int:
    return os.fstat(descriptor).st_dev


@pytest.mark.parametrize("refuses", [True, False], ids=["refuses", "takes what the kernel does"])
@pytest.mark.parametrize("keep", [True, False])
def test_any_range_is_the_bytes_of_the_file(file: int, cache: PageCache, refuses: bool, keep: bool) -> None:
    """Long and short, over the end and behind it, from the middle of a page."""
    cache.opened(file, device(file), keep)
    if refuses:
        cache.takes[device(file)] = False
    chance = random.Random(2)
    for _ in range(60):
        at, size = chance.randrange(SIZE + 5000), chance.choice([0, 1, PAGE, LONG_READ - 1, LONG_READ, 3 * LONG_READ])
        buffer = memoryview(bytearray(size))
        got = cache.read_blocking(file, buffer, at, keep=keep, passing=chance.random() < 0.5)
        assert bytes(buffer[:got]) == DATA[at : at + size]
        assert not any(buffer[got:])


@pytest.mark.parametrize("refuses", [True, False], ids=["refuses", "takes what the kernel does"])
def test_a_long_read_of_cold_pages_leaves_none(file: int, cache: PageCache, refuses: bool) -> None:
    """The broker's own pages would have to give way to them. What passes by between long reads is treated alike."""
    cache.opened(file, device(file), False)
    if refuses:
        cache.takes[device(file)] = False
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    before = in_memory(file)
    for at in range(0, SIZE, LONG_READ):
        cache.read_blocking(file, memoryview(bytearray(LONG_READ)), at, keep=False, passing=True)
    assert in_memory(file) <= before + 4 * PAGE
    cache.read_blocking(file, memoryview(bytearray(SIZE)), 0, keep=True)
    assert in_memory(file) > SIZE // 2, "told to keep them, it does"


def test_which_pages_are_absent_is_reported_page_by_page(file: int) -> None:
    """A stretch each, cut to whole pages, of any range; pages that are there are in none."""
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    if in_memory(file):
        pytest.skip("this kernel keeps what it was told to drop")
    assert absent(file, 0, 20 * PAGE) == [(0, 20 * PAGE)]
    for page in (3, 4, 9):
        os.pread(file, 1, page * PAGE)
    stretches = [(1, 2), (5, 4), (10, 2)]
    assert absent(file, PAGE + 5, 10 * PAGE) == [(first * PAGE, count * PAGE) for first, count in stretches]
    assert absent(file, 3 * PAGE + 1, PAGE) == []


def test_where_the_kernel_does_not_tell_nothing_is_dropped(tmp_path: Path) -> None:
    """A pipe has no pages, as a stranger's file has none to tell of."""
    reading, writing = os.pipe()
    assert absent(reading, 0, PAGE) == []
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("refusal", [errno.EOPNOTSUPP, errno.EINVAL, errno.EIO, None])
def test_a_file_system_is_asked_once_and_trouble_is_no_answer(
    file: int, cache: PageCache, monkeypatch: pytest.MonkeyPatch, refusal: int | None
) -> None:
    """What a disk said in its trouble would count for as long as the mount stands."""
    asked: list[int] = []

    def preadv(*arguments: object) -> int:
        asked.append(int(arguments[3]))  # type: ignore[call-overload]
        if refusal is not None:
            raise OSError(refusal, "no")
        return 1

    monkeypatch.setattr(os, "preadv", preadv)
    assert not cache.opened_at_once(file, device(file), False)
    for _ in range(2):
        cache.opened(file, device(file), False)
    known = refusal != errno.EIO
    assert asked == [RWF_DONTCACHE] * (1 if known else 2)
    assert cache.takes == ({device(file): refusal is None} if known else {})
    assert cache.opened_at_once(file, device(file), False) == known


@pytest.mark.parametrize(("answer", "flags"), [(None, RWF_DONTCACHE), (True, RWF_DONTCACHE), (False, 0)])
def test_who_must_not_wait_reads_so_only_where_nothing_stays_behind(
    cache: PageCache, answer: bool | None, flags: int
) -> None:
    """Dropping takes a look before and a call behind; so a long read of a file system that refuses has to wait."""
    if answer is not None:
        cache.takes[7] = answer
    assert cache.flags_at_once(7, LONG_READ - 1, False) == flags
    assert cache.flags_at_once(7, LONG_READ, False) == (flags or None)
    assert cache.flags_at_once(7, LONG_READ, True) == 0
