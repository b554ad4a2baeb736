"""The offset index and the time index, each checked against its log. Source: DumpLogSegments.

Entries are listed as they stand, up to the first one (but the very first) whose offset is the segment's base: there the
padding of a growing segment begins. Where Kafka's tool fails, at an entry that leads to no batch or at a segment
without its log, the entry is listed all the same and the log's offset is -1.
"""

from collections.abc import Iterator

import numpy as np

from kafkafs.errors import CorruptData, TooLarge
from kafkafs.format.batch import Batch
from kafkafs.format.offset_index import OffsetIndex
from kafkafs.format.time_index import TimeIndex
from kafkafs.view.dump.damaged import records
from kafkafs.view.dump.entries import HEADER_READ, Unreadable, entry_at
from kafkafs.view.dump.fields import Fields
from kafkafs.view.dump.findings import NOT_FOUND, Findings
from kafkafs.view.dump.options import Options
from kafkafs.view.dump.source import Bytes, Source

NO_TIMESTAMP = -1
PADDING = (0, 0)
_LINES_A_PIECE = 1000


def dump_offset_index(source: Source, options: Options, findings: Findings) -> Iterator[bytes]:
    """The lines of an `.index` file; findings where a batch at an entry's position ends with another offset."""
    base = source.base_offset or 0
    entries = _entries(source, OffsetIndex.dtype)
    log = _log(source, findings)
    if not len(entries):
        yield from _empty(source, options)
        return
    if options.index_sanity_check:
        yield from _sanity(source, options, findings, entries, last_is_sane=entries["offset"][-1] >= 0)
        return
    if entries[0].item() == PADDING and log is not None and log.size == 0:
        yield from _empty(source, options)
        return
    fields, lines = Fields(source, options, ("offset", "position")), list[str]()
    for slot, (relative, position) in enumerate(entries.tolist()):
        if relative == 0 and slot > 0:
            break
        offset = base + relative
        if log is not None and findings.is_heard:
            batch = _entry(log, position, position + options.max_message_size if position >= 0 else 0)
            last = batch.last_offset if batch is not None else NOT_FOUND
            if last != offset:
                findings.index_mismatch(source, offset, last)
        if not options.verify_index_only:
            lines.append(fields.line(offset, position))
        if len(lines) == _LINES_A_PIECE:
            yield "".join(lines).encode()
            lines.clear()
    yield "".join(lines).encode()


def dump_time_index(source: Source, options: Options, findings: Findings) -> Iterator[bytes]:
    """The lines of a `.timeindex` file; findings where its times are not those of the batches that it means."""
    base = source.base_offset or 0
    entries = _entries(source, TimeIndex.dtype)
    if options.index_sanity_check:
        filled = entries[: _filled(entries)]
        rises = not len(filled) or filled["timestamp"][-1] >= filled["timestamp"][0]
        yield from _sanity(
            source, options, findings, entries, last_is_sane=rises and not (filled["offset"][-1:] < 0).any()
        )
        return
    log = _log(source, findings)
    starts, fields = _Starts(source, base), Fields(source, options, ("timestamp", "offset"))
    before = NO_TIMESTAMP
    for slot, (timestamp, relative) in enumerate(entries.tolist()):
        if relative == 0 and slot > 0:
            return
        offset = base + relative
        if log is not None and findings.is_heard:
            batch = _batch_ending_at_or_after(log, starts.before(offset), offset)
            if batch is None or batch.last_offset != offset:
                findings.offset_not_found(source, offset, NOT_FOUND if batch is None else batch.last_offset)
            else:
                found = _max_timestamp(log, batch, options, source, findings)
                if found != timestamp:
                    findings.time_mismatch(source, timestamp, found)
                if before >= timestamp:
                    findings.time_out_of_order(source, timestamp, before)
        if not options.verify_index_only:
            yield fields.line(timestamp, offset).encode()
        before = timestamp


def _entries(source: Source, dtype: np.dtype[np.void]) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """All whole entries, those of the padding too."""
    data = source.data.read(0, source.data.size)
    return np.frombuffer(data, dtype, len(data) // dtype.itemsize)


def _filled(entries: np.ndarray[tuple[int], np.dtype[np.void]]) -> int:
    """How many entries stand before the zeros at the end, which fail the tool's check and are no fault of an index."""
    filled = np.flatnonzero((entries["timestamp"] != 0) | (entries["offset"] != 0))
    return int(filled[-1]) + 1 if len(filled) else 0


def _log(source: Source, findings: Findings) -> Bytes | None:
    name = f"{source.stem}.log"
    log = source.beside(name)
    if log is None:
        findings.problem(source, f"there is no {name} beside it, so its entries are not checked.")
    return log


def _empty(source: Source, options: Options) -> Iterator[bytes]:
    if not options.json:
        yield f"{source.path} is empty.\n".encode()


def _sanity(
    source: Source,
    options: Options,
    findings: Findings,
    entries: np.ndarray[tuple[int], np.dtype[np.void]],
    *,
    last_is_sane: bool,
) -> Iterator[bytes]:
    """The check that a broker makes of an index that it did not write itself."""
    if not last_is_sane:
        findings.problem(source, "its last entry lies before its first, so it is corrupt.")
    elif source.data.size % entries.dtype.itemsize:
        findings.problem(source, f"its {source.data.size} bytes are no whole number of entries, so it is corrupt.")
    else:
        passed = Fields(source, options, ("passed",)).line("true") if options.json else _passed(source)
        yield passed.encode()


def _passed(source: Source) -> str:
    return f"{source.path} passed sanity check.\n"


def _entry(log: Bytes, position: int, end: int) -> Batch | Unreadable | None:
    if position < 0:
        return None
    return entry_at(log.read(position, HEADER_READ), position, min(end, log.size))


class _Starts:
    """Where to begin looking for an offset, as the offset index beside the time index tells."""

    def __init__(self, source: Source, base: int) -> None:
        index = source.beside(f"{source.stem}.index")
        size = index.size if index is not None else 0
        data = index.read(0, size) if index is not None else b""
        entries = np.frombuffer(data, OffsetIndex.dtype, len(data) // OffsetIndex.entry_size)
        rising = np.maximum.accumulate(entries["offset"].astype(np.int64)) if len(entries) else np.empty(0, np.int64)
        falls = np.flatnonzero(rising[1:] <= rising[:-1])
        whole = int(falls[0]) + 1 if len(falls) else len(entries)
        self._offsets = rising[:whole] + base
        self._positions = entries["position"][:whole].astype(np.int64)

    def before(self, offset: int) -> int:
        """The position of the last entry at or before `offset`; 0 where there is none."""
        slot = int(np.searchsorted(self._offsets, offset, side="right")) - 1
        return max(0, int(self._positions[slot])) if slot >= 0 else 0


def _batch_ending_at_or_after(log: Bytes, position: int, offset: int) -> Batch | None:
    """The first batch from `position` on whose last offset is not below `offset`."""
    end = log.size
    while (entry := _entry(log, position, end)) is not None:
        if isinstance(entry, Batch) and entry.last_offset >= offset:
            return entry
        position += entry.size
    return None


def _max_timestamp(log: Bytes, batch: Batch, options: Options, source: Source, findings: Findings) -> int:
    """The largest timestamp of the batch's records, whatever its header says."""
    largest = NO_TIMESTAMP
    try:
        for record in records(batch, log.read(batch.position, batch.size), options.limit):
            largest = max(largest, record.timestamp)
    except (CorruptData, TooLarge) as error:
        findings.problem(source, f"the records of the batch at position {batch.position} cannot be read: {error}.")
    return largest
