"""`kafkafs demo`: the bundled sample, written by a real broker, mounted and walked through with everyday commands."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkafs.cli.parser import Commands


def add(commands: "Commands") -> None:
    parser = commands.add_parser("demo", help="see it work", description="Mount a bundled sample and walk through it.")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    raise NotImplementedError
