"""What the commands' arguments have in common."""

import re
import shlex
from pathlib import Path

import pytest

from kafkafs.cli.main import main
from kafkafs.cli.parser import COMMANDS, INSTEAD, build
from kafkafs.errors import EMPTY_NAME


@pytest.mark.parametrize(
    "command", [["dump", "--files", "x.log"], ["export", "data", "--to", "out"], ["grep", "x", "data"]]
)
@pytest.mark.parametrize("side", ["from", "to"])
def test_a_time_back_from_now_is_a_value_and_no_flag(command: list[str], side: str) -> None:
    """The help offers `-1h`, and argparse would refuse what begins with a dash."""
    parsed = build(command[:1]).parse_args([*command, f"--{side}-time", "-1h"])
    assert getattr(parsed, f"{side}_time") == "-1h"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_each_command_ends_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They are what people read first."""
    with pytest.raises(SystemExit, match="0"):
        main([command, "-h"])
    shown = capsys.readouterr().out
    examples = re.search(r"\n\nexamples:\n((?:  kafkafs .*\n){2,3})\Z", shown)
    assert examples
    for example in examples[1].splitlines():  # and they are understood
        _, *words = shlex.split(example.partition(" | ")[0])
        assert build().parse_args(words).module.startswith("kafkafs.cli.")


@pytest.mark.parametrize(
    ("words", "usage", "nearest"),
    [
        (["mont", "a", "b"], "kafkafs [-h]", "there is no command 'mont'; did you mean mount?"),
        (["dump", "x.log", "--print-datalog"], "kafkafs dump", "there is no option --print-datalog; did you mean"
         " --print-data-log?"),
        (["mount", "a", "b", "--backround"], "kafkafs mount", "--backround; did you mean --background?"),
        (["export", "a", "--to", "b", "--compression", "zst"], "kafkafs export", "'zst' is not a choice; did you mean"
         " zstd?"),
        (["grep", "-m", "few", "x", "a"], "kafkafs grep", "'few' is not a whole number"),
        (["umount", "a", "b"], "kafkafs umount", "too many arguments: b"),
        (["--hlep"], "kafkafs", "there is no option --hlep; did you mean --help?"),
        (["--table", "groups", "a"], "kafkafs", "there is no option --table; the options of a command come behind the"
         " command"),
    ],
)  # fmt: skip
def test_what_is_mistyped_is_answered_with_what_is_nearest(
    words: list[str], usage: str, nearest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """And with the usage of the command that was meant."""
    with pytest.raises(SystemExit, match="2"):
        main(words)
    reported = capsys.readouterr().err
    assert reported.startswith(f"usage: {usage}")
    assert reported.endswith(f"{nearest}\n")


@pytest.mark.parametrize(
    "words",
    [
        "triage {}", "ls {}", "ls a {}", "cat {} b", "cat a {}", "stat a {}", "grep x {}", "dump {}", "dump --files {}",
        "groups {}", "groups a {}", "du {}", "du a --server-properties {}", "audit {}", "audit a --report {}",
        "audit a --tiered {}", "diff a --against {}", "diff {} --against a", "reindex a --index-dir {}",
        "export {} --to b", "export a --to {}", "export a --to b --tiered {}", "export a --to b --iceberg {}",
        "export --compact {}", "profile a --html {}", "profile a --json {}", "revive {} --to b", "revive a --to {}",
        "revive a --to b --tiered {}", "mount {} b", "mount a {}", "mount a b --log-file {}", "umount {}",
    ],
)  # fmt: skip
def test_an_empty_word_is_not_the_directory_that_we_are_in(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor an option left out: it comes from a variable that was never set."""
    with pytest.raises(SystemExit, match="2"):
        main(["" if word == "{}" else word for word in words.split()])
    assert capsys.readouterr().err.endswith(f"{EMPTY_NAME}\n")


def test_an_empty_pattern_and_group_are_words(tmp_path: Path) -> None:
    """Each record has an empty text, and a group's name may be empty."""
    assert build().parse_args(["grep", "", "--header", "", str(tmp_path)]).pattern == ""
    assert build().parse_args(["groups", str(tmp_path), "--group", ""]).group == [""]


def test_unmount_is_umount(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Both words are typed."""
    assert main(["unmount", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"kafkafs: no kafkafs is mounted at {str(tmp_path)!r}\n"


@pytest.mark.parametrize("word", INSTEAD)
def test_a_word_that_is_no_command_is_answered_with_what_to_type(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([word, "a"])
    reported = capsys.readouterr().err
    assert reported.endswith(f"there is no command {word!r}; type {INSTEAD[word]}\n")
    for command in re.findall(r"`kafkafs ([^`|]*)", reported):
        assert build().parse_args(shlex.split(command))


def test_kafkafs_alone_shows_the_help_which_ends_with_three_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    shown = capsys.readouterr()
    assert shown.err == ""
    assert len(re.findall(r"^  kafkafs .*", shown.out.split("\nexamples:\n")[1], re.M)) == 3
    assert "recipes.md" in shown.out
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    assert capsys.readouterr().out == shown.out


def test_version_is_a_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["version"])
    assert capsys.readouterr().out.startswith("kafkafs ")
