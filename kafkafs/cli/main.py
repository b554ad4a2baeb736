"""The entry point of the `kafkafs` command."""

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module

from kafkafs.cli.exit_codes import EXIT_FAILED, EXIT_USAGE, run_to_exit_code


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command: its exit code, 2 for what was asked wrongly, 1 for what failed, or 2 where 1 is an answer."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads that nothing here has a use for
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")  # so would pyarrow, before it is confined
    words = sys.argv[1:] if arguments is None else arguments
    interrupted, failed = "interrupted", EXIT_FAILED  # until it is known what the command would say

    def run() -> int:
        """Parses the words and runs the command. Imports stand here, since Ctrl-C may come in one."""
        nonlocal interrupted, failed
        with _without_garbage_collection() if arguments is None else nullcontext():  # a process of its own
            from kafkafs.cli import parser

            if not words:
                parser.build().print_help()
                return EXIT_USAGE
            typed = [parser.FLAGS[words[0]]] if len(words) == 1 and words[0] in parser.FLAGS else words
            word = parser.ALIASES.get(words[0], words[0]) if words else ""
            named = (word,) if word in parser.COMMANDS else parser.COMMANDS
            parsed = parser.build(named).parse_args(typed)
            interrupted, failed = getattr(parsed, "interrupted", ""), getattr(parsed, "failed", EXIT_FAILED)
            command = import_module(parsed.module)
        return int(command.run(parsed))

    return run_to_exit_code(run, lambda: interrupted, lambda: failed)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Modules leave none when they load, and stay: looking among them took a fifth of a command's start."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
