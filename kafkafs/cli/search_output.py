"""The output of `kafkafs grep`: lines, names or counts on standard output, progress and problems on standard error."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable

from kafkafs.cli.exit_codes import EXIT_USAGE, output_errors_named, say
from kafkafs.cli.progress import FileProgress
from kafkafs.search.everywhere import Event, VanishedFile
from kafkafs.search.record_files import LeftOut
from kafkafs.search.results import Done, Trouble

EXIT_NONE = 1
EXIT_TROUBLE = EXIT_USAGE


class SearchOutput:
    """Standard output, flushed at once, and how far the search is on standard error, until the end of `with`.

    `limit`: records of each partition or file that are wanted; None for all.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.limit: int | None = arguments.max_count
        if arguments.files_with_matches:
            self.limit = 1 if self.limit is None else min(self.limit, 1)
        self._names_only: bool = arguments.files_with_matches
        self._counts_only: bool = arguments.count and not arguments.files_with_matches
        self._problems = list[str]()
        self._found: Counter[str] = Counter()
        self.left = LeftOut()
        """The files beside logs that were not searched."""
        self._out, self._size, self._done = sys.stdout.buffer, 0, 0
        self._progress = FileProgress()
        self.is_progress_shown = self._progress.is_shown

    def expect(self, size: int) -> None:
        """Expect `size` more bytes to be searched."""
        self._size += size

    def keep_error(self, sentence: str) -> None:
        """Keeps what could not be read for the end."""
        self._problems.append(sentence)

    def is_full(self, name: str) -> bool:
        """True if no more records of it are wanted."""
        return self.limit is not None and self._found[name] >= self.limit

    def show(self, event: Event) -> bool:
        """Print what was found; False for a file that is gone."""
        if isinstance(event, Trouble):
            self.keep_error(event.sentence)
        elif isinstance(event, Done):
            self._done += event.size
            self.left = self.left.and_more(event.left)
            self._progress.show(event.partition, self._done, self._size)
        elif isinstance(event, VanishedFile):
            return False
        else:
            name, limit = event.partition, self.limit
            kept = event.records if limit is None else min(event.records, limit - self._found[name])
            if self._names_only and not self._found[name]:
                self._write(os.fsencode(f"{name}\n"))
            self._found[name] += kept
            self._write(event.lines if kept == event.records else b"".join(event.lines.splitlines(True)[:kept]))
        return True

    def write_counts(self, names: Iterable[str]) -> None:
        """Print `name:count` for each, if that is asked for."""
        if self._counts_only:
            self._write(b"".join(os.fsencode(f"{name}:{self._found[name]}\n") for name in names))

    def code(self) -> int:
        """Say what could not be read, and return the exit code."""
        for problem in dict.fromkeys(self._problems):
            say(problem)
        return EXIT_TROUBLE if self._problems else 0 if self._found.total() else EXIT_NONE

    def _write(self, lines: bytes) -> None:
        if lines:
            with output_errors_named(), self._progress.aside():
                self._out.write(lines)
                self._out.flush()

    def __enter__(self) -> "SearchOutput":
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.clear()
