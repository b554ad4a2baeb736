"""Failures of stores are remembered, also those of forked processes, and end a task that passed over them."""

import os

import pytest

from kafkafs.disk.store_session import StoreSession
from kafkafs.errors import StoreError


def test_the_first_failure_counts_that_of_a_forked_process_too():
    session = StoreSession()
    assert session.first_failure() == ""
    child = os.fork()
    if child == 0:
        session.report("first")
        os._exit(0)
    os.waitpid(child, 0)
    session.report("second")
    assert session.first_failure() == "first"


def test_a_task_that_passed_over_a_failure_ends_with_it():
    session = StoreSession()
    session.report("before")
    with session.complete():
        pass
    with pytest.raises(StoreError, match="meanwhile"), session.complete():
        session.report("meanwhile")
