"""Texts of a known size against the text that they are made of: any reads, growth, rest and damage in between."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, cast
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.disk.blocking import time_slice
from kafkafs.errors import CorruptData, Unfinished, Vanished
from kafkafs.log.segment import Segment
from kafkafs.view.exact import ExactContent, ExactText, ExactTexts, LogSpan
from kafkafs.view.streams import Pieces, TextLimits
from tests.view.trees import assert_random_access, read


class Piece(NamedTuple):
    """As much of a segment as a text looks at."""

    name: str
    object: str | None = None


SEGMENTS = cast(tuple[Segment, ...], (Piece("first"), Piece("second")))


class Log:
    """Text by offsets: `lines` as long as nothing is cut; `fails_at` is an offset that cannot be read."""

    def __init__(self, lines: list[bytes]) -> None:
        self.lines = lines
        self.fails_at: int | None = None
        self.made = 0  # lines, by anybody

    def make(self, end: int) -> Callable[[int], Pieces]:
        def make(start: int) -> Iterator[tuple[int, bytes]]:
            for offset in range(start, end):
                if offset == self.fails_at:
                    raise CorruptData("it is damaged there")
                if offset >= len(self.lines):
                    raise Vanished("it was cut")
                self.made += 1
                yield offset + 1, self.lines[offset]

        return make

    def span(self, end: int, segments: tuple[Segment, ...] = SEGMENTS[:1], start: int = 0) -> LogSpan:
        return LogSpan(start, end, segments, None)

    def text(self, end: int) -> bytes:
        return b"".join(self.lines[:end])


def measured(texts: ExactTexts, log: Log, end: int, segments: tuple[Segment, ...] = SEGMENTS[:1]) -> ExactText[LogSpan]:
    return texts.measured("range", log.span(end, segments), log.make(end))


def opened(text: ExactText[LogSpan]) -> ExactContent:
    return text.opened(None)


@pytest.fixture
def texts() -> ExactTexts:
    return ExactTexts(time.monotonic)


@given(st.data())
def test_each_text_keeps_its_size_and_bytes_while_its_name_goes_on(data):
    """Of a log that grows, is cut, is damaged and rests: what is open is a prefix of what its log ever was."""
    kept, mark_every, small = (data.draw(st.integers(1, 300)) for _ in range(3))
    measured_bytes = data.draw(st.integers(0, 2000))
    limits = TextLimits(kept=kept, mark_every=mark_every, small=small, measured=measured_bytes, texts=2)
    texts, log, generation = ExactTexts(time.monotonic, limits), Log([]), 0
    open_texts: list[tuple[ExactContent, bytes, bool]] = []
    for step in range(data.draw(st.integers(1, 12))):
        move = data.draw(st.sampled_from(["append", "append", "cut", "damage", "rest", "another"]))
        if move == "append":
            log.lines += [b"%d.%d " % (step, number) * 9 for number in range(data.draw(st.integers(1, 30)))]
        elif move == "cut":
            log, generation = Log([b"%d;" % step] * data.draw(st.integers(0, 9))), generation + 1
        elif move == "damage" and log.lines:
            log, generation = Log(log.lines), generation + 1
            log.fails_at = data.draw(st.integers(0, len(log.lines) - 1))
        elif move == "rest":
            texts.budget.release_idle()
            for content, _, _ in open_texts:
                content.text.release()
                content.release()
        else:
            texts.measured(step, log.span(len(log.lines)), log.make(len(log.lines)))
        segments = cast(tuple[Segment, ...], (Piece(f"generation {generation}"),))
        text = measured(texts, log, len(log.lines), segments)
        wanted, fails = log.text(len(log.lines) if log.fails_at is None else log.fails_at), text.error is not None
        assert fails == (log.fails_at is not None)
        assert text.size == len(wanted) + fails
        open_texts.append((opened(text), wanted, fails))
        for content, wanted, fails in open_texts:
            at, size = data.draw(st.integers(0, len(wanted) + 9)), data.draw(st.integers(1, 700))
            if fails and at + size > len(wanted) and (at >= len(wanted) or at != content._read_to):
                with pytest.raises(CorruptData):
                    content.read(at, size)
            else:
                assert bytes(content.read(at, size)) == wanted[at : at + size]
    for content, _, _ in open_texts:
        content.close()


def test_what_was_made_for_the_size_is_not_made_again_for_the_read(texts):
    log = Log([b"x" * 99 + b"\n"] * 1000)
    content = opened(measured(texts, log, 1000))
    assert read(content) == log.text(1000)
    assert read(opened(measured(texts, log, 1000))) == log.text(1000)
    assert log.made == 1000


def test_what_was_read_to_its_end_makes_room_once_nobody_has_it_open(texts):
    """The next text is made in the same memory."""
    log = Log([b"x" * 99 + b"\n"] * 1000)
    content, other = (opened(measured(texts, log, 1000)) for _ in range(2))
    assert read(content) == log.text(1000)
    content.close()
    assert (read(other), log.made) == (log.text(1000), 1000)
    other.close()
    assert other.text.kept_bytes == 0
    assert (texts.budget.total, measured(texts, log, 1000) is other.text) == (0, True)
    assert read(opened(other.text)) == log.text(1000)


def test_what_came_behind_is_all_that_is_made_when_the_log_grew(texts):
    log = Log([b"x" * 99 + b"\n"] * 1000)
    before = opened(measured(texts, log, 900))
    after = opened(measured(texts, log, 1000, SEGMENTS))
    assert (read(before), read(after)) == (log.text(900), log.text(1000))
    assert log.made == 1000


def test_a_read_anywhere_makes_little_and_memory_does_not_grow_with_the_range():
    """Two megabytes at most for a page of 40 MiB, and what is held is bounded."""
    texts = ExactTexts(time.monotonic, TextLimits(measured=1 << 20))
    log = Log([b"%07d" % number + b"." * 992 + b"\n" for number in range(40_000)])
    content = opened(measured(texts, log, 40_000))
    whole, chance = log.text(40_000), random.Random(1)
    for _ in range(100):
        at, before = chance.randrange(len(whole)), log.made
        assert bytes(content.read(at, 4096)) == whole[at : at + 4096]
        assert log.made - before <= 2 * 1024 + 64
    assert content.text.kept_bytes + content.kept_bytes < 12 << 20
    assert len(content.text.marks) <= 41
    assert_random_access(content, whole, reads=30)


def test_many_readers_get_the_same_bytes(texts):
    log = Log([b"%05d" % number * 20 for number in range(40_000)])
    content, whole, wrong = opened(measured(texts, log, 40_000)), log.text(40_000), []

    def reads(seed: int) -> None:
        try:
            assert_random_access(content, whole, seed, reads=40)
        except BaseException as error:  # what a thread raises is lost
            wrong.append(error)

    threads = [threading.Thread(target=reads, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert wrong == []


def test_a_text_that_its_log_lost_is_vanished_and_never_short():
    """A page of it that the kernel kept would be filled up with zeros."""
    texts = ExactTexts(time.monotonic, TextLimits(measured=0))
    log = Log([b"x" * 999 + b"\n"] * 3000)
    content = opened(measured(texts, log, 3000))
    assert content.text.release()
    del log.lines[1500:]
    assert bytes(content.read(0, 1000)) == b"x" * 999 + b"\n"
    with pytest.raises(Vanished):
        content.read(1_400_000, 1_000_000)
    with pytest.raises(Vanished):
        measured(texts, log, 3100)


def test_a_long_measurement_is_made_in_parts():
    """Each call keeps what it has made, and no worker is taken for one that hangs."""
    texts = ExactTexts(time.monotonic, TextLimits(part_s=0.0))
    log, parts = Log([b"x" * 1000] * 2000), 0
    while True:
        try:
            with time_slice(0.0001):
                text = measured(texts, log, 2000)
            break
        except Unfinished:
            parts += 1
    assert parts > 1
    assert (text.size, log.made) == (2_000_000, 2000)


def test_a_log_that_grows_while_it_is_measured_adds_nothing_to_what_there_was():
    """The text that is begun ends where its log did, whatever there is by the time that it goes on."""
    texts = ExactTexts(time.monotonic, TextLimits(part_s=0.0))
    log = Log([b"line %d\n" % number for number in range(20_000)])
    with pytest.raises(Unfinished), time_slice(0.0):
        measured(texts, log, 10_000)
    assert texts._known["range"].release()
    text = measured(texts, log, 20_000)
    assert text.size == len(log.text(20_000))
    assert read(opened(text)) == log.text(20_000)


def test_what_nobody_has_open_is_gone_when_it_is_pushed_out():
    texts = ExactTexts(time.monotonic, TextLimits(texts=3))
    log = Log([b"x"] * 10)
    content = opened(texts.measured(0, log.span(10), log.make(10)))
    known = ref(content.text)
    for key in range(1, 4):
        texts.measured(key, log.span(10), log.make(10))
    assert read(content) == b"x" * 10
    content.close()
    del content
    assert known() is None
    assert texts.budget.total == 3 * 10


def test_other_lines_are_another_text(texts):
    """A schema that came later changes what records before it look like."""
    log = Log([b"x"] * 3)
    old, again, new = (
        texts.measured("range", log.span(3)._replace(made_by=made_by), log.make(3)) for made_by in ("old", "old", "new")
    )
    assert old is again
    assert old is not new


@pytest.mark.parametrize(("key", "again"), [(None, False), ("an/object", True)])
def test_a_text_that_ended_in_an_error_of_a_tier_is_made_again_after_a_while(key, again):
    """A store may answer by then. A file of the disk stays as it is: its text is measured once."""
    now, log = [100.0], Log([b"%d " % number for number in range(9)])
    texts, segments = ExactTexts(lambda: now[0]), cast(tuple[Segment, ...], (Piece("first", key),))
    log.fails_at = 5
    text = measured(texts, log, 9, segments)
    assert (text.error is not None, text.size) == (True, len(log.text(5)) + 1)
    log.fails_at = None
    now[0] += 1
    assert measured(texts, log, 9, segments) is text
    now[0] += 60
    assert measured(texts, log, 9, segments).size == (len(log.text(9)) if again else text.size)
