"""The chart of records over time, and the pieces of the page: what lies far outside is named, all is escaped once."""

import re

import pytest
from jinja2 import UndefinedError

from kafkafs.spark.profile.charts import Bar, bars, over_time, rendered, table, window_of
from kafkafs.spark.profile.figures import Figures
from kafkafs.spark.profile.page import page
from kafkafs.tables.offsets import TopicPartition

NOW = 1_700_000_000
BUSY = {NOW + second: (1_000, 50_000) for second in range(300)}


def test_a_record_of_1970_does_not_squeeze_the_others():
    """Regression: all of a day stood in the last column."""
    html = over_time({"t": {5: (1, 10), **BUSY, NOW * 2: (2, 10)}}, 1)
    assert len(re.findall("<rect", html)) > 100
    assert "1 record is older, the oldest of 1970-01-01 00:00:05" in html
    assert "2 records are newer, the newest of 2077-" in html


def test_all_is_drawn_where_nothing_is_far_outside():
    window = window_of(BUSY)
    assert (window.first, window.last, window.before, window.behind) == (NOW, NOW + 299, 0, 0)
    assert "Not drawn" not in over_time({"t": BUSY}, 1)


def test_few_records_are_all_drawn():
    assert window_of({0: (1, 1), NOW: (1, 1)}) == window_of({0: (2, 2), NOW: (2, 2)})
    assert window_of({0: (1, 1), NOW: (1, 1)}).before == 0


def test_axes_tell_counts_times_and_the_rate():
    html = over_time({"t": BUSY}, 1)
    assert "up to 2,000 records in 2 seconds: 1,000.0 records/s; up to 50.0 kB/s" in html
    assert "<span>2,000</span><span>1,000</span><span>0</span>" in html
    assert "2023-11-14 22:13:20" in html


def test_topics_have_colours_and_the_rest_share_one():
    html = over_time({f"t{number}": {NOW: (100 - number, 1)} for number in range(9)}, 1)
    assert "t0</span>" in html
    assert "3 more</span>" in html
    assert html.count("<rect") == 7


def test_heartbeats_of_the_brokers_are_named_beside():
    users = Figures(records=300_000, volume=dict(BUSY))
    own = Figures(records=7_000_000, volume={NOW - 1_000_000: (7_000_000, 9)})
    html = page({TopicPartition("t", 0): users, TopicPartition("__cluster_metadata", 0): own}, ["/data"])
    chart = html[html.index("Volume over time") : html.index("Partitions by size")]
    assert "Without 7,000,000 records of Kafka&#39;s own topics (__cluster_metadata)." in chart
    assert chart.count("<rect") > 100


def test_the_brokers_own_are_drawn_where_nothing_else_is():
    html = page({TopicPartition("__cluster_metadata", 0): Figures(records=3, volume={NOW: (3, 9)})}, ["/data"])
    assert "<rect" in html


EVIL = "\"><script>'&"


def test_names_are_escaped_and_pieces_in_pieces_only_once():
    inner = bars([Bar(EVIL, 1, EVIL)], EVIL) + table([EVIL], [[EVIL]])
    html = rendered("page", [EVIL], rendered("facts", [(EVIL, EVIL)], EVIL), [rendered("section", EVIL, EVIL, inner)])
    assert html.count("<script") == 1  # the page's own, which sorts
    assert html.count("&#34;&gt;&lt;script&gt;&#39;&amp;") == 11
    assert "&amp;lt;" not in html


def test_no_bar_is_drawn_for_nothing():
    html = bars([Bar("none", 0, "0"), Bar("half", 1, "1"), Bar("all", 2, "2")])
    assert html.count('class="bar ') == 2
    assert "width:50.00%" in html
    assert "Nothing to show." in bars([])


def test_a_value_that_a_piece_lacks_is_an_error_and_no_gap():
    with pytest.raises(UndefinedError):
        rendered("bars", [object()], 1, "")
