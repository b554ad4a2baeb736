"""A `.log` or `.checkpoint` file from its start, or that of a window, to its end. What is shown: see `text_log`.

The work has two stages, which may be two threads': reading and unpacking a log gives parts, whose lines are then
written one part after the other.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

from kafkafs.dump.entries import HEADER_READ, UnreadableEntry, entry_at
from kafkafs.dump.findings import Findings
from kafkafs.dump.options import ALL_BYTES, DumpOptions
from kafkafs.dump.rendering import Text
from kafkafs.dump.runs import EntryRun, read_run
from kafkafs.dump.source import Source
from kafkafs.dump.text_log import TextLog
from kafkafs.dump.window import OffsetWindow
from kafkafs.format.batch import Batch

Pieces = Iterator[tuple[int | None, Text]]
"""Text, and where in the file what follows it begins; None inside of what is made in one go."""

Lines = Callable[[], Iterator[Text]]
"""A part's lines, still to be made. Each part's are made once, and in order."""

Parts = Iterator[tuple[int | None, Lines]]
"""Parts, and where in the file what follows them begins."""

RunAhead = Callable[[Parts], Parts]
"""Hands out the same parts, made before they are asked for or not."""


class _Shown(Protocol):
    """How a log is shown. `is_past` tells that the rest lies behind the window."""

    is_past: bool

    def parts(self, run: EntryRun) -> Iterator[Lines]:
        """A run of sound entries, in parts; it notes whether the run reaches behind the window."""

    def odd_entry(self, entry: Batch | UnreadableEntry) -> Iterator[Text]:
        """The lines of an entry that does not look sound."""

    def trailing(self, position: int, end: int) -> Iterator[Text]:
        """The lines about [position, end), in which no entry begins."""


def dump_log(
    source: Source, options: DumpOptions, findings: Findings, window: OffsetWindow, run_ahead: RunAhead = iter
) -> Pieces:
    """The batches of the window, and at the end of the file how many bytes are no batch."""
    shown = _shown(source, options, findings, window)
    for behind, lines in run_ahead(_parts(source, options, shown, window.position)):
        yield from ((None, text) for text in lines())
        if behind is not None:
            yield behind, b""


def _shown(source: Source, options: DumpOptions, findings: Findings, window: OffsetWindow) -> _Shown:
    if not options.json:
        return TextLog(source, options, findings, window)
    from kafkafs.dump.json_log import JsonLog  # imported where it is wanted only

    return JsonLog(source, options, findings, window)


def _parts(source: Source, options: DumpOptions, shown: _Shown, position: int) -> Parts:
    end = source.data.size
    if options.max_bytes != ALL_BYTES:
        end = min(end, options.max_bytes)
    while position < end and not shown.is_past:
        run = read_run(source, position, end)
        if len(run.rows):
            yield from ((None, lines) for lines in shown.parts(run))
            position = run.end
        else:
            entry = entry_at(source.data.read(position, HEADER_READ), position, end)
            if entry is None:
                break
            yield None, partial(shown.odd_entry, entry)
            position += entry.size
        yield position, partial(iter, ())
    if position < end and options.max_bytes == ALL_BYTES and not shown.is_past:
        yield None, partial(shown.trailing, position, end)
