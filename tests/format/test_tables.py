"""Rows of tables, moved as bytes: the very rows that numpy's own way of it gives, of any shape of memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.native.layout import BATCH, RECORD
from kafkafs.format.tables import Table, chosen, copied, joined


def table_of(dtype: "np.dtype[np.void]", count: int, seed: int, step: int = 1) -> Table:
    """Rows of noise, each `step`-th of a larger table."""
    noise = np.random.default_rng(seed).bytes(count * step * dtype.itemsize)
    return np.frombuffer(bytearray(noise), dtype)[::step]


dtypes, counts, steps = st.sampled_from([BATCH, RECORD]), st.integers(0, 50), st.integers(1, 3)


@given(dtypes, counts, steps, st.data())
def test_rows_are_chosen_by_truths_and_by_numbers(
    dtype: "np.dtype[np.void]", count: int, step: int, data: st.DataObject
) -> None:
    """What is chosen may be changed, and the table stays as it was."""
    table = table_of(dtype, count, data.draw(st.integers(0, 99)), step)
    flags = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), np.bool_)
    numbers = np.array(data.draw(st.lists(st.integers(0, count - 1)) if count else st.just([])), np.int64)
    for which in (flags, numbers):
        before, made = table.tobytes(), chosen(table, which)
        assert made.dtype == dtype
        assert made.tobytes() == table[which].tobytes()
        made[dtype.names[0] if dtype.names else ""] = 7
        assert table.tobytes() == before


@given(dtypes, counts, steps)
def test_a_copy_is_a_table_of_its_own(dtype: "np.dtype[np.void]", count: int, step: int) -> None:
    """Of a table's part as well."""
    table = table_of(dtype, count, 1, step)
    made = copied(table)
    assert (made.dtype, made.tobytes()) == (dtype, table.tobytes())
    assert not np.shares_memory(made, table)


@pytest.mark.parametrize("dtype", [BATCH, RECORD])
def test_tables_are_joined_in_order(dtype: "np.dtype[np.void]") -> None:
    """Empty ones among them."""
    tables = [table_of(dtype, count, count, step) for count, step in ((3, 1), (0, 1), (5, 2))]
    made = joined(tables)
    assert (made.dtype, len(made), made.tobytes()) == (dtype, 8, np.concatenate(tables).tobytes())
