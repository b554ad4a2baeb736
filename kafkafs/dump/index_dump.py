"""Indexes, entry by entry: those of offsets, times and aborted transactions; and the snapshot of producers.

Entries of the first two are listed as they stand, up to the first one (but the very first) whose offset is the
segment's base: there the padding of a growing segment begins. If Kafka's tool fails at an entry that leads to no batch,
or at a segment without its log, the list still has the entry. The checks against the log change nothing in the list.
Source: DumpLogSegments, `dumpIndex` and `dumpTimeIndex`.
"""

import json
from collections.abc import Iterator, Sequence

import numpy as np

from kafkafs.dump.damaged import records
from kafkafs.dump.dump_findings import Findings
from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.dump_source import ReadableFile, Source
from kafkafs.dump.entries import UnreadableEntry, entry_at, fatal_at, sequence_before
from kafkafs.dump.single_lines import optional_long
from kafkafs.errors import CorruptData, TooLarge
from kafkafs.format.batch import LARGEST_HEADER, NO_TIMESTAMP, Batch, walk
from kafkafs.format.index import OffsetIndex, TimeIndex
from kafkafs.format.producer_snapshot import HEADER_SIZE, ProducerState, check_size, parse_producer_snapshot
from kafkafs.format.records import Records, decode
from kafkafs.format.transaction_index import ABORTED

PADDING = (0, 0)
NOT_FOUND = -1
_AT_ONCE = 4096  # entries
Entries = np.ndarray[tuple[int], np.dtype[np.void]]


def dump_offset_index(source: Source, options: DumpOptions, findings: Findings) -> Iterator[bytes]:
    """The lines of an `.index` file; findings where a batch at an entry's position ends with another offset."""
    log, size = _log(source, findings), source.data.size
    if size < OffsetIndex.entry_size:
        yield from _empty(source, options)
        return
    if options.index_sanity_check:
        last = _entry(source, OffsetIndex.dtype, size // OffsetIndex.entry_size - 1)
        yield from _sanity(source, options, findings, OffsetIndex.entry_size, is_sane=bool(last["offset"][0] >= 0))
        return
    if next(_pieces(source, OffsetIndex.dtype), [])[:1] == [PADDING] and log is not None and log.size == 0:
        yield from _empty(source, options)
        return
    check = OffsetCheck(source, log, options, findings) if log is not None and findings.is_heard else None
    base, fields = source.base_offset or 0, FieldLines(source, options, ("offset", "position"))
    for piece in _pieces(source, OffsetIndex.dtype):
        if check:
            for relative, position in piece:
                check.entry(base + relative, position)
        if not options.verify_index_only:
            yield "".join(fields.line(base + relative, position) for relative, position in piece).encode()


def dump_time_index(source: Source, options: DumpOptions, findings: Findings) -> Iterator[bytes]:
    """The lines of a `.timeindex` file; findings where its times are not those of the batches that it means."""
    log = _log(source, findings)
    if options.index_sanity_check:
        is_sane = _ends_behind_its_beginning(source)
        yield from _sanity(source, options, findings, TimeIndex.entry_size, is_sane=is_sane)
        return
    check = TimeCheck(source, log, options, findings) if log is not None and findings.is_heard else None
    base, fields = source.base_offset or 0, FieldLines(source, options, ("timestamp", "offset"))
    for piece in _pieces(source, TimeIndex.dtype):
        if check:
            for timestamp, relative in piece:
                check.entry(timestamp, base + relative)
        if not options.verify_index_only:
            yield "".join(fields.line(timestamp, base + relative) for timestamp, relative in piece).encode()


def _pieces(source: Source, dtype: np.dtype[np.void]) -> Iterator[list[tuple[int, int]]]:
    """The entries up to the padding, some at a time: what is preallocated behind them, megabytes, is not read."""
    first = 1
    for entries in _whole_entries(source.data, dtype):
        at_base = entries["offset"] == 0
        at_base[:first], first = False, 0
        ends = np.flatnonzero(at_base)
        yield entries[: int(ends[0]) if len(ends) else None].tolist()
        if len(ends):
            return


def _whole_entries(file: ReadableFile, dtype: np.dtype[np.void]) -> Iterator[Entries]:
    """The whole entries of an index, some at a time: the file may be as large as somebody made it."""
    step = _AT_ONCE * dtype.itemsize
    for position in range(0, file.size - dtype.itemsize + 1, step):
        data = file.read(position, step)
        yield np.frombuffer(data, dtype, len(data) // dtype.itemsize)


def _entry(source: Source, dtype: np.dtype[np.void], slot: int) -> Entries:
    """The entry in a slot, padding or not."""
    return np.frombuffer(source.data.read(slot * dtype.itemsize, dtype.itemsize), dtype, 1)


def _ends_behind_its_beginning(source: Source) -> bool:
    """True if the last slot of a time index is not before the first. The zeros that a running broker keeps behind the
    entries are: the tool fails there, and so does a broker that takes them for entries (KAFKA-10207)."""
    slots = source.data.size // TimeIndex.entry_size
    if not slots:
        return True
    first, last = _entry(source, TimeIndex.dtype, 0), _entry(source, TimeIndex.dtype, slots - 1)
    return bool(last["timestamp"][0] >= first["timestamp"][0] and last["offset"][0] >= 0)


def _log(source: Source, findings: Findings) -> ReadableFile | None:
    name = f"{source.stem}.log"
    log = source.beside(name)
    if log is None:
        findings.problem(source, f"there is no {name} beside it, so its entries are not checked.")
    return log


def _empty(source: Source, options: DumpOptions) -> Iterator[bytes]:
    if not options.json:
        yield f"{source.path} is empty.\n".encode("utf-8", "surrogateescape")


def _sanity(
    source: Source, options: DumpOptions, findings: Findings, entry_size: int, *, is_sane: bool
) -> Iterator[bytes]:
    """The check that a broker makes of an index that it did not write itself."""
    if not is_sane:
        findings.problem(source, "its last entry (or zeros behind it) is before its first, so it is corrupt.")
    elif source.data.size % entry_size:
        findings.problem(source, f"its {source.data.size} bytes are not a whole number of entries, so it is corrupt.")
    elif options.json:
        yield FieldLines(source, options, ("passed",)).line("true").encode()
    else:
        yield f"{source.path} passed sanity check.\n".encode("utf-8", "surrogateescape")


class OffsetCheck:
    """The entries of an offset index: at its position a batch must begin that ends with its offset."""

    def __init__(self, source: Source, log: ReadableFile, options: DumpOptions, findings: Findings) -> None:
        self._source = source
        self._log = log
        self._options = options
        self._findings = findings
        self._is_reported = False

    def entry(self, offset: int, position: int) -> None:
        """Checks one entry. The first that leads to no batch ends Kafka's tool, so it is a problem; of others the
        report tells."""
        end = min(self._log.size, position + self._options.max_message_size)
        batch = _entry_in_log(self._log, position, end)
        last = batch.last_offset if batch is not None else NOT_FOUND
        if batch is None and not self._is_reported:
            self._is_reported = True
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
        self._start, self._position, self._asked = -1, 0, 0
        self._before = NO_TIMESTAMP
        self._is_reported = False

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
        """The first from where the offset index says; a larger offset from there goes on where the one before ended.
        Without that a segment whose offset index is gone would be read as often as it has entries."""
        start, end = self._starts.before(offset), self._log.size
        if start != self._start or offset < self._asked:
            self._position = start
        self._start, self._asked = start, offset
        while (entry := _entry_in_log(self._log, self._position, end)) is not None:
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
            self._findings.problem(self._source, f"offset {offset} cannot be looked for in the log: {fatal}.")

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
    for entries in _whole_entries(index, OffsetIndex.dtype):
        falls = np.flatnonzero(np.diff(entries["offset"].astype(np.int64), prepend=before) <= 0)
        rises = int(falls[0]) + 1 - len(before) if len(falls) else len(entries)
        found.append(entries[:rises])
        if len(falls):
            break
        before = entries["offset"][-1:].astype(np.int64)
    return np.concatenate(found) if found else np.empty(0, OffsetIndex.dtype)


def _entry_in_log(log: ReadableFile, position: int, end: int) -> Batch | UnreadableEntry | None:
    return entry_at(log.read(position, LARGEST_HEADER), position, end) if position >= 0 else None


TRANSACTION_FIELDS = ("version", "producerId", "firstOffset", "lastOffset", "lastStableOffset")
PRODUCER_FIELDS = ("producerId", "producerEpoch", "coordinatorEpoch", "currentTxnFirstOffset", "lastTimestamp")
BATCH_FIELDS = ("firstSequence", "lastSequence", "lastOffset", "offsetDelta", "timestamp")


def transaction_index(source: Source, options: DumpOptions, findings: Findings) -> Iterator[bytes]:
    """A line for each aborted transaction; Kafka checks nothing of them but the version. 4.4.0's tool ends at any but
    0; older ones read one byte of it, end where that is above 0, and list the others."""
    fields = FieldLines(source, options, TRANSACTION_FIELDS)
    is_reported = False
    for piece in _whole_entries(source.data, ABORTED):
        for stored, *numbers in piece.tolist():
            version = stored >> 8
            if stored and not is_reported:
                is_reported = True
                findings.problem(source, f"an entry has version {stored}, and only 0 is known.")
            if version > 0:
                return
            yield fields.line(version, *numbers).encode()


def producer_snapshot(source: Source, options: DumpOptions, findings: Findings) -> Iterator[bytes]:
    """A line for each producer; nothing of a snapshot that is cut or whose CRC fails."""
    try:
        check_size(source.data.read(0, HEADER_SIZE), source.data.size)
        producers = parse_producer_snapshot(source.data.read(0, source.data.size))
    except CorruptData as error:
        findings.problem(source, f"{error}.")
        return
    without_batch = FieldLines(source, options, PRODUCER_FIELDS)
    with_batch = FieldLines(source, options, PRODUCER_FIELDS + BATCH_FIELDS)
    for producer in producers:
        values = _producer_values(producer, options)
        if producer.last_offset >= 0:
            yield with_batch.line(*values, *_batch_values(producer)).encode()
        else:
            yield without_batch.line(*values).encode()


def _producer_values(producer: ProducerState, options: DumpOptions) -> tuple[object, ...]:
    first = producer.transaction_first_offset if producer.transaction_first_offset >= 0 else None
    shown = ("null" if first is None else first) if options.json else optional_long(first)
    return producer.producer_id, producer.producer_epoch, producer.coordinator_epoch, shown, producer.timestamp


def _batch_values(producer: ProducerState) -> tuple[int, ...]:
    first_sequence = sequence_before(producer.last_sequence, producer.offset_delta)
    return first_sequence, producer.last_sequence, producer.last_offset, producer.offset_delta, producer.timestamp


class FieldLines:
    """Makes the lines of one file that are a list of named values, as text or as JSON."""

    def __init__(self, source: Source, options: DumpOptions, names: Sequence[str]) -> None:
        if options.json:
            file = json.dumps(source.path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
            pairs = "".join(f',"{name}":%s' for name in names)
            self._form = f'{{"file":{file.replace("%", "%%")}{pairs}}}\n'
        else:
            self._form = " ".join(f"{name}: %s" for name in names) + "\n"

    def line(self, *values: object) -> str:
        """The line of these values, one for each name."""
        return self._form % values
