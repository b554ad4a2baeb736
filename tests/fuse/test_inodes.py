"""Inodes and open files: what the kernel refers to is there, what it has forgotten is not; contents are closed once."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import Vanished
from kafkafs.fuse.serve.inodes import MOST_LEAVES, Handles, Inode, Inodes, OpenFile, inode_number
from kafkafs.view.about import AboutDirectory
from kafkafs.view.node import Attributes, Kind, PagesWhileOpen
from tests.fuse.shelf import ShelfDirectory

NAMES = [b"one", b"two", b"three"]


def about(kind: Kind = "file", size: int = 0, version: int = 0) -> Attributes:
    return Attributes(kind, 0o444, 0, 0, size, 0, 0.0, version)


def empty(tmp_path):
    return Inodes(ShelfDirectory(tmp_path))


@given(st.lists(st.tuples(st.sampled_from(["look up", "forget", "forget all"]), st.sampled_from(NAMES))))
def test_an_inode_lives_exactly_as_long_as_its_references(tmp_path_factory, steps):
    inodes = Inodes(ShelfDirectory(tmp_path_factory.getbasetemp()))
    root = inodes[1]
    references: dict[bytes, int] = {}
    known: dict[bytes, int] = {}
    for step, name in steps:
        if step == "look up":
            inode = inodes.refer(root, name, about(), root.node)
            assert known.setdefault(name, inode.node_id) == inode.node_id
            references[name] = references.get(name, 0) + 1
        elif name in references:
            count = references[name] if step == "forget all" else 1
            inodes.forget(known[name], count)
            references[name] -= count
            if references[name] == 0:
                del references[name]
                with pytest.raises(Vanished):
                    inodes[known.pop(name)]
    assert len(inodes) == 1 + len(references)


def test_the_oldest_leaves_that_nobody_reads_are_superfluous(tmp_path):
    inodes = empty(tmp_path)
    root = inodes[1]
    inodes.refer(root, b"directory", about("directory"), root.node)
    leaves = [inodes.refer(root, b"%d" % number, about(), root.node) for number in range(MOST_LEAVES + 3)]
    assert inodes.surplus() == leaves[:3]
    leaves[1].opened = 1
    assert inodes.surplus() == [leaves[0], leaves[2], leaves[3]]
    inodes.forget(leaves[0].node_id, 1)
    assert inodes.surplus() == leaves[2:4]


def test_a_node_id_is_never_used_twice(tmp_path):
    inodes = empty(tmp_path)
    seen = set()
    for _ in range(3):
        inode = inodes.refer(inodes[1], b"name", about(), inodes[1].node)
        assert inode.node_id not in seen
        seen.add(inode.node_id)
        inodes.forget(inode.node_id, 1)


def test_what_is_open_stays_what_it_is_and_the_name_leads_to_the_next(tmp_path):
    """The kernel knows one size of an inode: were it told a new one, who has it open would get holes, or too little."""
    inodes = empty(tmp_path)
    root = inodes[1]
    first = inodes.refer(root, b"name", about(size=3, version=1), root.node)
    assert inodes.refer(root, b"name", about(size=4, version=2), root.node) is first  # nobody has it open
    first.opened = 1
    assert inodes.refer(root, b"name", about(size=4, version=2), root.node) is first
    second = inodes.refer(root, b"name", about(size=5, version=3), root.node)
    assert second is not first
    inodes.forget(first.node_id, 3)
    assert inodes.refer(root, b"name", about(size=5, version=3), root.node) is second
    assert len(inodes) == 2


@pytest.mark.parametrize("kept", [{"is_fixed": True}, {"timeout_s": 0.8}], ids=str)
def test_a_size_that_the_kernel_keeps_is_that_of_its_inode_for_good(tmp_path, kept):
    """It drops what it is told while another answer is under way, and then would not ask for a while."""
    inodes = empty(tmp_path)
    root = inodes[1]
    first = inodes.refer(root, b"name", about(size=3, version=1)._replace(**kept), root.node)
    assert inodes.refer(root, b"name", about(size=3, version=2)._replace(**kept), root.node) is first
    assert not first.accepts(about(size=4, version=3))
    second = inodes.refer(root, b"name", about(size=4, version=3)._replace(**kept), root.node)
    assert second is not first
    assert first.shown.size == 3


def test_pages_are_dropped_behind_a_reader_once_they_are_many_or_nobody_has_them_open(tmp_path):
    inodes = empty(tmp_path)
    inode = inodes.refer(inodes[1], b"name", about(), inodes[1].node)
    inode.opened = 1
    inodes.note_read(inode, 1 << 40)
    assert inodes.take_passed() == []  # it has none that pass
    inode.kept_as = PagesWhileOpen(1)
    inodes.note_read(inode, 1)
    assert inodes.take_passed() == []
    inodes.note_read(inode, 1 << 40)
    assert inodes.many_passed.is_set()
    assert (inodes.take_passed(), inodes.take_passed()) == ([inode.node_id], [])
    inode.opened = 0
    inodes.note_read(inode, 0)
    assert not inodes.many_passed.is_set()
    assert inodes.take_passed() == [inode.node_id]


def test_the_root_cannot_be_forgotten(tmp_path):
    inodes = empty(tmp_path)
    inodes.forget(1, 100)
    assert inodes[1].node_id == 1


@given(st.integers(1, 2**63 - 1), st.binary(min_size=1))
def test_an_inode_number_is_stable_positive_and_never_the_root_s(parent, name):
    assert 1 < inode_number(parent, name) == inode_number(parent, name) < 2**63


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
        assert self.go_on.wait(300)
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
            assert content.reading.acquire(timeout=300)
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
