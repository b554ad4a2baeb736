"""The names of files by date, which tests of whole exports look at from outside (`test_by_date`)."""

import numpy as np
import pytest

from kafkafs.spark.export.dates import NO_PERIOD, dated, periods, undated

FILE = "topic=t/partition=0/00000000000000000000-00000000000000000009.parquet"


@pytest.mark.parametrize("by", ["day", "hour"])
def test_a_name_by_date_tells_the_one_without(by):
    numbers = periods(np.array([-1, 0, 1_790_000_000_000, 2**62]), by)
    assert list(numbers[[0, 3]]) == [NO_PERIOD, NO_PERIOD]
    names = [dated(FILE, int(number), by) for number in numbers]
    assert all(undated(name) == FILE for name in names)
    assert names[1].startswith("topic=t/date=1970-01-01/")
    assert undated("topic=t/date=x/partition=0/y") == "topic=t/date=x/partition=0/y"
