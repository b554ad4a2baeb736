"""Buffers that come back: never while somebody holds a piece of one, and never more than a few kept."""

import threading

import numpy as np

from kafkafs.format.memory import Buffers


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
