"""The entry point of the `kafkafs` command."""

from collections.abc import Sequence

from kafkafs.cli.endings import run_honestly
from kafkafs.cli.parser import build


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command: its exit code, 2 for what was asked wrongly, 1 for what failed."""
    parsed = build().parse_args(arguments)
    return run_honestly(lambda: int(parsed.run(parsed)))
