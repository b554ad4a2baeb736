"""Gives a command its arguments, as `main` does, without running it."""

import argparse

import pytest

from kafkafs.cli.parser import build


def parsed(command: str, *words: str) -> argparse.Namespace:
    """What the command gets."""
    return build([command]).parse_args([command, *words])


def refusal(capsys: pytest.CaptureFixture[str], command: str, *words: str) -> str:
    """The last line of what a person is told who gave it these, behind the usage."""
    with pytest.raises(SystemExit, match="2"):
        parsed(command, *words)
    reported = capsys.readouterr().err
    assert reported.startswith("usage: kafkafs")
    return reported.splitlines()[-1]
