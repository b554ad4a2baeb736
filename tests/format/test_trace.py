"""The voice that explains a lookup: times as `by-time/` takes them, and each look of a binary search with its side."""

import re
from datetime import datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.index import OffsetIndex, Probe
from kafkafs.format.times import utc_text
from kafkafs.format.trace import list_probes, no_trace
from kafkafs.log.places import AtTime
from kafkafs.view.grammar import Query, Suffix, parse_time_name

LAST = 253_402_300_799_999
"""The last millisecond of the year 9999, behind which no calendar here has a date."""


@given(st.integers(0, LAST))
def test_a_moment_is_a_name_that_leads_back(timestamp_ms):
    """People copy it from `.explain` into the next question."""
    assert parse_time_name(utc_text(timestamp_ms), 0) == Query(AtTime(timestamp_ms), Suffix.RAW)


@given(st.integers(-62_135_596_800_000, -1))
def test_before_1970_it_is_the_date_that_it_is(timestamp_ms):
    """No name, but what a wrong clock wrote is seen as that."""
    date = datetime(1970, 1, 1) + timedelta(milliseconds=timestamp_ms)
    assert utc_text(timestamp_ms) == f"{date.isoformat(timespec='milliseconds')}Z"


@given(st.integers(-(2**63), -62_135_596_800_001) | st.integers(LAST + 1, 2**63 - 1))
def test_what_no_calendar_has_is_no_date(timestamp_ms):
    """A timestamp is whatever a producer wrote."""
    assert utc_text(timestamp_ms) == "no date"


@given(st.integers(1, 3000), st.data())
def test_every_probe_is_reported_with_its_slot_its_section_and_its_side(entries, data):
    wanted = data.draw(st.integers(0, 10 * entries + 10))
    table = np.stack([np.arange(1, entries + 1) * 10, np.arange(entries)], axis=1).astype(">i4").tobytes()
    index, probes = OffsetIndex(lambda at, size: table[at : at + size], len(table), 0), list[Probe]()
    index.lookup(wanted, probes)
    reported = list_probes(index, probes, lambda probe: f"offset {probe.slot * 10 + 10}", ("goes on", "stops"))
    first, lines = index.first_warm_slot, reported.strip().split("\n")
    assert f"all {entries} are in" in lines[0] if first == 0 else f"{first} to {entries - 1} are" in lines[0]
    found = [re.fullmatch(r" *probe (\d+): slot (\d+) \((\w+)\): offset (\d+), ([\w ]+)", line) for line in lines[1:]]
    assert [int(one[1]) for one in found if one] == list(range(1, len(probes) + 1))
    for one, probe in zip(found, probes, strict=True):
        assert one is not None
        slot, offset = int(one[2]), int(one[4])
        assert (slot, one[3]) == (probe.slot, "warm" if slot >= first else "cold")
        assert one[5] == ("goes on" if offset <= wanted else "stops")


def test_a_search_without_a_look_has_nothing_to_tell():
    assert list_probes(OffsetIndex(lambda *_: b"", 0, 0), [], lambda _: "", ("", "")) == ""
    assert no_trace("anything") is None  # type: ignore[func-returns-value]
