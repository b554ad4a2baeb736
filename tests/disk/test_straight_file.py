"""A reader that goes straight through an object gets the bytes of the object, whatever it reads and whatever fails."""

import os
import random
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.disk import straight_file
from kafkafs.disk.chunk_cache import ChunkCache
from kafkafs.disk.chunked_file import ChunkedFile, ReadsAhead
from kafkafs.disk.data_file import DataFile, DiskOptions

SIZE = 9 << 20
DATA = random.Random(7).randbytes(1 << 20) * 9
CHUNK = 1 << 20


@dataclass
class _Store:
    """Counts what is asked of it. Of the streams, some end too soon, and some do not begin."""

    fails: Callable[[int], bool] = lambda _: False
    asked: list[tuple[int, int]] = field(default_factory=list)
    opened: int = 0

    def chunks(self, first: int, count: int) -> Sequence[bytes]:
        self.asked.append((first * CHUNK, min(count * CHUNK, SIZE - first * CHUNK)))
        return [DATA[at * CHUNK : at * CHUNK + CHUNK] for at in range(first, first + count)]

    def stream(self, position: int, size: int) -> "_Stream | None":
        self.opened += 1
        if self.fails(2 * self.opened):
            return None
        self.asked.append((position, size))
        return _Stream(DATA[position : position + size], size // 2 if self.fails(2 * self.opened + 1) else size)

    def file(self) -> ChunkedFile:
        about = os.stat_result((stat.S_IFREG | 0o444, 1, 1, 1, 0, 0, SIZE, 0, 0, 0))
        ahead = ReadsAhead(lambda _: False, self.stream)
        return ChunkedFile("x.log", about, CHUNK, self.chunks, ChunkCache(), DiskOptions(), ahead)


@dataclass
class _Stream:
    data: bytes
    good: int
    at: int = 0

    def read_into(self, view: memoryview) -> bool:
        if self.at + len(view) > self.good:
            return False
        view[:] = self.data[self.at : self.at + len(view)]
        self.at += len(view)
        return True

    def close(self) -> None:
        self.good = 0


def through(reader: DataFile, position: int, end: int, step: int, back: int) -> bytes:
    """As a walk of batches reads: each read begins a little before the end of the one before."""
    read = bytearray()
    while position + len(read) < end:
        at = max(position, position + len(read) - back)
        view = reader.read_long(at, min(step, end - at))
        read[at - position :] = view
    return bytes(read)


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize(("position", "end"), [(0, SIZE), (0, SIZE + 61), (123_456, SIZE - 77), (1, 5 << 20)])
def test_each_byte_is_asked_for_once(position, end, is_whole):
    store = _Store()
    reader = store.file().straight(position, end, is_whole=is_whole)
    assert isinstance(reader, straight_file.StraightFile)
    end = min(end, SIZE)
    assert through(reader, position, end, 900_000, 100_000) == DATA[position:end]
    begin = position if is_whole else position - position % CHUNK  # one that may be of a point begins with a chunk
    assert sum(size for _, size in store.asked) == end - begin
    assert store.asked == sorted(store.asked)
    assert store.asked[0] == (begin, min(8 << 20 if is_whole else 1 << 20, end - begin))


def test_what_is_in_memory_is_not_asked_for():
    store = _Store()
    file = store.file()
    assert file.read(2 << 20, 100) == DATA[2 << 20 : (2 << 20) + 100]
    for begin in (50, 100_000):  # who has read a part of that already begins behind it
        reader = file.straight((2 << 20) + 50, SIZE)
        assert through(reader, (2 << 20) + begin, SIZE, 1 << 20, 0) == DATA[(2 << 20) + begin :]
        assert sum(size for _, size in store.asked) == SIZE - (2 << 20)
        del store.asked[1:]


@pytest.mark.parametrize(("size", "end"), [(8 << 20, 8 << 20), (SIZE, 1 << 20)])
def test_what_is_small_is_read_as_it_is(size, end):
    about = os.stat_result((stat.S_IFREG | 0o444, 1, 1, 1, 0, 0, size, 0, 0, 0))
    store = _Store()
    ahead = ReadsAhead(lambda _: False, store.stream)
    file = ChunkedFile("x.log", about, CHUNK, store.chunks, ChunkCache(), DiskOptions(), ahead)
    assert file.straight(0, end) is file


@given(
    st.sets(st.integers(2, 40)), st.integers(0, 3 << 20), st.integers(0, SIZE),
    st.lists(st.tuples(st.integers(-2_000_000, 2_000_000), st.integers(0, 2_500_000)), max_size=12),
)  # fmt: skip
def test_any_reads_give_the_bytes_that_are_there(failing, position, end, reads):
    """Against a naive model: whatever a reader does with it, and whichever requests fail."""
    store = _Store(failing.__contains__)
    reader, at = store.file().straight(position, end), position
    for jump, size in reads:
        at = max(0, min(at + jump // 8 if abs(jump) < 1_000_000 else at, SIZE))
        expected, buffer = DATA[at : at + size], memoryview(bytearray(size))
        assert bytes(reader.read_long(at, size)) == expected
        assert reader.read(at, min(size, 100)) == expected[:100]
        assert (reader.read_into(buffer, at), bytes(buffer[: len(expected)])) == (len(expected), expected)
        at += size


def test_what_came_damaged_is_fetched_again():
    store = _Store()
    reader = store.file().straight(0, SIZE)
    assert bytes(reader.read_long(0, 2 << 20)) == DATA[: 2 << 20]
    before = len(store.asked)
    assert reader.forget(1 << 20, 100)
    assert bytes(reader.read_long(1 << 20, 2 << 20)) == DATA[1 << 20 : 3 << 20]
    assert len(store.asked) > before
