"""The order and the sum of the table of groups; as it is printed, tests/cli/test_groups.py has it."""

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.cli.groups_table import by_lag

ITEMS = st.lists(st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.none() | st.integers(-2, 5)), max_size=9)


@given(ITEMS)
def test_the_worst_group_and_in_it_the_worst_partition_come_first(items):
    """A group's lines stay together, nothing is lost, what is unknown stands last."""
    shown = by_lag(items, lambda item: item)
    assert sorted(shown, key=str) == sorted(items, key=str)
    groups = [(group, [lag for _, lag in lines]) for group, lines in groupby(shown, key=lambda item: item[0])]
    assert len(groups) == len({group for group, _ in items})
    totals = [sum(lag or 0 for lag in lags) for _, lags in groups]
    assert totals == sorted(totals, reverse=True)
    for _, lags in groups:
        known = [lag for lag in lags if lag is not None]
        assert lags == [*sorted(known, reverse=True), *[None] * (len(lags) - len(known))]
