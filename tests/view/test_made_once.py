"""What is made when it is first asked for: one value, whoever asks, and nobody else's lock."""

import functools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kafkafs.disk.blocking import non_blocking
from kafkafs.disk.cached_value import MadeOnce
from kafkafs.errors import Denied, WouldBlock
from tests.log.making import made, write_partition
from tests.view.trees import node, tree


@pytest.fixture
def under_way():
    """A value that is being made, until the event is set."""
    begun, go_on, calls = threading.Event(), threading.Event(), list[object]()

    def make() -> object:
        begun.set()
        assert go_on.wait(60)
        calls.append(object())
        return calls[-1]

    once: MadeOnce[object] = MadeOnce()
    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(once.get, make)
        assert begun.wait(60)
        yield functools.partial(once.get, make), calls, go_on, threads, first
        go_on.set()


def test_threads_that_ask_at_once_get_the_same(under_way):
    """Two `Cluster`s would scan all internal topics twice and hold both pictures."""
    get, calls, go_on, threads, first = under_way
    others = [threads.submit(get) for _ in range(2)]
    go_on.set()
    assert {id(each.result(60)) for each in (first, *others)} == {id(calls[0])}
    assert len(calls) == 1
    assert get() is calls[0]


def test_the_thread_that_serves_everybody_does_not_wait_for_it(under_way):
    get, calls, go_on, _, first = under_way
    with non_blocking(), pytest.raises(WouldBlock):
        get()
    go_on.set()
    first.result(60)
    with non_blocking():
        assert get() is calls[0]


def test_what_could_not_be_made_is_tried_again():
    """A disk that did not answer once is no reason never to ask it again."""
    failing = [Denied("not yet")]

    def make() -> str | None:
        if failing:
            raise failing.pop()
        return None

    once: MadeOnce[str | None] = MadeOnce()
    with pytest.raises(Denied):
        once.get(make)
    assert once.get(make) is None


def test_one_tree_does_not_wait_for_what_another_makes(tmp_path, monkeypatch):
    """Regression: `cached_property` of Python 3.11 has one lock for all objects of a class."""
    from kafkafs.cluster import cluster

    write_partition(tmp_path, {0: [made(0, [1])]})
    slow, quick = tree(tmp_path), tree(tmp_path)
    begun, go_on, init = threading.Event(), threading.Event(), cluster.Cluster.__init__

    def slowly(self, directories, *options):
        if directories is slow._directories:
            begun.set()
            assert go_on.wait(60)
        init(self, directories, *options)

    monkeypatch.setattr(cluster.Cluster, "__init__", slowly)
    with ThreadPoolExecutor(2) as threads:
        waiting = threads.submit(node, slow, ".cluster")
        assert begun.wait(60)
        try:
            assert threads.submit(node, quick, ".cluster").result(60) is not None
        finally:
            go_on.set()
        assert waiting.result(60) is node(slow, ".cluster")
