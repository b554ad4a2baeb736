"""What `kafkafs mount` may be given, and what its help tells besides."""

from pathlib import Path

from kafkafs.cli import mount_options
from kafkafs.cli.parser import build
from kafkafs.view import manual
from tests.cli.parsing import parsed, refusal


def test_the_last_directory_is_the_mount_point():
    arguments = parsed("mount", "/disk1", "/disk2", "/mnt", "-o", "ro,corrupt=skip", "-o", "cache=keep")
    assert (arguments.data_dirs, arguments.mountpoint) == ([Path("/disk1"), Path("/disk2")], Path("/mnt"))
    assert arguments.options == ["ro,corrupt=skip", "cache=keep"]


def test_without_flags_it_stays_in_the_foreground_and_logs_to_standard_error():
    arguments = parsed("mount", "/disk", "/mnt")
    assert (arguments.options, arguments.background, arguments.log_file) == ([], False, None)


def test_one_directory_is_too_few(capsys):
    assert refusal(capsys, "mount", "/disk").endswith("the following arguments are required: MOUNTPOINT")


def test_the_help_has_each_option_and_what_names_mean():
    """Whoever is on a server without a network asks here."""
    command = build(["mount"])._subparsers._group_actions[0].choices["mount"]  # type: ignore[union-attr, index]
    reported = command.format_help()
    assert all(f"  {word.form:18} {word.meaning}\n" in reported for word in mount_options.WORDS)
    assert manual.plain() in reported
