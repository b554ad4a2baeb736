"""The cache of chunks: bounded in bytes, and one fetch for all who want the same chunk."""

import random
import threading
import time

import pytest

from kafkafs.disk.chunk_cache import ChunkCache
from kafkafs.format.memory import Bytes


def test_what_was_used_last_is_kept_within_the_limit():
    cache, fetched = ChunkCache(30), list[int]()

    def piece(number: int) -> Bytes:
        def fetch() -> bytes:
            fetched.append(number)
            return bytes(10)

        return cache.get(number, fetch)

    for number in (0, 1, 2, 0, 3, 0, 1):
        piece(number)
    assert fetched == [0, 1, 2, 3, 1]
    assert cache.known(0) is not None
    assert cache.known(2) is None
    assert sum(len(cache.known(number) or b"") for number in range(4)) <= 30


def test_a_piece_larger_than_the_limit_is_handed_out_all_the_same():
    cache = ChunkCache(5)
    assert cache.get("a", lambda: bytes(10)) == bytes(10)
    assert cache.get("b", lambda: bytes(3)) == bytes(3)
    assert cache.known("a") is None


def test_many_readers_of_one_chunk_fetch_it_once():
    cache, fetched, found = ChunkCache(), list[int](), list[Bytes]()
    begin = threading.Barrier(8)

    def fetch() -> bytes:
        fetched.append(1)
        time.sleep(0.05)  # the others come meanwhile
        return b"x"

    def read() -> None:
        begin.wait(300)
        found.append(cache.get("a", fetch))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert (len(fetched), found) == (1, [b"x"] * 8)


PIECES = [bytes([name] * 10) for name in range(6)]


def test_many_threads_leave_the_count_of_bytes_right():
    """It decides what is dropped: too small a count fills the memory, and with too large a one nothing is kept."""
    cache, wrong = ChunkCache(30), list[object]()

    def use(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(100):
            name = chance.randrange(6)
            piece = cache.known(name) if chance.random() < 0.5 else cache.get(name, PIECES[name].__bytes__)
            if piece not in (None, PIECES[name]):
                wrong.append(piece)
            chance.choice((cache.passed, cache.forget, cache.has))(chance.randrange(6))

    threads = [threading.Thread(target=use, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    for name in range(6):
        cache.keep(name, bytes(10))
    assert (wrong, [name for name in range(6) if cache.has(name)]) == ([], [3, 4, 5])


def test_an_error_is_each_readers_own_and_nothing_is_remembered():
    cache = ChunkCache()

    def fail() -> bytes:
        raise OSError("away")

    for _ in range(2):
        with pytest.raises(OSError, match="away"):
            cache.get("a", fail)
    assert cache.get("a", lambda: b"back") == b"back"


def test_no_more_than_the_limit_is_fetched_at_a_time():
    """Each of them is in memory, though none is kept yet; what is larger than the limit is fetched alone."""
    cache, lock, under_way, most = ChunkCache(30), threading.Lock(), [0], [0]

    def read(number: int) -> None:
        size = 40 if number == 3 else 10

        def fetch() -> bytes:
            with lock:
                under_way[0] += size
                most[0] = max(most[0], under_way[0])
            time.sleep(0.01)  # the others come meanwhile
            with lock:
                under_way[0] -= size
            return bytes(size)

        cache.get(number, fetch, size)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert 10 <= most[0] <= 40
    assert under_way == [0]


def test_what_is_being_fetched_is_not_fetched_ahead_by_another_thread():
    cache, begun, go_on, fetched = ChunkCache(), threading.Event(), threading.Event(), list[int]()

    def fetch() -> bytes:
        fetched.append(1)
        begun.set()
        assert go_on.wait(60)
        return b"piece"

    assert cache.fetch_ahead("a", fetch, 5)
    assert begun.wait(60)
    assert all(cache.fetch_ahead("a", fetch, 5) for _ in range(50))  # for other threads there is no room
    go_on.set()
    assert cache.get("a", fetch) == b"piece"
    assert fetched == [1]


def test_what_a_reader_has_passed_is_dropped_first():
    cache = ChunkCache(30)
    for name in "abc":
        cache.keep(name, bytes(10))
    for name in ("none", "b", "c"):
        cache.passed(name)
    for name, left in (("d", "abd"), ("e", "ade"), ("f", "def")):
        cache.keep(name, bytes(10))
        assert [each for each in "abcdef" if cache.has(each)] == list(left)
