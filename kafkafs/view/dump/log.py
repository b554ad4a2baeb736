"""The text of a `.log` or `.checkpoint` file: its batches, and with deep iteration their records.

Source: DumpLogSegments, `dumpLog`. Valid batches are rendered many at a time; whatever is damaged goes one by one.
"""

from collections.abc import Iterator
from dataclasses import replace

from kafkafs.errors import CorruptData, TooLarge
from kafkafs.format.batch import CODECS, SMALLEST, Batch, crc_holds
from kafkafs.view.dump.control import control_text
from kafkafs.view.dump.damaged import records
from kafkafs.view.dump.entries import HEADER_READ, Unreadable, entry_at
from kafkafs.view.dump.findings import Findings
from kafkafs.view.dump.lines import batch_line, record_line
from kafkafs.view.dump.options import ALL_BYTES, Options
from kafkafs.view.dump.source import Source


def dump_log(source: Source, options: Options, findings: Findings) -> Iterator[bytes]:
    """The batches from the start of the file, and at its end how many bytes are no batch."""
    dump = _LogDump(source, options, findings)
    position, end = 0, min(source.data.size, options.max_bytes)
    while True:
        entry = entry_at(source.data.read(position, HEADER_READ), position, end)
        if entry is None:
            break
        yield from dump.entry(entry)
        position += entry.size
    if position < end and options.max_bytes == ALL_BYTES:
        yield f"Found {end - position} invalid bytes at the end of {source.name}\n".encode()


class _LogDump:
    """One pass through one file. It remembers the offset of the last record, to find gaps."""

    def __init__(self, source: Source, options: Options, findings: Findings) -> None:
        self._source = source
        self._options = options
        self._findings = findings
        self._last_offset = -1

    def entry(self, entry: Batch | Unreadable) -> Iterator[bytes]:
        """The lines of one entry, read and checked by itself."""
        if isinstance(entry, Unreadable):
            self._findings.problem(self._source, f"{entry.reason}; its {entry.size} bytes are left out.")
            return
        data = self._source.data.read(entry.position, entry.size)
        magic = min(entry.magic, 2)
        is_valid = entry.size >= SMALLEST[0 if magic < 2 else 2] and crc_holds(replace(entry, magic=magic), data)
        yield batch_line(entry, is_valid).encode() + b"\n"
        if entry.codec >= len(CODECS):
            self._problem(entry, f"codec {entry.codec} is none that Kafka knows")
        elif self._options.is_deep:
            yield from self._records(entry, data)

    def _records(self, batch: Batch, data: bytes) -> Iterator[bytes]:
        try:
            for record in records(batch, data, self._options.limit):
                self._follow(record.offset)
                control = control_text(record.key, record.value) if batch.is_control else None
                yield record_line(batch, record, self._options, control)
        except (CorruptData, TooLarge) as error:
            self._problem(batch, str(error))

    def _follow(self, offset: int) -> None:
        if offset != self._last_offset + 1:
            self._findings.gap(self._source, self._last_offset, offset)
        self._last_offset = offset

    def _problem(self, batch: Batch, reason: str) -> None:
        where = f"the batch at position {batch.position} with the last offset {batch.last_offset}"
        self._findings.problem(self._source, f"the records of {where} cannot all be read: {reason}.")
