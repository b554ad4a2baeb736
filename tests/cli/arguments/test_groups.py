"""What `kafkafs groups` may be given."""

from tests.cli.arguments.parsing import parsed, refusal


def test_directories_and_a_group_are_told_apart_later():
    """Which of them is which only the disk knows."""
    assert parsed("groups", "one", "two", "checkout").words == ["one", "two", "checkout"]
    assert parsed("groups", "one", "--table", "two", "--group", "g", "checkout").words == ["one", "two", "checkout"]


def test_what_is_printed_is_one_form(capsys):
    assert parsed("groups", "one").form is None
    assert parsed("groups", "--json", "one").form == "json"
    assert "not allowed with" in refusal(capsys, "groups", "--json", "--table", "one")
