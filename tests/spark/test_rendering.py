"""The pieces of the profile page: whatever is shown is escaped, and once only."""

import pytest
from jinja2 import UndefinedError

from kafkafs.spark.profile.charts import Bar, bars, rendered, table

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
