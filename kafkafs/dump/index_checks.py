"""Index entries against their log: does a batch stand where an entry says, with the offset and the time that it says.

Nothing of this changes what is listed. Source: DumpLogSegments, `dumpIndex` and `dumpTimeIndex`.
"""

import numpy as np

from kafkafs.dump.damaged import records
from kafkafs.dump.dump_findings import NOT_FOUND, Findings
from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.dump_source import Entries, ReadableFile, Source, pieces
from kafkafs.dump.entries import HEADER_READ, UnreadableEntry, entry_at
from kafkafs.errors import CorruptData, TooLarge
from kafkafs.format.batch import Batch, walk
from kafkafs.format.index import OffsetIndex
from kafkafs.format.records import Records, decode

NO_TIMESTAMP = -1


class OffsetCheck:
    """The entries of an offset index: at its position a batch must begin that ends with its offset."""

    def __init__(self, source: Source, log: ReadableFile, options: DumpOptions, findings: Findings) -> None:
        self._source = source
        self._log = log
        self._options = options
        self._findings = findings
        self._is_told = False

    def entry(self, offset: int, position: int) -> None:
        """Checks one entry. The first that leads to no batch ends Kafka's tool, so it is a problem; of others the
        report tells."""
        end = min(self._log.size, position + self._options.max_message_size)
        batch = _entry(self._log, position, end)
        last = batch.last_offset if batch is not None else NOT_FOUND
        if batch is None and not self._is_told:
            self._is_told = True
            where = f"the entry of offset {offset} leads to position {position} of the log, where no batch begins."
            self._findings.problem(self._source, where)
        if last != offset:
            self._findings.index_mismatch(self._source, offset, last)


class TimeCheck:
    """The entries of a time index: a batch must end with its offset and have its time as largest; times must rise."""

    def __init__(self, source: Source, log: ReadableFile, options: DumpOptions, findings: Findings) -> None:
        self._source = source
        self._log = log
        self._options = options
        self._findings = findings
        self._starts = _Starts(source)
        self._before = NO_TIMESTAMP

    def entry(self, timestamp: int, offset: int) -> None:
        """Checks one entry; they come in the order of the file."""
        batch = self._batch_ending_at_or_after(offset)
        if batch is None or batch.last_offset != offset:
            self._findings.offset_not_found(self._source, offset, NOT_FOUND if batch is None else batch.last_offset)
        else:
            found = self._max_timestamp(batch)
            if found != timestamp:
                self._findings.time_mismatch(self._source, timestamp, found)
            if self._before >= timestamp:
                self._findings.time_out_of_order(self._source, timestamp, self._before)
        self._before = timestamp

    def _batch_ending_at_or_after(self, offset: int) -> Batch | None:
        position, end = self._starts.before(offset), self._log.size
        while (entry := _entry(self._log, position, end)) is not None:
            if isinstance(entry, Batch) and entry.last_offset >= offset:
                return entry
            position += entry.size
        return None

    def _max_timestamp(self, batch: Batch) -> int:
        """The largest timestamp of the batch's records, whatever its header says."""
        data = self._log.read(batch.position, batch.size)
        rows = walk(data, batch.position, verify=False).rows[:1]
        pieces = list(decode(data, batch.position, rows, self._options.limit, self._options.memory))
        largest = NO_TIMESTAMP
        if len(rows) and all(isinstance(piece, Records) for piece in pieces):
            for piece in pieces:
                if isinstance(piece, Records):
                    largest = max(largest, int(piece.rows["timestamp"].max()))
            return largest
        try:
            for record in records(batch, data, self._options.limit, self._options.memory):
                largest = max(largest, record.timestamp)
        except (CorruptData, TooLarge) as error:
            what = f"the records of the batch at position {batch.position} cannot be read: {error}."
            self._findings.problem(self._source, what)
        return largest


class _Starts:
    """Where to begin looking for an offset, as the offset index beside the time index tells."""

    def __init__(self, source: Source) -> None:
        index = source.beside(f"{source.stem}.index")
        entries = _rising(index) if index is not None else np.empty(0, OffsetIndex.dtype)
        self._offsets = entries["offset"].astype(np.int64) + (source.base_offset or 0)
        self._positions = entries["position"].astype(np.int64)

    def before(self, offset: int) -> int:
        """The position of the last entry at or before `offset`; 0 where there is none."""
        slot = int(np.searchsorted(self._offsets, offset, side="right")) - 1
        return max(0, int(self._positions[slot])) if slot >= 0 else 0


def _rising(index: ReadableFile) -> Entries:
    """The entries of an offset index up to the first whose offset is not above the one before: padding, or damage."""
    found: list[Entries] = []
    before = np.empty(0, np.int64)
    for entries in pieces(index, OffsetIndex.dtype):
        falls = np.flatnonzero(np.diff(entries["offset"].astype(np.int64), prepend=before) <= 0)
        rises = int(falls[0]) + 1 - len(before) if len(falls) else len(entries)
        found.append(entries[:rises])
        if len(falls):
            break
        before = entries["offset"][-1:].astype(np.int64)
    return np.concatenate(found) if found else np.empty(0, OffsetIndex.dtype)


def _entry(log: ReadableFile, position: int, end: int) -> Batch | UnreadableEntry | None:
    return entry_at(log.read(position, HEADER_READ), position, end) if position >= 0 else None
