"""Streams against the text they are made of: any reads, any threads, errors and impatience in between."""

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.disk.blocking import may_block, non_blocking
from kafkafs.errors import CorruptData, DiskError, WouldBlock
from kafkafs.view import streams
from kafkafs.view.streams import TURN_S, Pieces, Stream, TextBudget, TextLimits
from tests.promises import at_most


def maker(pieces: list[list[bytes]]) -> Callable[[int], Pieces]:
    """Text in groups: group n is what offset n gives, in pieces of which only the last can be gone on from."""

    def make(offset: int) -> Pieces:
        for number in range(offset, len(pieces)):
            *first, last = pieces[number]
            yield from ((None, piece) for piece in first)
            yield number + 1, last

    return make


groups = st.lists(st.lists(st.binary(max_size=300), min_size=1, max_size=3), max_size=40)
reads = st.lists(st.tuples(st.integers(0, 9000), st.integers(1, 4000)), max_size=30)


@given(pieces=groups, asked=reads, kept=st.integers(1, 500), mark=st.integers(1, 500), small=st.integers(0, 500))
def test_any_read_is_a_slice_of_the_text(pieces, asked, kept, mark, small):
    """Whoever goes back, or far ahead, gets the same bytes as who reads straight on."""
    whole = b"".join(piece for group in pieces for piece in group)
    limits = TextLimits(kept=kept, mark_every=mark, small=small)
    stream = Stream(maker(pieces), 0, TextBudget(time.monotonic, limits=limits))
    for at, size in asked:
        got = bytes(stream.read(at, size))
        assert got == whole[at : at + size]


@given(pieces=groups, asked=st.lists(st.tuples(st.integers(0, 4), reads.map(tuple)), max_size=20),
       budget=st.integers(1, 3000))  # fmt: skip
def test_who_rests_reads_on_as_if_he_had_not(pieces, asked, budget):
    """Streams that hold too much together let go of it; only who was read last may hold more than there is."""
    whole = b"".join(piece for group in pieces for piece in group)
    text_budget = TextBudget(time.monotonic, budget, TextLimits(mark_every=200))
    opened = [Stream(maker(pieces), 0, text_budget) for _ in range(5)]
    for number, places in asked:
        for at, size in places:
            assert bytes(opened[number].read(at, size)) == whole[at : at + size]
            opened[number].prefetch()
            others = [stream for stream in opened if stream is not opened[number]]
            if opened[number].kept_bytes:  # at its end it makes nothing, and the one before it is the last that did
                assert sum(stream.kept_bytes for stream in others) <= budget
    for stream in opened:
        stream.close()
    assert text_budget.has_spare


def test_who_is_read_does_not_rest():
    """A thread that makes text is not disturbed, and who asks him to rest does not wait for it."""
    reading, go_on = threading.Event(), threading.Event()

    def make(_: int) -> Pieces:
        reading.set()
        assert go_on.wait(300)
        yield 1, b"text"

    stream = Stream(make, 0, TextBudget(time.monotonic))
    reader = threading.Thread(target=stream.read, args=(0, 4))
    reader.start()
    assert reading.wait(300)
    assert not stream.release()
    go_on.set()
    reader.join(300)
    assert stream.release()
    assert bytes(stream.read(0, 4)) == b"text"


def test_what_is_kept_is_bounded():
    """A terabyte read in one go, and then once more from its middle."""

    def make(offset: int) -> Pieces:
        return ((number + 1, bytes(100_000)) for number in range(offset, 400))

    stream = Stream(make, 0, TextBudget(time.monotonic))
    for at in [*range(0, 40_000_000, 130_000), 39_999_999, 5, 20_000_000]:
        stream.read(at, 130_000)
        assert stream.kept_bytes < TextLimits().kept + 400_000


class Large(bytearray):
    """A buffer that references can be weak to."""


def test_small_pieces_keep_no_large_buffers():
    """Sixteen followers of a record each half a second took 280 MiB in half an hour."""
    buffers: list[ref[Large]] = []

    def make(offset: int) -> Pieces:
        for number in range(offset, 10_000):
            buffer = Large(4096)
            buffers.append(ref(buffer))
            yield number + 1, memoryview(buffer)[:100]

    stream = Stream(make, 0, TextBudget(time.monotonic))
    for at in range(0, 1_000_000, 100):
        assert len(stream.read(at, 100)) == 100
    assert sum(buffer() is not None for buffer in buffers) <= 2


@pytest.mark.parametrize("limits", [TextLimits(), TextLimits(mark_every=50_000, kept=20_000)])
def test_many_readers_get_the_same_bytes(limits):
    """From what is kept, and from marks."""
    pieces = [[random.Random(number).randbytes(1000)] for number in range(300)]
    whole, wrong = b"".join(piece for [piece] in pieces), []
    stream = Stream(maker(pieces), 0, TextBudget(time.monotonic, limits=limits))

    def read(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(100):
            at, size = chance.randrange(len(whole)), chance.randrange(1, 5000)
            if bytes(stream.read(at, size)) != whole[at : at + size]:
                wrong.append(at)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_an_impatient_read_leaves_nothing_half_done():
    """It is made again in a worker: nothing may be lost or doubled by the first attempt."""
    pieces = [[bytes([number]) * 50] for number in range(100)]
    whole, refused = b"".join(piece for [piece] in pieces), 0
    stream = Stream(maker(pieces), 0, TextBudget(time.monotonic))
    for at in [*range(0, 5000, 70), 10, 4900, 300]:
        try:
            with non_blocking():
                got = bytes(stream.read(at, 70))
        except WouldBlock:
            refused += 1
            got = bytes(stream.read(at, 70))
        assert got == whole[at : at + 70]
    assert refused


def test_a_reader_in_the_midst_does_not_make_the_impatient_wait():
    """One reader's gigabyte is not everybody's."""
    begun, go_on = threading.Event(), threading.Event()

    def make(_: int) -> Pieces:
        begun.set()
        assert go_on.wait(300)
        yield 1, b"x"

    stream = Stream(make, 0, TextBudget(time.monotonic))
    reader = threading.Thread(target=stream.read, args=(0, 1))
    reader.start()
    assert begun.wait(300)
    with non_blocking(), pytest.raises(WouldBlock):
        stream.read(0, 1)
    go_on.set()
    reader.join()
    with non_blocking():
        assert bytes(stream.read(0, 1)) == b"x"


def test_what_stands_before_an_error_comes_first():
    def make(offset: int) -> Pieces:
        for number in range(offset, 5):
            yield number + 1, b"%d" % number * 10
        raise CorruptData("there")

    stream = Stream(make, 0, TextBudget(time.monotonic))
    assert bytes(stream.read(0, 1000)) == b"".join(b"%d" % number * 10 for number in range(5))
    for _ in range(2):
        with pytest.raises(CorruptData):
            stream.read(50, 10)
        assert bytes(stream.read(45, 1000)) == b"44444"
    assert bytes(stream.read(0, 10)) == b"0" * 10


@pytest.mark.parametrize("error", [DiskError("gone for a moment"), MemoryError(), RuntimeError("a bug")])
def test_an_error_of_the_moment_is_no_end_of_the_text(error):
    """Regression: a generator that raised is over, and its next answer passed for the end of the range."""
    failing = [error]

    def make(offset: int) -> Pieces:
        for number in range(offset, 10):
            if number == 5 and failing:
                raise failing.pop()
            yield number + 1, b"%d" % number * 10

    stream = Stream(make, 0, TextBudget(time.monotonic))
    with pytest.raises(type(error)):
        stream.read(0, 1000)
    whole = b"".join(b"%d" % number * 10 for number in range(10))
    assert bytes(stream.read(0, 1000)) == whole
    assert bytes(stream.read(60, 1000)) == whole[60:]


def test_a_follower_goes_on_where_it_ended():
    """Between two looks any number of records may have come; none is given twice."""
    pieces: list[list[bytes]] = []
    stream = Stream(maker(pieces), 0, TextBudget(time.monotonic), grown=lambda: True)
    assert stream.follows
    text = b""
    for number in range(30):
        assert bytes(stream.read(len(text), 100)) == b""
        pieces += [[b"%03d" % number]] * (number % 4)
        while got := bytes(stream.read(len(text), 5)):
            text += got
        assert text == b"".join(piece for [piece] in pieces)


def test_a_follower_at_its_end_waits_for_nobodys_turn(calls):
    """Beside threads that make gigabytes a record would come late; who is far behind takes turns as they do."""
    budget = TextBudget(time.monotonic)
    asked = calls(budget, "turn")
    pieces = [[b"history"]]
    stream = Stream(maker(pieces), 0, budget, grown=lambda: True)
    assert bytes(stream.read(0, 100)) == b"history"
    assert asked
    asked.clear()
    pieces += [[b"new"]]
    assert bytes(stream.read(7, 100)) == b"new"
    assert not asked
    pieces += [[bytes(streams.LITTLE)], [b"history"]]
    at = 10
    while got := len(stream.read(at, 100)):
        at += got
    assert asked


def test_a_closed_stream_holds_nothing():
    held = {1}
    known = ref(held)
    stream = Stream(maker([[b"x" * 1000]]), 0, TextBudget(time.monotonic), held=held)
    del held
    stream.read(0, 10)
    assert (stream.kept_bytes, known() is None) == (1000, False)
    stream.close()
    assert (stream.kept_bytes, known()) == (0, None)


def test_patience_is_asked_for_before_work_begins():
    """The thread that serves everybody must not decode a batch, not even one."""

    def make(_: int) -> Iterator[tuple[int | None, bytes]]:
        may_block()
        yield 1, b"made"

    stream = Stream(make, 0, TextBudget(time.monotonic))
    with non_blocking(), pytest.raises(WouldBlock):
        stream.read(0, 10)
    assert bytes(stream.read(0, 10)) == b"made"


def test_a_turn_comes_though_those_before_it_hang():
    """They may wait for a disk that does not answer; another disk's readers must not."""
    budget = TextBudget(time.monotonic)
    with ExitStack() as hung:
        for _ in range(max(1, len(os.sched_getaffinity(0)) - 1)):
            hung.enter_context(budget.turn())
        began = time.monotonic()
        with budget.turn():
            assert time.monotonic() - began >= 0.8 * TURN_S
    began = time.monotonic()
    for _ in range(100):
        with budget.turn():
            pass
    assert time.monotonic() - began < at_most(100 * TURN_S / 2), (
        "each is given back, and the one that was not waited for was none"
    )
