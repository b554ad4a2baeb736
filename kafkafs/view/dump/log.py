"""The text of a `.log` or `.checkpoint` file: its batches, and with deep iteration their records.

Batches that hold what they promise are rendered many at a time. The others go one by one: those that are damaged, those
of KRaft itself, and all where keys or values are no strings. Source: DumpLogSegments, `dumpLog`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from kafkafs.errors import CorruptData, TooLarge, Vanished
from kafkafs.format.batch import CODECS, HEADER_V2, Batch, crc_holds
from kafkafs.format.batches import VALID, Batches, batch_at, walk
from kafkafs.format.records import Records, Refusal, decode
from kafkafs.view.dump.control import control_text
from kafkafs.view.dump.damaged import records
from kafkafs.view.dump.decoders import as_string
from kafkafs.view.dump.entries import HEADER_READ, Unreadable, entry_at
from kafkafs.view.dump.findings import Findings
from kafkafs.view.dump.lines import batch_line, record_line, unreadable_line
from kafkafs.view.dump.options import ALL_BYTES, Options
from kafkafs.view.dump.rendering import batch_lines, record_lines
from kafkafs.view.dump.source import Source
from kafkafs.view.dump.window import WHOLE, Window

READ_SIZE = 1 << 20
Pieces = Iterator[tuple[int | None, bytes]]
"""Text, and where in the file what follows it begins; None inside of what is made in one go."""

_MAX_OFFSET = 2**63 - 1


@dataclass(frozen=True, slots=True)
class _Run:
    """Whole entries back to back: their bytes, where these begin in the file, and a row for each."""

    data: bytes
    position: int
    rows: Batches

    def part(self, first: int, stop: int) -> "_Run":
        return _Run(self.data, self.position, np.ascontiguousarray(self.rows[first:stop]))

    def bytes_of(self, batch: Batch) -> bytes:
        start = batch.position - self.position
        return self.data[start : start + batch.size]


def dump_log(source: Source, options: Options, findings: Findings, window: Window) -> Pieces:
    """The batches of the window, and at the end of the file how many bytes are no batch."""
    dump = _LogDump(source, options, findings, window)
    position, end = window.position, min(source.data.size, options.max_bytes)
    while position < end and not dump.is_past:
        run = _read_run(source, position, end)
        if len(run.rows):
            yield from ((None, text) for text in dump.run(run))
            position = int(run.rows["position"][-1] + run.rows["size"][-1])
        else:
            entry = entry_at(source.data.read(position, HEADER_READ), position, end)
            if entry is None:
                break
            yield from ((None, text) for text in dump.odd_entry(entry))
            position += entry.size
        yield position, b""
    if position < end and options.max_bytes == ALL_BYTES and not dump.is_past:
        yield None, f"Found {end - position} invalid bytes at the end of {source.name}\n".encode()


def _read_run(source: Source, position: int, end: int) -> _Run:
    """What stands at `position` and looks sound; without rows where that is nothing."""
    size = READ_SIZE
    while True:
        data = source.data.read(position, min(size, end - position))
        if not data:
            raise Vanished(f"{source.path} became shorter while it was read")
        walked = walk(data, position)
        needed = len(data) + walked.missing
        if len(walked.rows) or walked.stop != "cut" or not walked.missing or position + needed > end or needed <= size:
            return _Run(data, position, walked.rows)
        size = needed


class _LogDump:
    """One pass through one file. `is_past` tells that the rest lies behind the window."""

    def __init__(self, source: Source, options: Options, findings: Findings, window: Window) -> None:
        self._source = source
        self._options = options
        self._findings = findings
        self._window = window
        self.is_past = False
        self._last_offset: int | None = -1 if window == WHOLE else None  # of a record: to find gaps
        self._needs_python = not (options.decode_key is as_string and options.decode_value is as_string)

    def run(self, run: _Run) -> Iterator[bytes]:
        """The lines of many entries: by kernels where they can, else one by one."""
        run = self._within(run)
        singly = self._goes_singly(run.rows)
        borders = [0, *(np.flatnonzero(np.diff(singly)) + 1).tolist(), len(singly)]
        for first, stop in pairwise(borders):
            if first == stop:
                return
            if singly[first]:
                for index in range(first, stop):
                    batch = batch_at(run.rows, index)
                    yield from self._entry(batch, run.bytes_of(batch), run.rows["valid"][index] == VALID)
            elif self._options.is_deep:
                yield from self._decoded(run.part(first, stop))
            else:
                yield from batch_lines(run.rows, first, stop)

    def odd_entry(self, entry: Batch | Unreadable) -> Iterator[bytes]:
        """The lines of an entry that does not look sound."""
        if isinstance(entry, Unreadable):
            self._findings.problem(self._source, f"the entry at position {entry.position} is of no format there is.")
            yield unreadable_line(entry).encode() + b"\n"
            return
        data = self._source.data.read(entry.position, entry.size)
        is_whole = entry.magic < 2 or entry.size >= HEADER_V2.size
        yield from self._entry(entry, data, is_whole and crc_holds(replace(entry, magic=min(entry.magic, 2)), data))

    def _within(self, run: _Run) -> _Run:
        """The entries that the window has a part of."""
        first, stop = 0, len(run.rows)
        if self._window.start is not None:
            first = int(np.argmax(np.append(run.rows["last_offset"] >= self._window.start, True)))
        if self._window.stop is not None:
            behind = np.append(_first_offsets(run.rows) >= self._window.stop, True)
            stop = max(first, int(np.argmax(behind)))
            self.is_past = stop < len(run.rows)
        return run if (first, stop) == (0, len(run.rows)) else run.part(first, stop)

    def _goes_singly(self, rows: Batches) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        unknown = rows["attributes"] & 7 >= len(CODECS)
        if not self._options.is_deep:
            return unknown
        singly: np.ndarray[tuple[int], np.dtype[np.bool_]] = unknown | (rows["valid"] != VALID) | self._needs_python
        return singly

    def _decoded(self, run: _Run) -> Iterator[bytes]:
        def singly(number: int) -> Iterator[bytes]:
            batch, followed = batch_at(run.rows, number), self._last_offset
            self._last_offset = None
            yield from self._entry(batch, run.bytes_of(batch), True)
            self._last_offset = followed

        next_batch = 0
        for piece in decode(run.data, run.position, run.rows, self._options.limit):
            if isinstance(piece, Records):
                shown = self._shown(piece)
                if len(shown):
                    self._follow_many(shown.rows["offset"])
                    yield from record_lines(run.rows, next_batch, shown, self._options, singly)
                    next_batch = int(shown.rows["batch"][-1]) + 1
                continue
            yield from self._refused(run, next_batch, piece)
            next_batch = piece.batch + 1
        yield from batch_lines(run.rows, next_batch, len(run.rows))

    def _shown(self, found: Records) -> Records:
        if self._window == WHOLE:
            return found
        start, stop = self._window.start, self._window.stop
        return found.between(-1 if start is None else start, _MAX_OFFSET if stop is None else stop)

    def _refused(self, run: _Run, next_batch: int, refusal: Refusal) -> Iterator[bytes]:
        """A batch whose CRC holds and whose records are not as they should be."""
        yield from batch_lines(run.rows, next_batch, refusal.batch + 1)
        batch = batch_at(run.rows, refusal.batch)
        yield from self._records(batch, run.bytes_of(batch))

    def _entry(self, batch: Batch, data: bytes, is_valid: bool) -> Iterator[bytes]:
        yield batch_line(batch, is_valid).encode() + b"\n"
        if batch.codec >= len(CODECS):
            self._problem(batch, f"codec {batch.codec} is none that Kafka knows")
        elif self._options.is_deep:
            yield from self._records(batch, data)

    def _records(self, batch: Batch, data: bytes) -> Iterator[bytes]:
        try:
            for record in records(batch, data, self._options.limit):
                if not self._window.has(record.offset):
                    continue
                self._follow(record.offset)
                control = control_text(record.key, record.value) if batch.is_control else None
                yield record_line(batch, record, self._options, control)
        except (CorruptData, TooLarge) as error:
            self._problem(batch, str(error))

    def _follow(self, offset: int) -> None:
        if self._last_offset is not None and offset != self._last_offset + 1:
            self._findings.gaps(self._source, [self._last_offset], [offset])
        self._last_offset = offset

    def _follow_many(self, offsets: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        self._follow(int(offsets[0]))
        before = np.flatnonzero(np.diff(offsets) != 1)
        self._findings.gaps(self._source, offsets[before].tolist(), offsets[before + 1].tolist())
        self._last_offset = int(offsets[-1])

    def _problem(self, batch: Batch, reason: str) -> None:
        where = f"the batch at position {batch.position} with the last offset {batch.last_offset}"
        self._findings.problem(self._source, f"the records of {where} cannot all be read: {reason}.")


def _first_offsets(rows: Batches) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The first offset that each entry may hold: a compressed message of v0 or v1 tells only its last."""
    follows = np.concatenate([rows["base_offset"][:1], rows["last_offset"][:-1] + 1])
    packed = (rows["magic"] < 2) & (rows["attributes"] & 7 != 0)
    return np.where(packed, follows, rows["base_offset"])
