"""`kafkafs help`: the word that people try first says what `--help` does."""

import pytest

from kafkafs.cli.main import main
from kafkafs.cli.parser import ALIASES, COMMANDS


def shown(words: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    with pytest.raises(SystemExit, match=str(code)):
        main(words)
    reported = capsys.readouterr()
    return reported.out, reported.err


@pytest.mark.parametrize(
    "command", [[], *([each] for each in (*COMMANDS, *ALIASES))], ids=lambda words: " ".join(words)
)
def test_it_shows_the_help_of_each_command(command, capsys):
    assert shown(["help", *command], 0, capsys) == shown([*command, "--help"], 0, capsys)


def test_what_is_no_command_is_answered_with_what_is_nearest(capsys):
    _, reported = shown(["help", "mont"], 2, capsys)
    assert reported.endswith("there is no command 'mont'; did you mean mount?\n")


@pytest.mark.parametrize("flag", ["-v", "-V", "--version"])
def test_a_version_is_asked_for_in_each_usual_way(flag, capsys):
    out, _ = shown([flag], 0, capsys)
    assert out.startswith("kafkafs ")
