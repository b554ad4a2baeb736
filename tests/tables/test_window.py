"""What `start`, `end` and `columns` of a scan may be."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from kafkafs.errors import UsageError
from kafkafs.tables.locations import Location
from kafkafs.tables.offsets import TopicPartition
from kafkafs.tables.planning import planned
from kafkafs.tables.scan import columns_named
from kafkafs.tables.window import Bound, TopicWindow, offset_at
from tests.log.making import made, write_partition

NOW_MS = 100_000
TIMES = [1000 * number for number in range(1, 51)]  # of the offsets 0 to 49
ZERO = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture
def places(tmp_path):
    """Two partitions, the second from offset 20 on."""
    write_partition(tmp_path, {0: [made(0, TIMES)]}, "t-0")
    write_partition(tmp_path, {20: [made(20, TIMES[20:])]}, "t-1")
    names = (TopicPartition("t", number) for number in (0, 1))
    return {name: Location(tmp_path, name) for name in names}


def offsets(places, start: Bound = None, end: Bound = None) -> list[tuple[int, int]]:
    """The start and end of each partition."""
    first, last = TopicWindow(start, end).limits(places, NOW_MS)
    found = planned(places, "read_uncommitted", lambda look: (offset_at(first, look), offset_at(last, look)))
    return [*found.values()]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (None, None, [(0, 50), (20, 50)]),
        ({0: 7}, None, [(7, 50), (20, 50)]),
        ({1: np.int64(30)}, {0: 5, 1: 40}, [(0, 5), (30, 40)]),
        (3000, 31_000, [(2, 30), (20, 30)]),
        (2001, 30_001, [(2, 30), (20, 30)]),
        (np.int64(3000), None, [(2, 50), (20, 50)]),
        (ZERO + timedelta(seconds=3), ZERO + timedelta(seconds=31), [(2, 30), (20, 30)]),
        (ZERO + timedelta(microseconds=2_000_001), None, [(2, 50), (20, 50)]),
        ((ZERO + timedelta(seconds=3)).astimezone(timezone(timedelta(hours=5))), None, [(2, 50), (20, 50)]),
        ("1970-01-01T00:00:03Z", "+28s", [(2, 30), (20, 30)]),
        ("3000", "31000", [(2, 30), (20, 30)]),
        ("-70s", "now", [(29, 50), (29, 50)]),
        (0, -5, [(0, 0), (20, 20)]),
        (60_000, None, [(50, 50), (50, 50)]),
    ],
)
def test_bounds_are_offsets_or_times(start, end, expected, places):
    assert offsets(places, start, end) == expected


@pytest.mark.parametrize(
    ("bound", "sentence"),
    [
        ({7: 1}, "start names the partition 7; the partitions here are t-0, t-1"),
        ({0: -1}, "start names the offset -1 of partition 0; write a whole number from 0 up"),
        ({0: "1"}, "start names the offset '1' of partition 0"),
        ("yesterday", "start='yesterday' is no time; write milliseconds"),
        ("end-5m", "start='end-5m' is no time"),
        (datetime(2021, 9, 23), "has no time zone"),
        (1.5, "start=1.5 is no bound"),
        (True, "start=True is no bound"),
    ],
)
def test_what_means_nothing_is_refused_with_a_sentence(bound, sentence, places):
    with pytest.raises(UsageError) as refused:
        offsets(places, bound)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [("offset", "is one text"), (["x"], "there is no column 'x'; the columns are a, b"), (["a", "a"], "twice")],
)
def test_columns_are_a_list_of_names(columns, sentence):
    assert columns_named(None, "ab") is None
    assert columns_named(iter(["b"]), "ab") == ("b",)
    with pytest.raises(UsageError, match=sentence):
        columns_named(columns, "ab")
