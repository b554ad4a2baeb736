"""What `kafkafs groups` may be given."""

from tests.cli.arguments.parsing import parsed


def test_directories_and_a_group_are_told_apart_later():
    """Which of them is which only the disk knows."""
    assert parsed("groups", "one", "two", "checkout").words == ["one", "two", "checkout"]
