"""Files by the day or hour of their records.

If an export is partitioned by date, the date of a record, in UTC, names the directory of its file:
`topic=T/date=2026-11-24/partition=P/…`. A record has a date where its timestamp is in the years 1970 to 9999. The
others (-1 is Kafka's "no timestamp"; a clock in microseconds) are together in the partition that Hive, Spark and Arrow
take for null.
"""

import re
from datetime import UTC, datetime
from typing import Literal

import numpy as np

By = Literal["", "day", "hour"]
"""By what an export is partitioned; "" is by topic and partition alone."""

NO_DATE = "__HIVE_DEFAULT_PARTITION__"
NO_PERIOD = -1
Periods = np.ndarray[tuple[int], np.dtype[np.int64]]

_HOUR_MS = 3_600_000
_WIDTH_MS: dict[By, int] = {"day": 24 * _HOUR_MS, "hour": _HOUR_MS}
_END_MS = int(datetime(9999, 12, 31, 23, tzinfo=UTC).timestamp() * 1000) + _HOUR_MS
_DATE = rf"date=(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}|{NO_DATE})"
_DATED = re.compile(rf"(topic=[^/]+/)(?:{_DATE}/(?:hour=(?:[0-9]{{2}}|{NO_DATE})/)?)(.+)")


def periods(times_ms: np.ndarray, by: By) -> Periods:
    """The day or hour of each time, counted from 1970; NO_PERIOD where it has none."""
    has_date = (times_ms >= 0) & (times_ms < _END_MS)
    return np.where(has_date, times_ms // _WIDTH_MS[by], NO_PERIOD)


def dated(file: str, period: int, by: By) -> str:
    """The name of the file for the records of one period, where `file` would be that for all of them."""
    if period == NO_PERIOD:
        date = hour = NO_DATE
    else:
        begin = datetime.fromtimestamp(period * _WIDTH_MS[by] / 1000, UTC)
        date, hour = f"{begin:%Y-%m-%d}", f"{begin:%H}"
    topic, _, rest = file.partition("/")
    return f"{topic}/date={date}/{f'hour={hour}/' if by == 'hour' else ''}{rest}"


def undated(name: str) -> str:
    """The `file` of which `dated` made this name; any other name as it is."""
    found = _DATED.fullmatch(name)
    return name if found is None else found[1] + found[2]
