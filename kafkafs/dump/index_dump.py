"""The offset index and the time index, entry by entry. Source: DumpLogSegments, `dumpIndex` and `dumpTimeIndex`.

Entries are listed as they stand, up to the first one (but the very first) whose offset is the segment's base: there the
padding of a growing segment begins. Where Kafka's tool fails, at an entry that leads to no batch or at a segment
without its log, the entry is listed all the same.
"""

from collections.abc import Iterator

import numpy as np

from kafkafs.dump.dump_findings import Findings
from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.dump_source import Entries, FieldLines, ReadableFile, Source, pieces
from kafkafs.dump.index_checks import OffsetCheck, TimeCheck
from kafkafs.format.index import OffsetIndex, TimeIndex

PADDING = (0, 0)


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
    if options.index_sanity_check:
        last = _last_filled(source)
        rises = len(last) == 0 or last["timestamp"][0] >= _entry(source, TimeIndex.dtype, 0)["timestamp"][0]
        is_sane = bool(rises and not (last["offset"] < 0).any())
        yield from _sanity(source, options, findings, TimeIndex.entry_size, is_sane=is_sane)
        return
    log = _log(source, findings)
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
    for entries in pieces(source.data, dtype):
        at_base = entries["offset"] == 0
        at_base[:first], first = False, 0
        ends = np.flatnonzero(at_base)
        yield entries[: int(ends[0]) if len(ends) else None].tolist()
        if len(ends):
            return


def _entry(source: Source, dtype: np.dtype[np.void], slot: int) -> Entries:
    """The entry in a slot, padding or not."""
    return np.frombuffer(source.data.read(slot * dtype.itemsize, dtype.itemsize), dtype, 1)


def _last_filled(source: Source) -> Entries:
    """The last time entry before the zeros at the end, which fail the tool's check and are no fault of an index."""
    last: Entries = np.empty(0, TimeIndex.dtype)
    for entries in pieces(source.data, TimeIndex.dtype):
        filled = entries[(entries["timestamp"] != 0) | (entries["offset"] != 0)]
        last = filled[-1:].copy() if len(filled) else last
    return last


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
        findings.problem(source, "its last entry lies before its first, so it is corrupt.")
    elif source.data.size % entry_size:
        findings.problem(source, f"its {source.data.size} bytes are no whole number of entries, so it is corrupt.")
    elif options.json:
        yield FieldLines(source, options, ("passed",)).line("true").encode()
    else:
        yield f"{source.path} passed sanity check.\n".encode("utf-8", "surrogateescape")
