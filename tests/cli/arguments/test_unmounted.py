"""What `ls`, `cat` and `stat` may be given alike."""

import pytest

from tests.cli.arguments.parsing import parsed, refusal


@pytest.mark.parametrize("command", ["ls", "cat", "stat"])
def test_data_directories_are_one_word_and_paths_follow(command):
    """So that a shell completes the first and a glob may be many of the others."""
    arguments = parsed(command, "/disk1,/disk2", "t-0/latest", "t-0/earliest", "-o", "corrupt=skip")
    assert (arguments.data_dirs, arguments.paths) == ("/disk1,/disk2", ["t-0/latest", "t-0/earliest"])
    assert arguments.options == ["corrupt=skip"]
    assert parsed(command, "/disk", "t-0").options == []


@pytest.mark.parametrize("command", ["cat", "stat"])
def test_what_shows_one_thing_has_to_be_told_which(command, capsys):
    """`ls` alone has something to say of the whole."""
    assert refusal(capsys, command, "/disk") == f"kafkafs {command}: error: the following arguments are required: PATH"
    assert refusal(capsys, command).endswith("the following arguments are required: DATA_DIR[,DATA_DIR...], PATH")


@pytest.mark.parametrize("command", ["ls", "cat", "stat"])
def test_options_may_stand_anywhere(command):
    """Behind the directory, between paths: wherever somebody who looks for the right flag puts it."""
    arguments = parsed(command, "data", "-o", "corrupt=skip", "t-0", "-o", "max_batch=1M", "u-0")
    assert (arguments.data_dirs, arguments.paths) == ("data", ["t-0", "u-0"])
    assert arguments.options == ["corrupt=skip", "max_batch=1M"]
