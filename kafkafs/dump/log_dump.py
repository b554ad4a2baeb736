"""A `.log` or `.checkpoint` file from its start, or that of a window, to its end. What is shown: see `text_log`."""

from collections.abc import Iterator
from typing import Protocol

from kafkafs.dump.dump_findings import Findings
from kafkafs.dump.dump_options import ALL_BYTES, DumpOptions
from kafkafs.dump.dump_source import Source
from kafkafs.dump.entries import HEADER_READ, UnreadableEntry, entry_at, fatal_at
from kafkafs.dump.entry_runs import EntryRun, read_run
from kafkafs.dump.offset_window import OffsetWindow
from kafkafs.dump.rendering import Text
from kafkafs.dump.text_log import TextLog
from kafkafs.format.batch import Batch

Pieces = Iterator[tuple[int | None, Text]]
"""Text, and where in the file what follows it begins; None inside of what is made in one go."""


class _Shown(Protocol):
    """How a log is shown. `is_past` tells that the rest lies behind the window."""

    is_past: bool

    def run(self, run: EntryRun) -> Iterator[Text]:
        """The lines of a run of sound entries; it notes whether the run reaches behind the window."""

    def odd_entry(self, entry: Batch | UnreadableEntry) -> Iterator[Text]:
        """The lines of an entry that does not look sound."""

    def trailing(self, position: int, end: int, fatal: str) -> Iterator[Text]:
        """The lines about [position, end), in which no entry begins; `fatal`: a problem that ends Kafka's tool there,
        if it is one."""


def dump_log(source: Source, options: DumpOptions, findings: Findings, window: OffsetWindow) -> Pieces:
    """The batches of the window, and at the end of the file how many bytes are no batch."""
    fatal = ""
    shown, position, end = _shown(source, options, findings, window), window.position, source.data.size
    if options.max_bytes != ALL_BYTES:
        end = min(end, options.max_bytes)
    while position < end and not shown.is_past:
        run = read_run(source, position, end)
        if len(run.rows):
            texts, position = shown.run(run), run.end
        else:
            header = source.data.read(position, HEADER_READ)
            entry = entry_at(header, position, end)
            if entry is None:
                fatal = fatal_at(header, position, end)
                break
            texts, position = shown.odd_entry(entry), position + entry.size
        yield from ((None, text) for text in texts)
        yield position, b""
    if fatal or (position < end and options.max_bytes == ALL_BYTES and not shown.is_past):
        yield from ((None, text) for text in shown.trailing(position, end, fatal))
    findings.tell_wrong_crcs(source)


def _shown(source: Source, options: DumpOptions, findings: Findings, window: OffsetWindow) -> _Shown:
    if not options.json:
        return TextLog(source, options, findings, window)
    from kafkafs.dump.json_log import JsonLog  # imported where it is wanted only

    return JsonLog(source, options, findings, window)
