"""A file in chunks gives the same bytes as one that lies in one piece, and fetches each chunk that it needs once."""

import os
import random
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.disk.blocking import non_blocking
from kafkafs.disk.chunk_cache import ChunkCache
from kafkafs.disk.chunked_file import ChunkedFile
from kafkafs.disk.data_file import DiskOptions
from kafkafs.errors import DiskError, WouldBlock

DATA = random.Random(5).randbytes(1000)


def chunked(size: int, fetched: list[int], told: int = len(DATA), cache: ChunkCache | None = None) -> ChunkedFile:
    def chunks(first: int, count: int) -> list[bytes]:
        fetched.extend(range(first, first + count))
        return [DATA[number * size : number * size + size] for number in range(first, first + count)]

    about = os.stat_result((stat.S_IFREG | 0o444, 1, 1, 1, 0, 0, told, 0, 0, 0))
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


def test_a_chunk_of_another_size_than_was_announced_is_an_error():
    file = chunked(300, [], told=1100)
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
