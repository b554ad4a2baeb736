"""The entry point of the `kafkafs` command."""

import os
import sys
from collections.abc import Sequence

from kafkafs.cli.endings import run_honestly
from kafkafs.cli.parser import ALIASES, COMMANDS, build


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command: its exit code, 2 for what was asked wrongly, 1 for what failed."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads that nothing here has a use for
    words = sys.argv[1:] if arguments is None else arguments
    word = ALIASES.get(words[0], words[0]) if words else ""
    named = (word,) if word in COMMANDS else COMMANDS
    parsed = build(named).parse_args(words)
    return run_honestly(lambda: int(parsed.run(parsed)), getattr(parsed, "interrupted", ""))
