"""The one tree of commands and arguments: what `--help`, the man page and shell completions are made from.

A command is a module with `add(commands)`, which hangs its parser into the tree and names its function:
`parser.set_defaults(run=function)`, where `function(arguments) -> exit code`. What is heavy to import (pyfuse3, Spark)
is imported inside that function.
"""

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

import kafkafs
from kafkafs.cli import audit, demo, dump, export, mount, profile, reindex, umount

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

ADDERS: tuple[Callable[["Commands"], None], ...] = (
    *(mount.add, umount.add, dump.add),
    *(audit.add, reindex.add, export.add, profile.add),
    demo.add,
)


def build() -> argparse.ArgumentParser:
    """The whole tree."""
    parser = argparse.ArgumentParser(
        prog="kafkafs",
        description="Mount a Kafka data directory and read its log with ls, cat, grep and jq. Nothing is changed.",
    )
    parser.add_argument("--version", action="version", version=f"kafkafs {kafkafs.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in ADDERS:
        add(commands)
    return parser
