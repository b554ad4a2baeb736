"""A log as lines of JSON: batches as in `.batches.jsonl` or, with deep iteration, records as in `.jsonl`.

As in a mount, decoded records are those of clients: control records are left out.
"""

from collections.abc import Iterator

import numpy as np

from kafkafs.dump.dump_findings import Dump
from kafkafs.dump.entries import EntryRun, UnreadableEntry
from kafkafs.dump.rendering import Text
from kafkafs.format.batch import Batch, data_batches
from kafkafs.format.jsonl import JsonLines, batch_lines, unreadable_line
from kafkafs.format.names import parse_partition_name
from kafkafs.format.records import Refusal, decode

NO_PARTITION = ("", -1)


class JsonLog:
    """One pass through one file."""

    def __init__(self, asked: Dump) -> None:
        self._asked = asked
        self._name, self._options = asked.source.name, asked.options
        name = parse_partition_name(asked.source.absolute_path.split("/")[-2])
        self._lines = JsonLines(*((name.topic, name.partition) if name else NO_PARTITION))

    def texts(self, run: EntryRun) -> Iterator[Text]:
        """The lines of many entries."""
        if not self._options.is_deep:
            yield from batch_lines(self._name, run.rows)
            return
        rows = np.ascontiguousarray(data_batches(run.rows))
        for piece in decode(run.data, run.position, rows, self._options.limit, self._options.memory):
            if isinstance(piece, Refusal):
                self._asked.problem(f"{piece.error}.")
            else:
                yield from self._lines.pieces(self._asked.window.of(piece))

    def odd_entry(self, entry: Batch | UnreadableEntry) -> Iterator[bytes]:
        """The line of an entry that does not look sound."""
        return self._unreadable(entry.position, entry.size)

    def trailing(self, position: int, end: int, fatal: str) -> Iterator[bytes]:
        """The line of the bytes at the end of the file, in which nothing begins."""
        if fatal and not self._options.is_deep:
            self._asked.problem(f"{fatal}.")
        return self._unreadable(position, end - position)

    def _unreadable(self, position: int, size: int) -> Iterator[bytes]:
        if self._options.is_deep:
            self._asked.problem(f"the {size} bytes at position {position} are not a batch.")
        else:
            yield unreadable_line(self._name, position, size)
