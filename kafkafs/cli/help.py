"""`kafkafs help [COMMAND]`: what `kafkafs --help` and `kafkafs COMMAND --help` say."""

import argparse

from kafkafs.cli.parser import build


def run(arguments: argparse.Namespace) -> int:
    """Prints the help of a command, or which there are; what is none is answered with what is nearest, as ever."""
    build().parse_args([*arguments.command, "--help"])
    return 0
