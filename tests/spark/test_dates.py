"""Dates of records and the names of their files, against the calendar that Python has."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.spark.export.dates import NO_DATE, NO_PERIOD, dated, periods, undated

FILE = "topic=date=1/partition=3/00000000000000000000-00000000000000000009.parquet"
END_MS = 253_402_300_800_000  # of the year 9999


@pytest.mark.parametrize("by", ["day", "hour"])
@given(time_ms=st.integers(0, END_MS - 1))
def test_a_time_stands_under_its_day_and_hour(by, time_ms):
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time_ms)
    (period,) = periods(np.array([time_ms]), by).tolist()
    name = dated(FILE, period, by)
    hour = f"hour={when:%H}/" if by == "hour" else ""
    assert name == FILE.replace("/", f"/date={when.date().isoformat()}/{hour}", 1)
    assert undated(name) == FILE


@pytest.mark.parametrize("by", ["day", "hour"])
@pytest.mark.parametrize("time_ms", [-1, -(2**63), END_MS, 2**63 - 1, 1_700_000_000_000_000])
def test_a_time_that_is_none_has_no_date(by, time_ms):
    assert periods(np.array([time_ms]), by).tolist() == [NO_PERIOD]
    name = dated(FILE, NO_PERIOD, by)
    assert name.split("/")[1] == f"date={NO_DATE}"
    assert undated(name) == FILE


@pytest.mark.parametrize("name", [FILE, "topic=t/date=today/partition=0/x.parquet", "date=2026-11-24/x.parquet", "x"])
def test_another_name_stays(name):
    assert undated(name) == name
