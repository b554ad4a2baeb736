"""Waiting in one thread for what another does."""

import threading

import pytest

from kafkafs.spark.jobs import awaited


def test_the_answer_and_the_error_come_through():
    assert awaited(lambda: 7) == 7
    with pytest.raises(KeyError):
        awaited(lambda: dict[int, int]()[1])


def test_something_is_done_meanwhile():
    enough, seen = threading.Event(), []

    def look() -> None:
        seen.append(1)
        if len(seen) == 3:
            enough.set()

    assert awaited(lambda: enough.wait(300), look)
