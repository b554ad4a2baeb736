"""What half-read streams hold together: the newest keep theirs, and nothing waits for one that hangs."""

import os
import threading
import time
from collections import OrderedDict
from contextlib import ExitStack

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.view.text_budget import _TURN_S, IDLE_S, TextBudget

SMALL = 10


class Stream:
    """What holds text, and lets go of it unless it is being read."""

    def __init__(self, name: int, is_read: bool = False) -> None:
        self.name = name
        self.is_read = is_read
        self.released = 0

    def release(self) -> bool:
        if self.is_read:
            return False
        self.released += 1
        return True


def clock() -> float:
    return 0.0


steps = st.lists(st.tuples(st.integers(0, 4), st.integers(0, SMALL + 3), st.booleans()), max_size=40)


@given(steps)
def test_the_ones_that_said_so_longest_ago_let_go_first(said):
    """The model: sizes in the order in which they were said; from the front go those that may, until it is enough."""
    budget, streams = TextBudget(clock, SMALL), [Stream(number) for number in range(5)]
    model: OrderedDict[int, int] = OrderedDict()
    for number, size, is_read in said:
        streams[number].is_read = is_read
        before = [stream.released for stream in streams]
        budget.hold(streams[number], size)
        model.pop(number, None)
        if size:
            model[number] = size
        gone = []
        for other in list(model):
            if sum(model.values()) <= SMALL or other == number:
                break
            if not streams[other].is_read:
                gone.append(other)
                del model[other]
        counts = zip(streams, before, strict=True)
        assert [stream.name for stream, count in counts if stream.released > count] == sorted(gone)
        assert budget.has_spare is (2 * sum(model.values()) < SMALL)


def test_the_one_that_asks_is_not_made_to_let_go():
    """It is being read; it would make the same text again at once, for ever."""
    budget, stream = TextBudget(clock, SMALL), Stream(0)
    budget.hold(stream, 5 * SMALL)
    assert stream.released == 0
    budget.hold(stream, 0)
    assert budget.has_spare


def test_any_number_of_streams_lets_go_for_one():
    """Regression: each that let go asked those behind it, one call inside the other; 500 were too deep for Python."""
    budget, streams = TextBudget(clock, 2000), [Stream(number) for number in range(2000)]
    for stream in streams:
        budget.hold(stream, 1)
    newest = Stream(-1)
    budget.hold(newest, 2000)
    assert [stream.released for stream in (*streams, newest)] == [1] * 2000 + [0]


def test_a_stream_that_was_closed_frees_its_share():
    budget, streams = TextBudget(clock, SMALL), [Stream(number) for number in range(3)]
    budget.hold(streams[0], SMALL)
    budget.hold(streams[0], 0)
    budget.hold(streams[1], SMALL // 2)
    budget.hold(streams[2], SMALL // 2)
    assert [stream.released for stream in streams] == [0, 0, 0]


def test_for_a_large_batch_only_those_let_go_that_rest():
    """One that is read on would only make the same once more."""
    now = [0.0]
    budget = TextBudget(lambda: now[0], SMALL)
    resting, busy, read = Stream(0), Stream(1), Stream(2, is_read=True)
    budget.hold(resting, 1)
    budget.hold(read, 1)
    now[0] += IDLE_S
    budget.hold(busy, 1)
    budget.release_idle()
    assert [stream.released for stream in (resting, busy, read)] == [1, 0, 0]
    budget.release_idle()
    assert resting.released == 1, "it holds nothing any more"


def test_a_turn_comes_though_those_before_it_hang():
    """They may wait for a disk that does not answer; another disk's readers must not."""
    budget = TextBudget(clock)
    with ExitStack() as hung:
        for _ in range(max(1, (os.cpu_count() or 1) - 1)):
            hung.enter_context(budget.turn())
        began = time.monotonic()
        with budget.turn():
            assert time.monotonic() - began >= 0.8 * _TURN_S
    began = time.monotonic()
    for _ in range(100):
        with budget.turn():
            pass
    assert time.monotonic() - began < 100 * _TURN_S / 2, (
        "each is given back, and the one that was not waited for was none"
    )


def test_threads_that_hold_and_let_go_at_once_leave_nothing_counted():
    budget = TextBudget(clock, 100 * SMALL)

    def work(number: int) -> None:
        stream = Stream(number)
        for size in (*range(1, 200), 0):
            budget.hold(stream, size)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (budget._total, len(budget._held)) == (0, 0)
