"""`--topics` and `--topic-pattern` are the same wherever they are an option."""

import pytest

from tests.cli.parsing import parsed

COMMANDS = {
    "audit": ("data",),
    "export": ("data", "--to", "out"),
    "grep": ("pattern", "data"),
    "profile": ("data", "--html", "page"),
    "reindex": ("data", "--index-dir", "indexes"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_that_reads_topics_takes_them_alike(command):
    words = command, *COMMANDS[command]
    assert (parsed(*words).topics, parsed(*words).topic_pattern) == ([], None)
    assert parsed(*words, "--topics", "a,b", "--topics", "c").topics == ["a,b", "c"]
    assert parsed(*words, "--topic-pattern", "a.*").topic_pattern == "a.*"


@pytest.mark.parametrize("command", COMMANDS)
def test_one_topic_is_named_as_kafkas_tools_name_it(command):
    """They have `--topic`; a prefix of two flags would be neither."""
    assert parsed(command, *COMMANDS[command], "--topic", "orders", "--topics", "a,b").topics == ["orders", "a,b"]
