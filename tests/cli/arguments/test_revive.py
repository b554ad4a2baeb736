"""What `kafkafs revive` may be given."""

from pathlib import Path

from tests.cli.arguments.parsing import parsed, refusal


def test_without_flags_all_of_it_is_for_this_machine_alone():
    arguments = parsed("revive", "one", "two", "--to", "new")
    assert (arguments.data_dirs, arguments.to) == ([Path("one"), Path("two")], Path("new"))
    assert (arguments.listen, arguments.corrupt, arguments.method) == ("127.0.0.1:9092", "refuse", None)
    assert not arguments.plan


def test_a_time_back_is_a_value():
    assert parsed("revive", "one", "--to", "new", "--until", "-2h").until == "-2h"


def test_one_way_of_copying_can_be_asked_for(capsys):
    assert parsed("revive", "one", "--to", "new", "--link").method == "link"
    assert "not allowed with" in refusal(capsys, "revive", "one", "--to", "new", "--link", "--copy")


def test_where_to_has_to_be_told(capsys):
    assert refusal(capsys, "revive", "data").endswith("the following arguments are required: --to")


def test_topics_may_be_given_one_by_one():
    """As wherever topics are an option."""
    words = ("revive", "data", "--to", "new", "--topic", "orders", "--topics", "a,b")
    assert parsed(*words).topics == ["orders", "a,b"]
