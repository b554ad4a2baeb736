"""A `.log` or `.checkpoint` file from its start, or that of a window, to its end. What is shown: see `text_log`."""

from collections.abc import Iterator
from typing import Protocol

from kafkafs.format.batch import Batch
from kafkafs.view.dump.entries import HEADER_READ, Unreadable, entry_at
from kafkafs.view.dump.findings import Findings
from kafkafs.view.dump.json_log import JsonLog
from kafkafs.view.dump.options import ALL_BYTES, Options
from kafkafs.view.dump.runs import Run, read_run
from kafkafs.view.dump.source import Source
from kafkafs.view.dump.text_log import TextLog
from kafkafs.view.dump.window import Window

Pieces = Iterator[tuple[int | None, bytes]]
"""Text, and where in the file what follows it begins; None inside of what is made in one go."""


class _Shown(Protocol):
    """How a log is shown. `is_past` tells that the rest lies behind the window."""

    is_past: bool

    def run(self, run: Run) -> Iterator[bytes]: ...

    def odd_entry(self, entry: Batch | Unreadable) -> Iterator[bytes]: ...

    def trailing(self, position: int, end: int) -> Iterator[bytes]: ...


def dump_log(source: Source, options: Options, findings: Findings, window: Window) -> Pieces:
    """The batches of the window, and at the end of the file how many bytes are no batch."""
    shown: _Shown = (JsonLog if options.json else TextLog)(source, options, findings, window)
    position, end = window.position, source.data.size
    if options.max_bytes != ALL_BYTES:
        end = min(end, options.max_bytes)
    while position < end and not shown.is_past:
        run = read_run(source, position, end)
        if len(run.rows):
            yield from ((None, text) for text in shown.run(run))
            position = run.end
        else:
            entry = entry_at(source.data.read(position, HEADER_READ), position, end)
            if entry is None:
                break
            yield from ((None, text) for text in shown.odd_entry(entry))
            position += entry.size
        yield position, b""
    if position < end and options.max_bytes == ALL_BYTES and not shown.is_past:
        yield from ((None, text) for text in shown.trailing(position, end))
