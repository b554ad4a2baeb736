"""A file in chunks gives the same bytes as one that lies in one piece, and fetches each chunk that it needs once."""

import os
import random
import stat
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.disk.blocking import non_blocking
from kafkafs.disk.chunk_cache import ChunkCache
from kafkafs.disk.chunked_file import STRAIGHT, ChunkedFile
from kafkafs.disk.data_file import DiskOptions
from kafkafs.errors import DiskError, WouldBlock
from tests.mounting import wait_until

DATA = random.Random(5).randbytes(1000)


def chunked(size: int, fetched: list[int], reported: int = len(DATA), cache: ChunkCache | None = None) -> ChunkedFile:
    def chunks(first: int, count: int) -> list[bytes]:
        fetched.extend(range(first, first + count))
        return [DATA[number * size : number * size + size] for number in range(first, first + count)]

    about = os.stat_result((stat.S_IFREG | 0o444, 1, 1, 1, 0, 0, reported, 0, 0, 0))
    return ChunkedFile("x.log", about, size, chunks, ChunkCache() if cache is None else cache, DiskOptions())


@given(st.integers(1, 1200), st.lists(st.tuples(st.integers(0, 1100), st.integers(0, 1100)), max_size=8))
def test_reads_at_any_place_give_the_bytes_that_are_there(size, reads):
    fetched: list[int] = []
    file = chunked(size, fetched)
    for at, length in reads:
        expected, buffer = DATA[at : at + length], memoryview(bytearray(length))
        assert bytes(file.read(at, length)) == bytes(file.stream(at, length)) == expected
        assert bytes(file.read_long(at, length)) == expected
        assert (file.read_into(buffer, at), bytes(buffer[: len(expected)])) == (len(expected), expected)
    assert len(fetched) == len(set(fetched))


def test_who_must_not_wait_gets_what_is_here_and_no_more():
    fetched: list[int] = []
    file = chunked(100, fetched)
    file.read(250, 10)
    with non_blocking():
        assert file.read(210, 80) == DATA[210:290]
        with pytest.raises(WouldBlock):
            file.read(290, 20)
    assert fetched == [2]


@pytest.mark.parametrize("position", [-(1 << 31), -1, 1000, (1 << 31) - 1])
def test_places_that_no_file_has_are_not_fetched(position):
    """Regression: a damaged index named one, and IndexError ended the command."""
    fetched: list[int] = []
    chunked(100, fetched).fetch(position, 500)
    assert not fetched


def test_a_chunk_of_another_size_than_was_announced_is_an_error():
    file = chunked(300, [], reported=1100)
    assert file.read(0, 600) == DATA[:600]
    with pytest.raises(DiskError, match=r"chunk 3 of 'x.log' has 100 bytes, and 200 were announced"):
        file.read(900, 10)


def test_chunks_that_are_needed_together_are_one_request():
    """Two of any size, and more where they are small; none that is here already, and none that nobody asks for."""
    asked: list[tuple[int, int]] = []

    def chunks(first: int, count: int) -> list[bytes]:
        asked.append((first, count))
        return [DATA[number * 100 : number * 100 + 100] for number in range(first, first + count)]

    about = os.stat_result((stat.S_IFREG | 0o444, 1, 1, 1, 0, 0, len(DATA), 0, 0, 0))
    cache = ChunkCache()
    assert ChunkedFile("x", about, 100, chunks, cache, DiskOptions()).read(250, 120) == DATA[250:370]
    assert ChunkedFile("x", about, 100, chunks, cache, DiskOptions()).read(0, 560) == DATA[:560]
    assert asked == [(2, 2), (0, 2), (4, 2)]
    assert ChunkedFile("y", about, 100, chunks, ChunkCache(300), DiskOptions()).read(0, 1000) == DATA
    assert asked[3:] == [(0, 3), (3, 3), (6, 3), (9, 1)], "no more than are kept"


def long_file(size: int, asked: list[tuple[int, int]], cache: ChunkCache) -> tuple[ChunkedFile, bytes]:
    """One of 12 MiB in chunks of that size, and its bytes."""
    data = random.Random(1).randbytes(3 << 20) * 4

    def chunks(first: int, count: int) -> list[bytes]:
        asked.append((first, count))
        return [data[number * size : number * size + size] for number in range(first, first + count)]

    about = os.stat_result((stat.S_IFREG | 0o444, 1, 1, 1, 0, 0, len(data), 0, 0, 0))
    return ChunkedFile("x.log", about, size, chunks, cache, DiskOptions()), data


@pytest.mark.parametrize(("size", "most"), [(4 << 20, 3), (1 << 20, 12), (5000, 14)])
def test_what_is_read_straight_on_is_asked_for_before_and_once(size, most):
    """Each chunk in one request, of 4 MiB where they are small; as many are here before anybody asks for them."""
    asked: list[tuple[int, int]] = []
    cache = ChunkCache()
    file, data = long_file(size, asked, cache)
    others = set(threading.enumerate())  # of files of earlier tests
    for at in range(0, len(data), 100_000):
        assert file.read(at, 100_000) == data[at : at + 100_000]
        wait_until(lambda: "ahead" not in {each.name for each in set(threading.enumerate()) - others})
        behind = (at + 100_000 - 1) // size + 1
        assert at < STRAIGHT or behind * size >= len(data) or cache.has((file._object, behind))
    fetched = [first + number for first, count in asked for number in range(count)]
    assert sorted(fetched) == list(range(-(-len(data) // size)))
    assert len(asked) <= most


def test_nothing_is_read_ahead_of_points_nor_beyond_a_quarter_of_the_cache():
    asked: list[tuple[int, int]] = []
    file, _ = long_file(1 << 20, asked, ChunkCache())
    for at in (0, 3 << 20, 9 << 20):
        file.read(at, 300_000)
        file.read(at + 300_000, 300_000)
    assert asked == [(0, 1), (3, 1), (9, 1)]
    asked.clear()
    file, data = long_file(4 << 20, asked, ChunkCache(8 << 20))
    assert b"".join(file.read(at, 1 << 20) for at in range(0, len(data), 1 << 20)) == data
    assert asked == [(0, 1), (1, 1), (2, 1)]


def test_an_object_in_the_place_of_another_has_chunks_of_its_own():
    """Regression: of one that was put back after it had been cut a read never ended, for want of the bytes behind."""
    cache = ChunkCache()
    assert chunked(1000, [], reported=1000, cache=cache).read(0, 1000) == DATA
    about = os.stat_result((stat.S_IFREG | 0o444, 1, 1, 1, 0, 0, 1500, 0, 0, 0))
    longer = ChunkedFile("x.log", about, 2000, lambda *_: [DATA + DATA[:500]], cache, DiskOptions())
    assert longer.read(0, 2000) == DATA + DATA[:500]


def test_a_scan_drops_what_it_has_passed_and_nothing_else():
    """Regression: a scan of a log dropped the indexes and the log's end from the cache, and they were fetched twice.

    As a walk of batches does, each read begins a little before the end of the one before."""
    asked: list[tuple[int, int]] = []
    cache = ChunkCache(4 << 20)
    cache.keep("index", bytes(300_000))
    file, data = long_file(100_000, asked, cache)
    assert file.read(len(data) - 1000, 1000) == data[-1000:]
    others, position = set(threading.enumerate()), 0
    while position < len(data):
        assert file.read(position, 250_000) == data[position : position + 250_000]
        wait_until(lambda: "ahead" not in {each.name for each in set(threading.enumerate()) - others})
        position += 250_000 if position + 250_000 >= len(data) else 183_000
    fetched = [first + number for first, count in asked for number in range(count)]
    assert sorted(fetched) == list(range(-(-len(data) // 100_000)))
    assert cache.has("index")
