"""What `kafkafs reindex` may be given."""

from pathlib import Path

from tests.cli.arguments.parsing import parsed, refusal


def test_without_flags_the_broker_s_own_indexes_are_made_in_each_topic_s_interval():
    arguments = parsed("reindex", "data", "--index-dir", "indexes")
    assert (arguments.index_dir, arguments.interval_bytes, arguments.keys) == (Path("indexes"), None, False)
    assert arguments.replicas == "furthest"


def test_where_they_go_has_to_be_told(capsys):
    """Never beside the broker's own."""
    assert refusal(capsys, "reindex", "data").endswith("the following arguments are required: --index-dir")
