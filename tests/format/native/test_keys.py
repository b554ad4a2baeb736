"""The kernels that sort and find keys, where a property says more than an example."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format import kernels


@given(st.lists(st.tuples(st.integers(0, 2**31 - 1) | st.integers(0, 3), st.integers(0, 2)), max_size=200))
def test_rows_are_sorted_and_the_last_of_each_key_stays(pairs):
    """Whatever hash and check come, in the order of offsets."""
    rows = np.array([hashed << 32 | offset for offset, (hashed, _) in enumerate(pairs)], np.int64)
    checks = np.array([check for _, check in pairs], np.int64)
    spare, others, counts = np.empty_like(rows), np.empty_like(rows), np.empty(1 << 11, np.int64)
    last = {pair: pair[0] << 32 | offset for offset, pair in enumerate(pairs)}
    kept = kernels.settle_keys(rows, checks, spare, others, counts)
    found = spare[:kept].tolist()
    assert found == sorted(found)
    assert set(last.values()) <= set(found)
    neighbours = zip(found, others[:kept].tolist(), found[1:], others[1:kept].tolist(), strict=False)
    assert not any(a >> 32 == c >> 32 and b == d for a, b, c, d in neighbours)
