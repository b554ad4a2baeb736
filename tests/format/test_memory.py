"""Memory that comes back: large batches never take more than the limit, and no buffer that is held is lent again."""

import gc
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import BatchMemoryFull
from kafkafs.format.memory import LARGE, UNLIMITED, Array, Buffers, MemoryBudget

sizes = st.integers(LARGE, 6 * LARGE)


@given(limit=sizes, moves=st.lists(st.tuples(st.booleans(), sizes), max_size=30))
def test_no_more_is_lent_than_the_limit(limit, moves):
    """Against a list of sizes: what fits is lent, what does not is refused, and one alone always fits."""
    room, held = MemoryBudget(limit), list[Array]()
    for gives_back, size in moves:
        if gives_back and held:
            held.pop(0)
        if not held or _total(held) + size <= limit:
            assert room.has(size)
            held.append(room.take(size))
        else:
            with pytest.raises(BatchMemoryFull) as refused:
                room.take(size)
            assert not refused.value.has_room()
            del refused
        assert room.taken == _total(held)


def test_a_view_of_it_holds_it():
    room = MemoryBudget(2 * LARGE)
    view = room.take(2 * LARGE).data[LARGE:][:1]
    with pytest.raises(BatchMemoryFull):
        room.take(LARGE)
    del view
    assert room.taken == 0


def test_who_does_not_need_his_is_asked_for_it():
    gc.disable()  # what gives it back is that nobody holds it
    try:
        room = MemoryBudget(2 * LARGE)
        held = [room.take(2 * LARGE)]
        room.reclaim_with(held.clear)
        mine = room.take(LARGE)
        assert room.taken == len(mine) == LARGE
    finally:
        gc.enable()


def test_little_is_not_counted_and_nothing_is_refused_without_a_limit():
    room, sizes = MemoryBudget(LARGE), (1, LARGE - 1, LARGE)
    held = [room.take(size) for size in sizes]
    assert room.taken == _total(held[2:])
    assert [len(UNLIMITED.take(size)) for size in (*sizes, 4 * LARGE)] == [*sizes, 4 * LARGE]


def _total(held: list[Array]) -> int:
    return sum(len(array) for array in held)


def test_a_buffer_comes_back_when_its_last_view_is_gone():
    """A reader that keeps a slice of a line must find that line in it for ever."""
    buffers = Buffers(4096, keep=2)
    array = buffers.take()
    array[:] = 7
    place, view = array.ctypes.data, array[10:20].data
    del array
    other = buffers.take()
    other[:] = 9
    assert other.ctypes.data != place
    assert bytes(view) == b"\7" * 10
    del view
    assert buffers.take().ctypes.data == place


def test_a_table_over_a_buffer_holds_it_too():
    """Columns are views of another type."""
    buffers = Buffers(4096, keep=2)
    place = (column := buffers.take().view(np.int64)[:8]).ctypes.data
    assert buffers.take().ctypes.data != place
    del column
    assert place in {buffers.take().ctypes.data for _ in range(3)}


def test_many_threads_never_share_one():
    """Two readers' lines in one buffer would be a mix of two topics."""
    buffers, mixed = Buffers(8192, keep=3), []

    def work(mark: int) -> None:
        for _ in range(2000):
            array = buffers.take()
            array[::512] = mark
            if (array[::512] != mark).any():
                mixed.append(mark)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not mixed
