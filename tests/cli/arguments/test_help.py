"""The arguments of `kafkafs help`."""

from kafkafs.cli.parser import build


def test_a_command_may_be_named_or_not():
    assert build(["help"]).parse_args(["help"]).command == []
    assert build(["help"]).parse_args(["help", "cat"]).command == ["cat"]
