"""What is known until its time is over, of one state, for those who asked last, or made once for all."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kafkafs.disk.blocking import non_blocking
from kafkafs.disk.cached_value import KEPT, CachedValue, LruCache, ValidatedValue, made_once, same_objects
from kafkafs.errors import Denied, WouldBlock


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def cached(good_for_s: float = 1.0) -> tuple[CachedValue[str], Clock]:
    clock = Clock()
    return CachedValue(good_for_s, clock), clock


def test_a_value_is_fresh_until_its_time_is_over():
    value, clock = cached()
    assert value.fresh() is value.latest is None
    assert value.store("a") == "a"
    clock.now += 0.999
    assert value.fresh() == "a"
    clock.now += 0.001
    assert value.fresh() is None
    assert value.latest == "a"


def test_the_same_validator_makes_it_fresh_again():
    value, clock = cached()
    value.store("a", (1, 2))
    clock.now += 5
    assert value.revalidated((1, 3)) is None
    assert value.fresh() is None
    assert value.revalidated((1, 2)) == value.fresh() == "a"


def test_without_a_validator_nothing_proves_it():
    """A file that changed a moment ago may change again within the same tick: its time is no validator then."""
    value, _ = cached()
    value.store("a")
    assert value.revalidated(None) is None


def test_it_can_be_as_good_as_something_else_and_no_longer():
    value, clock = cached(60.0)
    value.store("a", fresh_until=clock.now + 1)
    clock.now += 1
    assert value.fresh() is None


def test_what_is_good_for_no_time_is_never_fresh():
    value, _ = cached(0.0)
    value.store("a", 1)
    assert value.fresh() is None
    assert value.revalidated(1) == "a"


def test_what_is_good_as_long_as_its_validator_is_needs_no_clock():
    """Regression: it had one, and was stored as fresh for no time at all."""
    value = ValidatedValue[str]()
    assert value.revalidated(None) is None
    assert value.store("a", 1) == "a"
    assert value.revalidated(1) == value.latest == "a"
    assert [value.revalidated(other) for other in (2, None)] == [None, None]


def test_it_expires_when_asked_to():
    value, _ = cached()
    value.store("a", 1)
    value.expire()
    assert value.fresh() is None
    assert value.revalidated(1) == "a"


def test_the_same_objects_are_the_same_in_the_same_order():
    """What is made of values that are cached elsewhere is good as long as they are those; equal ones may be later."""
    first, equal, other = [1], [1], [2]
    assert same_objects([], ())
    assert same_objects([first, other], (first, other))
    assert not same_objects([first], [equal])
    assert not same_objects([first, other], [other, first])
    assert not same_objects([first], [first, other])
    assert not same_objects([first], [])


class Thing:
    """Something that can be referred to weakly."""


OTHERS = [str(number) for number in range(KEPT)]


def made_again(cache: LruCache[Thing], name: str) -> bool:
    gc.collect()
    new = Thing()
    return cache.get(name, lambda: new) is new


def test_it_forgets_what_was_not_asked_for_longest():
    cache = LruCache[Thing]()
    for name in ("a", "b", *OTHERS[:-2], "a", *OTHERS[-2:]):
        cache.get(name, Thing)
    assert not made_again(cache, "a")
    assert made_again(cache, "b")


def test_what_is_held_is_found_however_long_ago_it_was_asked_for():
    cache = LruCache[Thing]()
    held = cache.get("a", Thing)
    for name in OTHERS:
        cache.get(name, Thing)
    assert cache.get("a", Thing) is held


def test_what_does_not_fit_is_made_again():
    cache = LruCache[Thing]()
    first = cache.get("a", Thing)
    assert cache.get("a", Thing, lambda thing: thing is first) is first
    assert (second := cache.get("a", Thing, lambda thing: thing is not first)) is not first
    assert cache.get("a", Thing) is second


def test_names_that_are_not_wanted_are_forgotten_though_they_are_held():
    """A partition that is deleted and made again is another one."""
    cache = LruCache[Thing]()
    held = cache.get("a", Thing)
    cache.get("b", Thing)
    cache.keep_only(lambda name: name != "a")
    assert not made_again(cache, "b")
    assert cache.get("a", Thing) is not held


@pytest.fixture
def under_way():
    """A value that is being made, until the event is set."""
    begun, go_on, calls = threading.Event(), threading.Event(), list[object]()

    class Owner:
        @made_once
        def value(self) -> object:
            begun.set()
            assert go_on.wait(300)
            calls.append(object())
            return calls[-1]

    owner = Owner()
    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(lambda: owner.value)
        assert begun.wait(300)
        yield lambda: owner.value, calls, go_on, threads, first
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

    class Owner:
        @made_once
        def value(self) -> str | None:
            if failing:
                raise failing.pop()
            return None

    owner = Owner()
    with pytest.raises(Denied):
        owner.value  # noqa: B018 (it is made)
    assert owner.value is None
