"""What is held together, text or keys: the newest keep theirs, and who is at work is not made to let go."""

import threading
from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.disk.budget import IDLE_S, Budget

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
    budget, streams = Budget(SMALL, clock), [Stream(number) for number in range(5)]
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
    budget, stream = Budget(SMALL, clock), Stream(0)
    budget.hold(stream, 5 * SMALL)
    assert stream.released == 0
    budget.hold(stream, 0)
    assert budget.has_spare


def test_any_number_of_streams_lets_go_for_one():
    """Regression: each that let go asked those behind it, one call inside the other; 500 were too deep for Python."""
    budget, streams = Budget(2000, clock), [Stream(number) for number in range(2000)]
    for stream in streams:
        budget.hold(stream, 1)
    newest = Stream(-1)
    budget.hold(newest, 2000)
    assert [stream.released for stream in (*streams, newest)] == [1] * 2000 + [0]


def test_a_stream_that_was_closed_frees_its_share():
    budget, streams = Budget(SMALL, clock), [Stream(number) for number in range(3)]
    budget.hold(streams[0], SMALL)
    budget.hold(streams[0], 0)
    budget.hold(streams[1], SMALL // 2)
    budget.hold(streams[2], SMALL // 2)
    assert [stream.released for stream in streams] == [0, 0, 0]


def test_for_a_large_batch_only_those_let_go_that_rest():
    """One that is read on would only make the same once more."""
    now = [0.0]
    budget = Budget(SMALL, lambda: now[0])
    resting, busy, read = Stream(0), Stream(1), Stream(2, is_read=True)
    budget.hold(resting, 1)
    budget.hold(read, 1)
    now[0] += IDLE_S
    budget.hold(busy, 1)
    budget.release_idle()
    assert [stream.released for stream in (resting, busy, read)] == [1, 0, 0]
    budget.release_idle()
    assert resting.released == 1, "it holds nothing any more"


def test_threads_that_hold_and_let_go_at_once_leave_nothing_counted():
    budget = Budget(100 * SMALL, clock)

    def work(number: int) -> None:
        stream = Stream(number)
        for size in (*range(1, 200), 0):
            budget.hold(stream, size)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert (budget.total, len(budget._held)) == (0, 0)


class Keys:
    """What holds keys, and counts how often it was made to let go."""

    def __init__(self, busy: bool = False) -> None:
        self.busy, self.released = busy, 0

    def release(self) -> bool:
        self.released += not self.busy
        return not self.busy


def test_those_who_asked_longest_ago_let_go_first():
    memory, holders = Budget(100), [Keys() for _ in range(3)]
    assert all(memory.hold(holder, 40) for holder in holders[:2])
    assert memory.hold(holders[0], 40)
    assert memory.hold(holders[2], 40)
    assert [holder.released for holder in holders] == [0, 1, 0]


def test_there_is_no_room_for_what_is_larger_than_all():
    memory, small, large, busy = Budget(100), Keys(), Keys(), Keys(busy=True)
    assert memory.hold(small, 10)
    assert not memory.hold(large, 101)
    assert small.released == 1
    assert memory.hold(large, 60)
    assert memory.hold(busy, 40)
    assert not memory.hold(large, 61)


def test_who_is_gone_holds_nothing():
    memory, gone, there = Budget(100), Keys(), Keys()
    assert memory.hold(gone, 90)
    del gone
    assert memory.hold(there, 90)
