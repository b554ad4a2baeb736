"""Pushed filters against rows: what they leave out matches none of them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringEndsWith,
    StringStartsWith,
)

from kafkafs.spark.filters import Wanted, wanted

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Row(NamedTuple):
    """What filters ask about."""

    topic: str
    partition: int
    offset: int
    timestamp: datetime


HOLDS: dict[type[Any], Callable[[Any, Any], bool]] = {
    EqualTo: lambda cell, value: cell == value,
    EqualNullSafe: lambda cell, value: cell == value,
    GreaterThan: lambda cell, value: cell > value,
    GreaterThanOrEqual: lambda cell, value: cell >= value,
    LessThan: lambda cell, value: cell < value,
    LessThanOrEqual: lambda cell, value: cell <= value,
    In: lambda cell, value: cell in value,
    StringStartsWith: lambda cell, value: cell.startswith(value),
    StringEndsWith: lambda cell, value: cell.endswith(value),
}
_topics = st.text("ab", max_size=3)
_numbers = st.integers(0, 6)
_moments = st.integers(-3_000, 3_000).map(lambda microseconds: EPOCH + timedelta(microseconds=microseconds))
_rows = st.builds(
    Row, _topics, _numbers, _numbers, st.integers(-3, 3).map(lambda ms: EPOCH + timedelta(milliseconds=ms))
)
_ORDERS = (EqualTo, EqualNullSafe, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual)


def filters_on(column: str, values: st.SearchStrategy[Any], kinds: tuple[type, ...]) -> st.SearchStrategy[Filter]:
    """Filters on a column, its name written as a user might."""
    name = st.sampled_from([(column,), (column.upper(),)])
    lists = st.lists(st.one_of(values, st.none()), max_size=4).map(tuple)
    return st.one_of(*(st.builds(kind, name, values) for kind in kinds), st.builds(In, name, lists))


_filters = st.one_of(
    filters_on("topic", _topics, (EqualTo, EqualNullSafe, StringStartsWith, StringEndsWith, LessThan)),
    filters_on("partition", _numbers, _ORDERS),
    filters_on("offset", _numbers, _ORDERS),
    filters_on("timestamp", _moments, _ORDERS),
)


def matches(row: Row, each: Any) -> bool:
    """Whether the row passes the filter, as Spark would say."""
    return HOLDS[type(each)](getattr(row, each.attribute[0].lower()), each.value)


def is_read(row: Row, found: Wanted) -> bool:
    """Whether what was asked for has the row."""
    return (
        found.takes(row.topic, row.partition)
        and found.first_offset <= row.offset
        and (found.stop_offset is None or row.offset < found.stop_offset)
        and (found.since is None or row.timestamp >= EPOCH + timedelta(milliseconds=found.since))
    )


@given(st.lists(_filters, max_size=5), _rows)
def test_no_row_that_matches_is_left_out(filters, row):
    """It would be missing from the result: Spark applies the filters only to what it gets."""
    if all(matches(row, each) for each in filters):
        assert is_read(row, wanted(filters))


@given(
    st.lists(st.one_of(filters_on("partition", _numbers, _ORDERS), filters_on("offset", _numbers, _ORDERS)), max_size=4)
)
def test_of_numbers_only_what_matches_is_read(filters):
    """A filter on a partition or an offset is worth as much as an option. A list of offsets counts from end to end."""
    found = wanted(filters)
    rows = [Row("t", partition, offset, EPOCH) for partition in range(8) for offset in range(8)]
    for row in rows:
        lists = [each for each in filters if isinstance(each, In) and each.attribute[0].lower() == "offset"]
        others = [each for each in filters if each not in lists]
        within = all(
            min(numbers, default=8) <= row.offset <= max(numbers, default=-1)
            for numbers in ([item for item in each.value if item is not None] for each in lists)
        )
        assert is_read(row, found) == (within and all(matches(row, each) for each in others))


MS = timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("kind", "value", "since"),
    [
        (GreaterThan, EPOCH + 2 * MS, 3), (GreaterThan, EPOCH + 1.5 * MS, 2), (GreaterThanOrEqual, EPOCH + 2 * MS, 2),
        (GreaterThanOrEqual, EPOCH + 1.5 * MS, 2), (EqualTo, EPOCH - 2 * MS, -2), (EqualNullSafe, EPOCH + 1.5 * MS, 2),
        (In, (EPOCH + 9 * MS, None, EPOCH + 3 * MS), 3), (In, (None,), None), (LessThan, EPOCH, None),
    ],
)  # fmt: skip
def test_of_times_the_first_millisecond_that_matches_is_told(kind, value, since):
    """Records have milliseconds, filters microseconds. Nothing is read for a time that none can have."""
    assert wanted([kind(("timestamp",), value)]) == Wanted(since=since)


def test_of_topics_only_those_that_all_filters_name_are_read():
    several = [In(("topic",), ("a", "ab", "b")), StringStartsWith(("topic",), "a"), In(("topic",), ("ab", "b", None))]
    assert [topic for topic in ("a", "ab", "b", "abc") if wanted(several).takes(topic, 0)] == ["ab"]
    assert wanted([StringStartsWith(("topic",), "a"), StringStartsWith(("topic",), "ab")]).topic_prefix == "ab"
    assert not wanted([EqualTo(("topic",), "a"), EqualTo(("topic",), "b")]).topics


@pytest.mark.parametrize(
    "each",
    [
        Not(EqualTo(("offset",), 3)), IsNotNull(("offset",)), EqualTo(("offset",), None), EqualTo(("value",), b"x"),
        EqualTo(("headers", "key"), "offset"), LessThan(("timestamp",), EPOCH), StringEndsWith(("topic",), "a"),
    ],
)  # fmt: skip
def test_what_cannot_be_pushed_leaves_all(each):
    """Spark applies it itself."""
    assert wanted([each]) == Wanted()


def test_a_time_without_a_zone_is_a_local_one():
    """As PySpark hands them out."""
    local = datetime(2021, 9, 23, 9, 30)
    found = wanted([GreaterThanOrEqual(("timestamp",), local)]).since
    assert found is not None
    assert found == local.timestamp() * 1000
