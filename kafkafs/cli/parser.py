"""The one tree of commands and arguments: what `--help`, the man page and shell completions are made from.

A command is a module with `add(commands)`, which hangs its parser into the tree and names its function:
`parser.set_defaults(run=function)`, where `function(arguments) -> exit code`. What is heavy to import (numpy, pyfuse3,
Spark) is imported inside that function.
"""

import argparse
import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any, TypeAlias

import kafkafs

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # which is generic for type checkers only

COMMANDS = ("mount", "umount", "ls", "cat", "stat", "dump", "audit", "reindex", "export", "profile", "demo")
"""Each is a module beside this one."""

TIME_BACK = "-[0-9]+[smhd]?"
"""A time back from now, as in `--from-time -1h`."""


class Version(argparse._VersionAction):
    """Finds the version out only where it is asked for."""

    def __call__(self, *asked: Any, **more: Any) -> None:
        self.version = f"kafkafs {kafkafs.__version__}"
        super().__call__(*asked, **more)


def take_for_values(parser: argparse.ArgumentParser, pattern: str) -> None:
    """What begins like this is a value, though it begins with a dash: argparse by itself lets only numbers be."""
    parser._negative_number_matcher = re.compile(pattern)


def build(names: Iterable[str] = COMMANDS) -> argparse.ArgumentParser:
    """The tree, or only the branches of some commands: importing all of them takes longer than many a command."""
    parser = argparse.ArgumentParser(
        prog="kafkafs",
        description="Mount a Kafka data directory and read its log with ls, cat, grep and jq. Nothing is changed.",
    )
    parser.add_argument("--version", action=Version)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in names:
        import_module(f"kafkafs.cli.{name}").add(commands)
    return parser
