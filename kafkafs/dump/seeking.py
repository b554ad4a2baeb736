"""Find the start of the wanted part of a log through the indexes.

The log confirms each index entry before it counts. A missing or damaged index costs a scan.
"""

from collections.abc import Iterator, Sequence

from kafkafs.dump.damaged import records
from kafkafs.dump.dump_options import DumpOptions, OffsetWindow
from kafkafs.dump.dump_source import Source
from kafkafs.dump.entries import entry_in
from kafkafs.errors import CorruptData, TooLarge
from kafkafs.format.batch import Batch
from kafkafs.format.index import OffsetIndex, TimeIndex


def window_of(source: Source, start: int | None, stop: int | None) -> OffsetWindow:
    """The window for these offsets in one log."""
    return OffsetWindow(start, stop, 0 if start is None else _position_before(source, start))


def offset_at(logs: Sequence[Source], time_ms: int, options: DumpOptions) -> int | None:
    """The offset of the first record, in the order of `logs` and of offsets, with a timestamp of `time_ms` or later.

    `logs` are a partition's, in order. None if there is no such record.
    """
    for source in logs:
        for batch in _batches(source, _position_at_or_after(source, time_ms)):
            if batch.max_timestamp < time_ms:
                continue
            try:
                for record in records(
                    batch, source.data.read(batch.position, batch.size), options.limit, options.memory
                ):
                    if record.timestamp >= time_ms:
                        return record.offset
            except (CorruptData, TooLarge):
                continue  # it has no records to speak of
    return None


def _batches(source: Source, position: int) -> Iterator[Batch]:
    end = source.data.size
    while (entry := entry_in(source.data, position, end)) is not None:
        if isinstance(entry, Batch):
            yield entry
        position += entry.size


def _position_before(source: Source, offset: int) -> int:
    """A position from which all batches with `offset` or more can be read."""
    found = source.beside(f"{source.stem}.index")
    base = source.base_offset
    if found is None or base is None or offset <= base:
        return 0
    entry = OffsetIndex(found.read, found.size, base).lookup(offset)
    if entry.position < 0:
        return 0
    batch = next(_batches(source, entry.position), None)
    return entry.position if batch is not None and batch.base_offset <= entry.offset <= offset else 0


def _position_at_or_after(source: Source, time_ms: int) -> int:
    """A position from which all batches with a timestamp of `time_ms` or later can be read."""
    found = source.beside(f"{source.stem}.timeindex")
    base = source.base_offset
    if found is None or base is None:
        return 0
    entry = TimeIndex(found.read, found.size, base).lookup(time_ms)
    position = _position_before(source, entry.offset)
    batch = next((batch for batch in _batches(source, position) if batch.last_offset >= entry.offset), None)
    return position if batch is not None and batch.max_timestamp == entry.timestamp else 0
