"""Waiting in one thread for what another does."""

import threading

import pytest

from kafkafs.spark.jobs import wait_for


def test_the_answer_and_the_error_come_through():
    assert wait_for(lambda: 7) == 7
    with pytest.raises(KeyError):
        wait_for(lambda: dict[int, int]()[1])


def test_something_is_done_meanwhile():
    enough, seen = threading.Event(), []

    def look() -> None:
        seen.append(1)
        if len(seen) == 3:
            enough.set()

    assert wait_for(lambda: enough.wait(300), look)
