"""The kind of a file by its name, and its dump. A log is dumped from its start, or from the start of a window, to its
end.

How a log is shown: see `text_log`. Source: DumpLogSegments, `main`.
"""

from collections.abc import Callable, Iterator
from typing import Protocol

from kafkafs.dump.dump_findings import Dump, Findings
from kafkafs.dump.dump_options import ALL_BYTES, WHOLE, DumpOptions, OffsetWindow
from kafkafs.dump.dump_source import Source
from kafkafs.dump.entries import EntryRun, UnreadableEntry, entry_in, fatal_at, read_run, within
from kafkafs.dump.rendering import Text
from kafkafs.dump.text_log import TextLog
from kafkafs.format.batch import LARGEST_HEADER, Batch
from kafkafs.format.names import OFFSET_DIGITS

BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
EPOCH_DIGITS = 10
_LOGS = (".log", ".checkpoint")
_INDEXES = (".index", ".timeindex", ".txnindex", ".snapshot")  # files beside a log

Pieces = Iterator[tuple[int | None, Text]]
"""Text, and where in the file what follows it begins; None inside of what is made in one go."""


def is_dumpable(name: str) -> bool:
    """True if a file of that name is of a kind that has a dump."""
    suffix = _suffix(name)
    return suffix in _LOGS or suffix in _INDEXES


def is_log(name: str) -> bool:
    """True if a file of that name holds batches."""
    return _suffix(name) in _LOGS


def dump(source: Source, options: DumpOptions, findings: Findings, window: OffsetWindow = WHOLE) -> Iterator[Text]:
    """The text of one file, in pieces. The first line names it; an unknown kind has no other, and is a finding.

    Only the window of a log is dumped. If the log has no part in the window, the dump is empty, without even the log's
    name.
    """
    if window == WHOLE or not is_log(source.name):
        yield from (text for _, text in dump_from(source, options, findings, 0))
        return
    found, asked = False, Dump(source, options, findings, window)
    for _, text in dump_log(asked):
        if text and not found:
            yield from _heading(asked)
            found = True
        yield text


def dump_from(source: Source, options: DumpOptions, findings: Findings, position: int) -> Pieces:
    """`dump` as pieces that tell where to go on: from such a position of the file, or from 0 for all of it."""
    asked = Dump(source, options, findings, OffsetWindow(position=position))
    if position == 0:
        yield from ((None, line) for line in _heading(asked))
    suffix = _suffix(source.name)
    if suffix in _LOGS:
        yield from dump_log(asked)
    elif suffix in _INDEXES:
        yield from ((None, text) for text in _index_dump(suffix)(asked))


def _index_dump(suffix: str) -> Callable[[Dump], Iterator[bytes]]:
    """How a file that is no log is dumped. Imported only now: a log is dumped without."""
    from kafkafs.dump import index_dump

    return {
        ".index": index_dump.offset_index,
        ".timeindex": index_dump.time_index,
        ".txnindex": index_dump.transaction_index,
        ".snapshot": index_dump.producer_snapshot,
    }[suffix]


def _suffix(name: str) -> str:
    _, dot, suffix = name.rpartition(".")
    return dot + suffix


def _heading(asked: Dump) -> Iterator[bytes]:
    """The lines in front of what is in the file; JSON has none."""
    lines = list(_name_lines(asked))  # made for JSON, too: what is wrong with the name is found meanwhile
    yield from [] if asked.options.json else lines


def _name_lines(asked: Dump) -> Iterator[bytes]:
    """The path of a file, and what its name says."""
    source = asked.source
    yield f"Dumping {source.path}\n".encode("utf-8", "surrogateescape")
    match _suffix(source.name):
        case ".log":
            if source.base_offset is not None:
                yield f"Log starting offset: {source.base_offset}\n".encode()
            else:
                asked.problem("its name holds no offset, so it may be no segment of Kafka's.")
        case ".checkpoint":
            yield from _checkpoint_heading(asked)
        case suffix if suffix not in _INDEXES:
            asked.findings.unknown(source)


def _checkpoint_heading(asked: Dump) -> Iterator[bytes]:
    name = asked.source.name
    if name == BOOTSTRAP_CHECKPOINT:
        yield b"KRaft bootstrap snapshot\n"
        return
    offset, _, rest = name.partition("-")
    epoch = rest.partition(".")[0]
    if len(offset) == OFFSET_DIGITS and len(epoch) == EPOCH_DIGITS and (offset + epoch).isdecimal():
        yield f"Snapshot end offset: {int(offset)}, epoch: {int(epoch)}\n".encode()
    else:
        asked.problem("its name holds no offset and epoch, so it may be no snapshot of Kafka's.")


class _Shown(Protocol):
    """Show a log."""

    def texts(self, run: EntryRun) -> Iterator[Text]:
        """The lines of a run of sound entries."""

    def odd_entry(self, entry: Batch | UnreadableEntry) -> Iterator[Text]:
        """The lines of an entry that does not look sound."""

    def trailing(self, position: int, end: int, fatal: str) -> Iterator[Text]:
        """The lines about [position, end), in which no entry begins; `fatal`: a problem that ends Kafka's tool there,
        if it is one."""


def dump_log(asked: Dump) -> Pieces:
    """The batches of the window, and at the end of the file how many bytes are no batch."""
    fatal, next_size, is_past = "", 0, False
    shown, position, end = _shown(asked), asked.window.position, asked.source.data.size
    if asked.options.max_bytes != ALL_BYTES:
        end = min(end, asked.options.max_bytes)
    while position < end and not is_past:
        run = read_run(asked.source, position, end, next_size)
        next_size = run.next_size
        if len(run.rows):
            position = run.end
            run, is_past = within(run, asked.window)
            asked.findings.check_crcs(run.rows)
            texts = shown.texts(run)
        else:
            entry = entry_in(asked.source.data, position, end)
            if entry is None:
                fatal = fatal_at(asked.source.data.read(position, LARGEST_HEADER), position, end)
                break
            texts, position = shown.odd_entry(entry), position + entry.size
        yield from ((None, text) for text in texts)
        yield position, b""
    if fatal or (position < end and asked.options.max_bytes == ALL_BYTES and not is_past):
        yield from ((None, text) for text in shown.trailing(position, end, fatal))
    asked.findings.report_invalid_crcs(asked.source)


def _shown(asked: Dump) -> _Shown:
    if not asked.options.json:
        return TextLog(asked)
    from kafkafs.dump.json_log import JsonLog  # imported where it is wanted only

    return JsonLog(asked)
