"""What the commands that answer at once may be given."""

from pathlib import Path

import pytest

from kafkafs.cli.parser import ALIASES, build
from tests.cli.parsing import parsed, refusal


def test_without_paths_and_flags_it_lists_the_root():
    arguments = parsed("ls", "data")
    assert (arguments.paths, arguments.long, arguments.all, arguments.directory) == ([], False, False, False)


def test_flags_may_be_joined_as_those_of_ls():
    arguments = parsed("ls", "-lad", "data", "t-0", "u-0")
    assert (arguments.long, arguments.all, arguments.directory) == (True, True, True)
    assert arguments.paths == ["t-0", "u-0"]
    arguments = parsed("ls", "-lhtr", "-R1", "data", "--time-style", "iso")
    assert (arguments.human, arguments.order, arguments.reverse) == (True, "time", True)
    assert (arguments.recursive, arguments.single, arguments.time_style) == (True, True, "iso")


@pytest.mark.parametrize("command", ["ls", "cat", "stat"])
def test_data_directories_are_one_word_and_paths_follow(command):
    """So that a shell completes the first and a glob may be many of the others."""
    arguments = parsed(command, "/disk1,/disk2", "t-0/latest", "t-0/earliest", "-o", "corrupt=skip")
    assert (arguments.data_dirs, arguments.paths) == ("/disk1,/disk2", ["t-0/latest", "t-0/earliest"])
    assert arguments.options == ["corrupt=skip"]
    assert parsed(command, "/disk", "t-0").options == []


@pytest.mark.parametrize("command", ["cat", "stat"])
def test_what_shows_one_thing_has_to_be_reported_which(command, capsys):
    """`ls` alone has something to say of the whole."""
    assert refusal(capsys, command, "/disk") == f"kafkafs {command}: error: the following arguments are required: PATH"
    assert refusal(capsys, command).endswith("the following arguments are required: DATA_DIR[,DATA_DIR...], PATH")


@pytest.mark.parametrize("command", ["ls", "cat", "stat"])
def test_options_may_stand_anywhere(command):
    """Behind the directory, between paths: wherever somebody who looks for the right flag puts it."""
    arguments = parsed(command, "data", "-o", "corrupt=skip", "t-0", "-o", "max_batch=1M", "u-0")
    assert (arguments.data_dirs, arguments.paths) == ("data", ["t-0", "u-0"])
    assert arguments.options == ["corrupt=skip", "max_batch=1M"]


def test_without_flags_the_pattern_is_an_expression_looked_for_everywhere():
    arguments = parsed("grep", "a.b", "one", "two")
    assert (arguments.pattern, arguments.data_dirs) == ("a.b", ["one", "two"])
    assert (arguments.fixed_strings, arguments.ignore_case, arguments.invert_match) == (False, False, False)
    assert (arguments.key, arguments.value, arguments.header) == (False, False, [])
    assert (arguments.topics, arguments.topic_pattern, arguments.max_count) == ([], None, None)
    assert (arguments.count, arguments.files_with_matches, arguments.decoded) == (False, False, False)


def test_short_flags_may_be_joined_and_fields_and_topics_be_several():
    arguments = parsed("grep", "-Fic", "-m3", "x", "data", "--header", "a", "--header", "b", "--topics", "s,t")
    assert (arguments.fixed_strings, arguments.ignore_case, arguments.count) == (True, True, True)
    assert arguments.max_count == 3
    assert (arguments.header, arguments.topics) == (["a", "b"], ["s,t"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["x"], "the following arguments are required: DATA_DIR"),
        (["-F", "-E", "x", "data"], "argument -E/--extended-regexp: not allowed with argument -F/--fixed-strings"),
        (["-m", "few", "x", "data"], "argument -m/--max-count: 'few' is not a whole number"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_refused(words, sentence, capsys):
    assert refusal(capsys, "grep", *words) == f"kafkafs grep: error: {sentence}"


def test_directories_and_a_group_are_distinguished_later():
    """Which of them is which only the disk knows."""
    assert parsed("groups", "one", "two", "checkout").words == ["one", "two", "checkout"]
    assert parsed("groups", "one", "--table", "two", "--group", "g", "checkout").words == ["one", "two", "checkout"]


def test_what_is_printed_is_one_form(capsys):
    assert parsed("groups", "one").form is None
    assert parsed("groups", "--json", "one").form == "json"
    assert "not allowed with" in refusal(capsys, "groups", "--json", "--table", "one")


@pytest.mark.parametrize("word", ["umount", *(word for word, meant in ALIASES.items() if meant == "umount")])
def test_it_takes_a_mount_point_under_both_of_its_names(word):
    arguments = build(["umount"]).parse_args([word, "/mnt"])
    assert (arguments.mountpoint, arguments.module) == (Path("/mnt"), "kafkafs.cli.umount")


def test_one_mount_is_ended_at_a_time(capsys):
    assert refusal(capsys, "umount", "/mnt", "/mnt2").endswith("too many arguments: /mnt2")


def test_a_command_may_be_named_or_not():
    assert build(["help"]).parse_args(["help"]).command == []
    assert build(["help"]).parse_args(["help", "cat"]).command == ["cat"]
