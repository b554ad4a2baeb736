"""Failures of stores are remembered, also those of forked processes, and end a task that passed over them."""

import mmap
import os

import pytest

from kafkafs.disk import store_trouble
from kafkafs.disk.store_trouble import complete, tell, trouble
from kafkafs.errors import StoreError


@pytest.fixture(autouse=True)
def _none(monkeypatch):
    monkeypatch.setattr(store_trouble, "_shared", mmap.mmap(-1, 1 << 12))


def test_the_first_failure_counts_that_of_a_forked_process_too():
    assert trouble() == ""
    child = os.fork()
    if child == 0:
        tell("first")
        os._exit(0)
    os.waitpid(child, 0)
    tell("second")
    assert trouble() == "first"


def test_a_task_that_passed_over_a_failure_ends_with_it():
    tell("before")
    with complete():
        pass
    with pytest.raises(StoreError, match="meanwhile"), complete():
        tell("meanwhile")
