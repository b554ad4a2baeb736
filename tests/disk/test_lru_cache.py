"""What is held is found, and of the rest only what was asked for last."""

import gc

import pytest

from kafkafs.disk import cached_value
from kafkafs.disk.cached_value import LruCache


class Thing:
    """Something that can be referred to weakly."""


@pytest.fixture
def cache(monkeypatch) -> LruCache[Thing]:
    monkeypatch.setattr(cached_value, "KEPT", 3)
    return LruCache()


def names_in(cache: LruCache[Thing]) -> set[str]:
    """Those whose thing is not made anew."""
    gc.collect()
    return {name for name in "abcdef" if name in cache._held}


def test_it_forgets_what_was_not_asked_for_longest(cache):
    for name in "abcacd":
        cache.get(name, Thing)
    assert names_in(cache) == set("acd")


def test_what_is_held_is_found_however_long_ago_it_was_asked_for(cache):
    held = cache.get("a", Thing)
    for name in "bcdef":
        cache.get(name, Thing)
    assert cache.get("a", Thing) is held


def test_what_does_not_fit_is_made_anew(cache):
    first = cache.get("a", Thing)
    assert cache.get("a", Thing, lambda thing: thing is first) is first
    assert (second := cache.get("a", Thing, lambda thing: thing is not first)) is not first
    assert cache.get("a", Thing) is second


def test_names_that_are_not_wanted_are_forgotten_though_they_are_held(cache):
    """A partition that is deleted and made again is another one."""
    held = cache.get("a", Thing)
    cache.get("b", Thing)
    cache.keep_only(lambda name: name != "a")
    assert names_in(cache) == {"b"}
    assert cache.get("a", Thing) is not held
