"""Open files and their numbers: a content is closed once, when nothing uses it any more, and never under a reader."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import Vanished
from kafkafs.fuse.serve.inodes import Handles, Inode, OpenFile
from kafkafs.view.about import AboutDirectory


class Text:
    """A content that tells how often it was closed, and fails where it is used afterwards."""

    size = 4
    follows = False
    kept_as = None

    def __init__(self) -> None:
        self.closed = 0

    def read(self, offset: int, size: int) -> bytes:
        assert not self.closed
        return b"text"[offset : offset + size]

    def close(self) -> None:
        self.closed += 1


class Follower(Text):
    follows = True


class Growing(Text):
    version = "first"
    prefetch_is_due = True
    prefetched = 0

    def grow(self) -> int:
        assert not self.closed
        return 5

    def prefetch(self) -> None:
        assert not self.closed
        self.prefetched += 1


class Slow(Text):
    """One whose reads end when they are told to."""

    def __init__(self) -> None:
        super().__init__()
        self.reading, self.go_on = threading.Semaphore(0), threading.Event()

    def read(self, offset: int, size: int) -> bytes:
        self.reading.release()
        assert self.go_on.wait(60)
        return super().read(offset, size)


def inode() -> Inode:
    return Inode(2, 2, None, b"file", "file", AboutDirectory({}))


def test_a_release_closes_what_nothing_reads():
    content, place = Text(), inode()
    file = OpenFile(place, content, 0)
    assert (file.read(1, 2), place.opened) == (b"ex", 1)
    file.release()
    assert (content.closed, place.opened) == (1, 0)


@pytest.mark.parametrize("readers", [1, 3])
def test_a_release_under_readers_leaves_the_closing_to_the_last(readers):
    """A read that took too long is given up, and its worker is still in it: closing under it would crash it."""
    content = Slow()
    file = OpenFile(inode(), content, 0)
    with ThreadPoolExecutor(readers) as threads:
        reads = [threads.submit(file.read, 0, 4) for _ in range(readers)]
        for _ in reads:
            assert content.reading.acquire(timeout=60)
        file.release()
        assert content.closed == 0
        content.go_on.set()
        assert [read.result(60) for read in reads] == [b"text"] * readers
    assert content.closed == 1


def test_what_is_asked_after_the_release_is_vanished():
    content = Growing()
    file = OpenFile(inode(), content, 0)
    file.release()
    for ask in (lambda: file.read(0, 4), file.grow):
        with pytest.raises(Vanished):
            ask()
    file.prefetch()
    assert (content.closed, content.prefetched) == (1, 0)


def test_a_read_that_fails_counts_as_ended():
    """Else its content, with the broker's files that it holds, would stay for good."""

    class Failing(Text):
        def read(self, offset: int, size: int) -> bytes:
            raise Vanished("gone")

    content = Failing()
    file = OpenFile(inode(), content, 0)
    with pytest.raises(Vanished):
        file.read(0, 4)
    file.release()
    assert content.closed == 1


def test_what_a_content_can_do_is_seen_by_its_methods():
    content = Growing()
    plain, growing = OpenFile(inode(), Text(), 0), OpenFile(inode(), content, 0)
    plain.prefetch()
    assert plain.prefetching is None
    assert growing.prefetching is content
    growing.prefetch()
    assert content.prefetched == 1
    assert growing.grow() == 5


def test_only_one_that_waits_is_asked_who_opened_it():
    """That reads /proc at each open."""
    assert OpenFile(inode(), Text(), os.getpid()).opener is None
    opener = OpenFile(inode(), Follower(), os.getpid()).opener
    assert opener is not None
    assert opener.pid == os.getpid()


def test_an_inode_knows_what_is_open_of_it_and_grows():
    place = inode()
    first, plain, second = (OpenFile(place, content, 0) for content in (Growing(), Text(), Growing()))
    assert list(place.growing) == [first, second]
    plain.release()
    first.release()
    assert list(place.growing) == [second]
    assert second.version == "first"


@given(st.lists(st.one_of(st.none(), st.integers(0, 20)), max_size=40))
def test_numbers_lead_to_what_is_open_and_are_never_given_twice(steps):
    """`None` opens, a number closes it. A number that comes back would hand one program another's file."""
    handles: Handles[object] = Handles()
    model: dict[int, object] = {}
    given_out = set()
    for step in steps:
        if step is None:
            thing = object()
            number = handles.add(thing)
            assert number not in given_out
            given_out.add(number)
            model[number] = thing
        elif step in model:
            assert handles.pop(step) is model.pop(step)
        else:
            for ask in (handles.pop, handles.__getitem__):
                with pytest.raises(Vanished):
                    ask(step)
            assert handles.get(step) is None
        assert len(handles) == len(model)
        assert all(handles[number] is handles.get(number) is thing for number, thing in model.items())
