"""The values that were made last, against a list of them."""

import gc
from weakref import ref

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.view.made import LastMade

SMALL = 10
"""The budget of the model."""


class Value:
    """A value that a node would hold weakly."""


@given(st.lists(st.integers(0, SMALL + 2), max_size=30))
def test_it_keeps_what_a_list_of_the_newest_values_keeps(sizes):
    """The model is a list, oldest first, and drops from the front what is too much."""
    made, model, kept = [], list[tuple[int, int]](), LastMade(SMALL)
    for number, size in enumerate(sizes):
        value = Value()
        kept.keep(value, size)
        made.append(ref(value))
        del value
        if size <= SMALL:
            model.append((number, size))
        while sum(size for _, size in model) > SMALL:
            model.pop(0)
        assert [number for number, each in enumerate(made) if each() is not None] == [number for number, _ in model]


def test_what_is_larger_than_all_of_it_is_not_kept():
    """And what is just as large is, alone."""
    kept, values = LastMade(SMALL), [Value(), Value(), Value()]
    small, larger, large = map(ref, values)
    kept.keep(values[0], 1)
    kept.keep(values[1], SMALL + 1)
    del values[:2]
    gc.collect()
    assert (small() is not None, larger()) == (True, None)
    kept.keep(values.pop(), SMALL)
    assert (small(), large() is not None) == (None, True)
