"""The entries of an index, held against the log. A check changes nothing in the list of the entries.

Source: DumpLogSegments, `dumpIndex` and `dumpTimeIndex`.
"""

from collections.abc import Iterator

import numpy as np

from kafkafs.dump.damaged import records
from kafkafs.dump.dump_findings import INDEX_MISMATCH, OFFSET_NOT_FOUND, TIME_MISMATCH, TIME_OUT_OF_ORDER, Dump
from kafkafs.dump.dump_source import ReadableFile, Source
from kafkafs.dump.entries import entry_in, fatal_at
from kafkafs.errors import CorruptData, TooLarge
from kafkafs.format.batch import LARGEST_HEADER, NO_TIMESTAMP, Batch, walk
from kafkafs.format.index import OffsetIndex
from kafkafs.format.records import Records, decode

NOT_FOUND = -1
_AT_ONCE = 4096  # entries
Entries = np.ndarray[tuple[int], np.dtype[np.void]]


class OffsetCheck:
    """The entries of an offset index: at its position a batch must begin that ends with its offset."""

    def __init__(self, asked: Dump, log: ReadableFile) -> None:
        self._asked = asked
        self._log = log
        self._is_reported = False

    def entry(self, offset: int, position: int) -> None:
        """Checks one entry. The first that leads to no batch ends Kafka's tool, so it is a problem; of others the
        report tells."""
        end = min(self._log.size, position + self._asked.options.max_message_size)
        batch = entry_in(self._log, position, end)
        last = batch.last_offset if batch is not None else NOT_FOUND
        if batch is None and not self._is_reported:
            self._is_reported = True
            where = f"the entry of offset {offset} leads to position {position} of the log, where no batch begins."
            self._asked.problem(where)
        if last != offset:
            self._asked.disagree(INDEX_MISMATCH, offset, last)


class TimeCheck:
    """The entries of a time index: a batch must end with its offset and have its time as largest; times must rise."""

    def __init__(self, asked: Dump, log: ReadableFile) -> None:
        self._asked = asked
        self._log = log
        self._starts = _Starts(asked.source)
        self._start, self._position, self._wanted = -1, 0, 0
        self._before = NO_TIMESTAMP
        self._is_reported = False

    def entry(self, timestamp: int, offset: int) -> None:
        """Checks one entry; they come in the order of the file."""
        batch = self._batch_ending_at_or_after(offset)
        if batch is None or batch.last_offset != offset:
            self._asked.disagree(OFFSET_NOT_FOUND, offset, NOT_FOUND if batch is None else batch.last_offset)
        else:
            found = self._max_timestamp(batch)
            if found != timestamp:
                self._asked.disagree(TIME_MISMATCH, timestamp, found)
            if self._before >= timestamp:
                self._asked.disagree(TIME_OUT_OF_ORDER, timestamp, self._before)
        self._before = timestamp

    def _batch_ending_at_or_after(self, offset: int) -> Batch | None:
        """The first from where the offset index says; a larger offset from there goes on where the one before ended.
        Without that a segment whose offset index is gone would be read as often as it has entries."""
        start, end = self._starts.before(offset), self._log.size
        if start != self._start or offset < self._wanted:
            self._position = start
        self._start, self._wanted = start, offset
        while (entry := entry_in(self._log, self._position, end)) is not None:
            if isinstance(entry, Batch) and entry.last_offset >= offset:
                return entry
            self._position += entry.size
        self._report_end(offset, start, end)
        return None

    def _report_end(self, offset: int, start: int, end: int) -> None:
        """A search that comes to no end of the log ends Kafka's tool: the first is a problem."""
        fatal = f"the offset index leads to position {start}, outside of it"
        if 0 <= start <= end:
            fatal = fatal_at(self._log.read(self._position, LARGEST_HEADER), self._position, end)
        if fatal and not self._is_reported:
            self._is_reported = True
            self._asked.problem(f"offset {offset} cannot be looked for in the log: {fatal}.")

    def _max_timestamp(self, batch: Batch) -> int:
        """The largest timestamp of the batch's records, whatever its header says."""
        data, options = self._log.read(batch.position, batch.size), self._asked.options
        rows = walk(data, batch.position, verify=False).rows[:1]
        pieces = list(decode(data, batch.position, rows, options.limit, options.memory))
        sound = [piece for piece in pieces if isinstance(piece, Records)]
        if len(rows) and len(sound) == len(pieces):
            return max((int(piece.rows["timestamp"].max()) for piece in sound), default=NO_TIMESTAMP)
        largest = NO_TIMESTAMP
        try:
            for record in records(batch, data, options.limit, options.memory):
                largest = max(largest, record.timestamp)
        except (CorruptData, TooLarge) as error:
            self._asked.problem(f"the records of the batch at position {batch.position} cannot be read: {error}.")
        return largest


class _Starts:
    """The places at which to look for offsets, by the offset index beside a time index."""

    def __init__(self, source: Source) -> None:
        index = source.beside(f"{source.stem}.index")
        entries = _rising(index) if index is not None else np.empty(0, OffsetIndex.dtype)
        self._offsets = entries["offset"].astype(np.int64) + (source.base_offset or 0)
        self._positions = entries["position"].astype(np.int64)

    def before(self, offset: int) -> int:
        """The position of the last entry at or before `offset`; 0 if there is no such entry."""
        slot = int(np.searchsorted(self._offsets, offset, side="right")) - 1
        return int(self._positions[slot]) if slot >= 0 else 0


def _rising(index: ReadableFile) -> Entries:
    """The entries of an offset index up to the first whose offset is not above the one before: padding, or damage."""
    found: list[Entries] = []
    before = np.empty(0, np.int64)
    for entries in whole_entries(index, OffsetIndex.dtype):
        falls = np.flatnonzero(np.diff(entries["offset"].astype(np.int64), prepend=before) <= 0)
        rises = int(falls[0]) + 1 - len(before) if len(falls) else len(entries)
        found.append(entries[:rises])
        if len(falls):
            break
        before = entries["offset"][-1:].astype(np.int64)
    return np.concatenate(found) if found else np.empty(0, OffsetIndex.dtype)


def whole_entries(file: ReadableFile, dtype: np.dtype[np.void]) -> Iterator[Entries]:
    """The whole entries of an index, some at a time: the file may be as large as somebody made it."""
    step = _AT_ONCE * dtype.itemsize
    for position in range(0, file.size - dtype.itemsize + 1, step):
        data = file.read(position, step)
        yield np.frombuffer(data, dtype, len(data) // dtype.itemsize)
