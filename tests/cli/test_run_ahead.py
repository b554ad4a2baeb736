"""Things made ahead: the same ones, in order, with their errors, and never many."""

import threading
from collections.abc import Iterator

import pytest

from kafkafs.cli.run_ahead import DEPTH, run_ahead
from tests.mounting import wait_until


def test_the_same_things_come_in_order() -> None:
    assert list(run_ahead(iter(range(1000)))) == list(range(1000))
    assert list(run_ahead(iter([None, None]))) == [None, None]
    assert list(run_ahead(iter(()))) == []


def test_they_are_made_before_they_are_asked_for_by_another_thread() -> None:
    """But only a few: a log may be larger than memory."""
    made: list[str] = []

    def things() -> Iterator[int]:
        for number in range(100):
            made.append(threading.current_thread().name)
            yield number

    found = run_ahead(things())
    assert next(found) == 0
    wait_until(lambda: len(made) == DEPTH + 2)
    assert set(made) == {"run-ahead"}
    assert [next(found), next(found)] == [1, 2]
    assert len(made) <= DEPTH + 4


def test_an_error_comes_in_its_place() -> None:
    def things() -> Iterator[int]:
        yield 1
        raise ValueError("the file ended")

    found = run_ahead(things())
    assert next(found) == 1
    with pytest.raises(ValueError, match="the file ended"):
        next(found)
