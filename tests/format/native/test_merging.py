"""The merge, compiled and not, against `heapq.merge`."""

import heapq
from collections.abc import Callable
from operator import itemgetter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format import kernels
from kafkafs.format.native import merging

TEXTS = st.binary(max_size=40).map(lambda text: text.replace(b"\n", b"-") + b"\n")
LINES = st.lists(st.tuples(st.integers(-1, 4), TEXTS), min_size=1, max_size=8)


def merged(merge: Callable[..., int], sources: list[list[tuple[int, bytes]]], size: int) -> bytes:
    """All lines, through a room of `size` bytes that is emptied whenever the kernel comes back."""
    lines = [line for source in sources for line in source]
    stamps = np.array([time for time, _ in lines], np.int64)
    places = np.cumsum([0, *(len(text) for _, text in lines)])
    text, room, out = b"".join(line for _, line in lines) + bytes(16), np.empty(size, np.uint8), b""
    bounds = np.cumsum([0, *(len(source) for source in sources)])
    heads = np.stack([bounds[:-1], places[bounds[:-1]], places[bounds[1:]]], 1)
    waiting = np.arange(len(sources))
    while len(waiting):
        times = stamps[heads[waiting, 0]]
        order = np.argsort(times, kind="stable")
        queue = np.stack([times[order], waiting[order]], 1)
        out += room[: merge(queue, len(queue), heads, stamps, text, room)].tobytes()
        waiting = waiting[heads[waiting, 1] < heads[waiting, 2]]
    return out


@pytest.mark.parametrize("merge", [kernels.merge_lines, merging.merge_lines], ids=["compiled", "plain"])
@given(sources=st.lists(LINES, min_size=1, max_size=7), size=st.integers(64, 200))
def test_always_the_line_with_the_smallest_time_of_those_that_come_next(merge, sources, size):
    """Of equal ones that of the first source; a source's own order stays, whatever its times are."""
    naive = b"".join(line for _, line in heapq.merge(*sources, key=itemgetter(0)))
    assert merged(merge, sources, size) == naive
