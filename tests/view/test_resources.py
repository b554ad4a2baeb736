"""Two trees in one process do not disturb each other: what one reader may do is a value, and no module's own."""

import time
from collections import Counter
from typing import Any

import pytest

from kafkafs.disk import prefetch
from kafkafs.disk.hints import Hints
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.disk.page_cache import LONG_READ, PageCache
from kafkafs.errors import BatchMemoryFull
from kafkafs.format.memory import LARGE, MemoryBudget
from kafkafs.search.key_indexes import KeyIndexes
from tests.log.making import made, write_partition
from tests.view.trees import cat, opened, tree

VALUES = 40_000


@pytest.fixture(scope="module")
def batches():
    return [made(100 * number, [number] * 100) for number in range(VALUES // 100)]


@pytest.fixture
def data(tmp_path, batches):
    """A partition whose log is long enough to be read in long reads."""
    write_partition(tmp_path, {0: batches})
    return tmp_path


class WatchedCache(PageCache):
    """Notes of each long read, at once or not, whether it spares the page cache."""

    def __init__(self) -> None:
        super().__init__()
        self.spared: list[bool] = []

    def flags_at_once(self, device: int, size: int, keep: bool) -> int | None:
        found = super().flags_at_once(device, size, keep)
        if size >= LONG_READ:
            self.spared.append(found != 0)
        return found

    def read_blocking(
        self, descriptor: int, buffer: memoryview, position: int, *, keep: bool, passing: bool = False
    ) -> int:
        if len(buffer) >= LONG_READ:
            self.spared.append(not keep)
        return super().read_blocking(descriptor, buffer, position, keep=keep, passing=passing)


@pytest.mark.parametrize("keeps_first", [True, False])
def test_each_tree_keeps_pages_or_not_as_it_was_asked(data, keeps_first):
    """It was what the tree made last was told, for all of them."""
    watched = WatchedCache()
    trees = [(tree(data, cache_keep=keeps, hints=Hints(watched)), keeps) for keeps in (keeps_first, not keeps_first)]
    for root, keeps in trees:
        watched.spared.clear()
        cat(root, "t-0/by-offset/0..")
        assert set(watched.spared) == {not keeps}


def test_a_tree_without_memory_left_takes_none_from_another(data):
    """A reader of huge batches in one tree must not turn away those of another."""
    first, second = (MemoryBudget(2 * LARGE) for _ in range(2))
    roots = [tree(data, memory=memory) for memory in (first, second)]
    held = first.take(2 * LARGE)
    with pytest.raises(BatchMemoryFull):
        first.take(LARGE)
    assert len(second.take(LARGE)) == LARGE
    assert len(held) == 2 * LARGE
    assert [cat(root, "t-0/by-offset/0...jsonl").count(b"\n") for root in roots] == [VALUES, VALUES]


def test_half_read_text_of_one_tree_is_not_let_go_of_for_another(data):
    """Each tree has a budget of its own."""
    first, second = tree(data), tree(data)
    half_read = opened(first, "t-0/by-offset/0...jsonl")
    half_read.read(0, 1)
    second.resources.text.hold(Idle(), 1 << 40)
    assert first.resources.text.has_spare
    assert not second.resources.text.has_spare
    half_read.close()


def test_prefetch_of_one_tree_takes_no_places_from_another(data):
    first, second = (tree(data).resources.prefetch for _ in range(2))
    first.hold(Idle(), prefetch.MEMORY)
    assert not first.has_spare
    assert second.has_spare


def test_open_files_of_one_tree_are_not_counted_for_another(data):
    """One whose handles hold as many files as they may must not have another read all of its own anew each time."""
    first, second = tree(data), tree(data)
    many = ManyFiles()
    first.resources.options.descriptors.share_with(many)
    assert not first.directories[0].root.may_hold_more()
    assert second.directories[0].root.may_hold_more()


def test_idle_is_known_by_the_trees_clock(data):
    """Regression: what holds text and blocks was idle by the machine's clock, whatever the tree's was."""
    now = [100.0]
    resources = tree(data, clock=lambda: now[0]).resources
    text, ahead = Idle(), prefetch.Prefetch(resources.prefetch)
    assert ahead._advance(LocalDirectory(str(data / "t-0")).open_now(f"{0:020}.log"), 0, 1 << 16)
    resources.text.hold(text, 1)
    released = []
    for passed in (0.0, 1.0):
        now[0] += passed
        resources.text.release_idle()
        released.append((text.released, ahead.release()))
    assert released == [(False, False), (True, True)]


def test_what_a_topic_grants_and_has_is_fresh_by_the_trees_clock(tmp_path):
    """Regression: looks at schemas, at what they grant and at key indexes aged by the machine's clock."""
    now, indexes = [100.0], tmp_path / "indexes"
    write_partition(tmp_path, {0: [made(0, [1])]}, "_schemas-0")
    (indexes / "t-0").mkdir(parents=True)
    root = tree(tmp_path, clock=lambda: now[0])
    schemas, granted = root.resources.schemas, root.resources.schema_access
    own, keys = root.attributes(), KeyIndexes(LocalDirectory(str(indexes), root.resources.options), "t-0")
    looks = Counter[str]()
    for each, name in ((schemas, "schemas"), (granted, "granted"), (keys, "keys")):
        count_looks(each, name, looks)
    segment = root.directories[0].partition("_schemas-0").log().segments[0]

    def ask() -> dict[str, int]:
        schemas.registry()
        granted.restricted(own)
        keys.of(segment)
        return dict(looks)

    assert ask() == {"schemas": 1, "granted": 1, "keys": 1}
    time.sleep(1.2)  # by the machine's clock all would be looked at again
    assert ask() == {"schemas": 1, "granted": 1, "keys": 1}
    now[0] += 1.2
    assert ask() == {"schemas": 2, "granted": 2, "keys": 2}


def count_looks(at: Any, name: str, looks: Counter[str]) -> None:
    """Has `at` count under that name how often it looks."""
    look = at._look

    def looking(*arguments: Any) -> Any:
        looks[name] += 1
        return look(*arguments)

    at._look = looking


def test_freshness_is_each_trees_own(data):
    """One looks anew at each question; the other takes its last look for true."""
    patient, eager = tree(data, log_fresh_s=60.0), tree(data, log_fresh_s=0.0)
    before = [cat(root, "t-0/by-offset/0..") for root in (patient, eager)]
    with open(data / "t-0" / f"{0:020}.log", "ab") as log:
        log.write(made(VALUES, [1]).data)
    assert [len(cat(root, "t-0/by-offset/0..")) - len(before[0]) for root in (patient, eager)] == [
        0,
        len(made(VALUES, [1]).data),
    ]


class ManyFiles:
    """A directory with more open files than any limit allows."""

    kept = 0
    open_files = 1 << 40

    def evict(self) -> None:
        pass

    def forget_cached(self) -> None:
        pass


class Idle:
    """Somebody who holds something and gives it back when asked to."""

    released = False

    def release(self) -> bool:
        self.released = True
        return True
