"""Indexes, entry by entry: those of offsets, times and aborted transactions; and the snapshot of producers.

Entries of the first two are listed as they stand, up to the first one (but the very first) whose offset is the
segment's base: there the padding of a growing segment begins. If Kafka's tool fails at an entry that leads to no batch,
or at a segment without its log, the list still has the entry. Source: DumpLogSegments, `dumpIndex` and `dumpTimeIndex`.
"""

import json
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from kafkafs.dump.dump_findings import Dump
from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.dump_source import ReadableFile, Source
from kafkafs.dump.entries import sequence_before
from kafkafs.dump.index_checks import Entries, OffsetCheck, TimeCheck, whole_entries
from kafkafs.dump.single_lines import optional_long
from kafkafs.errors import CorruptData
from kafkafs.format.index import OffsetIndex, TimeIndex
from kafkafs.format.producer_snapshot import HEADER_SIZE, ProducerState, check_size, parse_producer_snapshot
from kafkafs.format.transaction_index import ABORTED

PADDING = (0, 0)


def offset_index(asked: Dump) -> Iterator[bytes]:
    """The lines of an `.index` file; findings where a batch at an entry's position ends with another offset."""
    source, log = asked.source, _log(asked)
    size = source.data.size
    if size < OffsetIndex.entry_size:
        yield from _empty(asked)
    elif asked.options.index_sanity_check:
        last = _entry(source, OffsetIndex.dtype, size // OffsetIndex.entry_size - 1)
        yield from _sanity(asked, OffsetIndex.entry_size, is_sane=bool(last["offset"][0] >= 0))
    elif next(_pieces(source, OffsetIndex.dtype), [])[:1] == [PADDING] and log is not None and log.size == 0:
        yield from _empty(asked)
    else:
        yield from _entries(asked, OffsetIndex.dtype, log, OffsetCheck)


def time_index(asked: Dump) -> Iterator[bytes]:
    """The lines of a `.timeindex` file; findings where its times are not those of the batches that it means."""
    log = _log(asked)
    if asked.options.index_sanity_check:
        yield from _sanity(asked, TimeIndex.entry_size, is_sane=_ends_behind_its_beginning(asked.source))
    else:
        yield from _entries(asked, TimeIndex.dtype, log, TimeCheck)


def _entries(
    asked: Dump,
    dtype: np.dtype[np.void],
    log: ReadableFile | None,
    check_of: Callable[[Dump, ReadableFile], OffsetCheck | TimeCheck],
) -> Iterator[bytes]:
    """The lines of an index, which is checked if its log is there and somebody hears of it."""
    check = check_of(asked, log) if log is not None and asked.findings.is_heard else None
    base, names = asked.source.base_offset or 0, dtype.names or ()
    fields, bases = FieldLines(asked.source, asked.options, names), [base * (name == "offset") for name in names]
    for piece in _pieces(asked.source, dtype):
        entries = [(one + bases[0], other + bases[1]) for one, other in piece]
        if check is not None:
            for entry in entries:
                check.entry(*entry)
        if not asked.options.verify_index_only:
            yield "".join(fields.line(*entry) for entry in entries).encode()


def _pieces(source: Source, dtype: np.dtype[np.void]) -> Iterator[list[tuple[int, int]]]:
    """The entries up to the padding, some at a time: what is preallocated behind them, megabytes, is not read."""
    first = 1
    for entries in whole_entries(source.data, dtype):
        at_base = entries["offset"] == 0
        at_base[:first], first = False, 0
        ends = np.flatnonzero(at_base)
        yield entries[: int(ends[0]) if len(ends) else None].tolist()
        if len(ends):
            return


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


def _log(asked: Dump) -> ReadableFile | None:
    name = f"{asked.source.stem}.log"
    log = asked.source.beside(name)
    if log is None:
        asked.problem(f"there is no {name} beside it, so its entries are not checked.")
    return log


def _empty(asked: Dump) -> Iterator[bytes]:
    if not asked.options.json:
        yield f"{asked.source.path} is empty.\n".encode("utf-8", "surrogateescape")


def _sanity(asked: Dump, entry_size: int, *, is_sane: bool) -> Iterator[bytes]:
    """The check that a broker makes of an index that it did not write itself."""
    source = asked.source
    if not is_sane:
        asked.problem("its last entry (or zeros behind it) is before its first, so it is corrupt.")
    elif source.data.size % entry_size:
        asked.problem(f"its {source.data.size} bytes are not a whole number of entries, so it is corrupt.")
    elif asked.options.json:
        yield FieldLines(source, asked.options, ("passed",)).line("true").encode()
    else:
        yield f"{source.path} passed sanity check.\n".encode("utf-8", "surrogateescape")


TRANSACTION_FIELDS = ("version", "producerId", "firstOffset", "lastOffset", "lastStableOffset")
PRODUCER_FIELDS = ("producerId", "producerEpoch", "coordinatorEpoch", "currentTxnFirstOffset", "lastTimestamp")
BATCH_FIELDS = ("firstSequence", "lastSequence", "lastOffset", "offsetDelta", "timestamp")


def transaction_index(asked: Dump) -> Iterator[bytes]:
    """A line for each aborted transaction; Kafka checks nothing of them but the version. 4.4.0's tool ends at any but
    0; older ones read one byte of it, end where that is above 0, and list the others."""
    fields = FieldLines(asked.source, asked.options, TRANSACTION_FIELDS)
    is_reported = False
    for piece in whole_entries(asked.source.data, ABORTED):
        for stored, *numbers in piece.tolist():
            version = stored >> 8
            if stored and not is_reported:
                is_reported = True
                asked.problem(f"an entry has version {stored}, and only 0 is known.")
            if version > 0:
                return
            yield fields.line(version, *numbers).encode()


def producer_snapshot(asked: Dump) -> Iterator[bytes]:
    """A line for each producer; nothing of a snapshot that is cut or whose CRC fails."""
    source, options = asked.source, asked.options
    try:
        check_size(source.data.read(0, HEADER_SIZE), source.data.size)
        producers = parse_producer_snapshot(source.data.read(0, source.data.size))
    except CorruptData as error:
        asked.problem(f"{error}.")
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
