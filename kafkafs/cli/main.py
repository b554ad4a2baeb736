"""The entry point of the `kafkafs` command."""

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module

from kafkafs.cli.exit_codes import EXIT_FAILED, EXIT_USAGE, Ending, name_warnings, run_to_exit_code
from kafkafs.disk.garbage import no_collection


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command: its exit code, 2 for what was asked wrongly, 1 for what failed, or 2 where 1 is an answer."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads that nothing here has a use for
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")  # so would pyarrow, before it is confined
    words = sys.argv[1:] if arguments is None else arguments
    ending = Ending("interrupted")  # until it is known what the command would say

    def run() -> int:
        """Parse the words and run the command. The imports are here, because Ctrl-C may come during one."""
        # modules leave no garbage when they load, and stay: a search among them took a fifth of a command's start
        with no_collection(objects_stay=True) if arguments is None else nullcontext():  # a process of its own
            from kafkafs.cli import parser

            if not words:
                parser.build().print_help()
                return EXIT_USAGE
            typed = [parser.FLAGS[words[0]]] if len(words) == 1 and words[0] in parser.FLAGS else words
            word = parser.ALIASES.get(words[0], words[0]) if words else ""
            named = (word,) if word in parser.COMMANDS else parser.COMMANDS
            parsed = parser.build(named).parse_args(typed)
            ending.interrupted = getattr(parsed, "interrupted", "")
            ending.failed = getattr(parsed, "failed", EXIT_FAILED)
            command = import_module(parsed.module)
        name_warnings()
        return int(command.run(parsed))

    return run_to_exit_code(run, ending)
