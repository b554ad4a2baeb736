"""Who must not wait is told so, and who works in parts comes back at the end of one."""

import threading
from math import inf

import pytest

from kafkafs.disk.blocking import (
    ProcessLock,
    StoreNeeded,
    acquired,
    answer_time_left,
    answer_within,
    check_time_slice,
    disk_only,
    has_time_slice,
    is_non_blocking,
    may_ask_store,
    may_block,
    non_blocking,
    time_slice,
)
from kafkafs.disk.forked import ForkedProcess
from kafkafs.errors import Unfinished, WouldBlock
from tests.mounting import wait_until

PATIENCE_S = 300.0


def test_only_inside_of_the_context_and_only_this_thread_must_not_wait():
    elsewhere: list[bool] = []
    may_block()
    with non_blocking():
        assert is_non_blocking()
        with pytest.raises(WouldBlock):
            may_block()
        other = threading.Thread(target=lambda: elsewhere.append(is_non_blocking()))
        other.start()
        other.join(PATIENCE_S)
    with pytest.raises(KeyError), non_blocking():
        raise KeyError
    may_block()
    assert elsewhere == [False]


def test_a_part_ends_when_its_time_is_up_and_without_one_nothing_does():
    check_time_slice()
    assert not has_time_slice()
    with time_slice(PATIENCE_S):
        assert has_time_slice()
        check_time_slice()
    with time_slice(-1.0), pytest.raises(Unfinished):
        check_time_slice()
    with pytest.raises(KeyError), time_slice(-1.0):
        raise KeyError
    check_time_slice()


def test_a_lock_is_held_inside_and_let_go_whatever_happens():
    lock = threading.Lock()
    with acquired(lock):
        assert lock.locked()
    with pytest.raises(KeyError), acquired(lock):
        raise KeyError
    assert not lock.locked()


def test_a_lock_that_another_has_is_not_waited_for_longer_than_one_may():
    lock = threading.Lock()
    with lock:
        with non_blocking(), pytest.raises(WouldBlock), acquired(lock):
            pass
        for seconds in (-1.0, 0.01):
            with time_slice(seconds), pytest.raises(Unfinished, match="another thread"), acquired(lock):
                pass
    assert not lock.locked()


@pytest.mark.parametrize("seconds", [None, PATIENCE_S])
def test_a_lock_that_is_let_go_in_time_is_got(seconds):
    lock, asking, got = threading.Lock(), threading.Event(), threading.Event()

    def ask() -> None:
        asking.set()
        with acquired(lock):
            got.set()

    def ask_in_parts() -> None:
        with time_slice(PATIENCE_S):
            ask()

    other = threading.Thread(target=ask if seconds is None else ask_in_parts, daemon=True)
    with lock:
        other.start()
        assert asking.wait(PATIENCE_S)
        assert not got.is_set()
    wait_until(got.is_set, PATIENCE_S)
    other.join(PATIENCE_S)


def test_a_forked_process_does_not_wait_for_a_thread_of_its_parent():
    """Regression: a search over a silent store never ended, as a thread held a lock while processes were forked."""
    lock = ProcessLock()
    with lock:
        assert not lock.acquire(blocking=False)
        forked: ForkedProcess[None, bool] = ForkedProcess(lambda _, tell: tell(lock.acquire(timeout=0)))
    forked.give(None)
    assert forked.received()
    forked.end()
    assert lock.acquire(blocking=False)


def test_a_thread_for_disks_does_not_wait_for_a_store():
    may_ask_store()
    with disk_only(), pytest.raises(StoreNeeded):
        may_ask_store()
    with disk_only(), non_blocking(), pytest.raises(WouldBlock):
        may_ask_store()
    may_ask_store()


def test_all_questions_for_an_answer_share_its_time():
    assert answer_time_left() == inf
    with answer_within(PATIENCE_S):
        assert 0 < answer_time_left() <= PATIENCE_S
    with answer_within(-1):
        assert answer_time_left() == 0
    assert answer_time_left() == inf
