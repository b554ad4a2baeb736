"""A segment's offset and time index against its log. Sources: OffsetIndex, TimeIndex, LogSegment of all releases.

Legal, and no finding: fewer or shifted entries (restarts, another interval), an entry whose offset ends a later batch
of the same append, a time entry that points into or before the batch with its time, and, in the last segment of a log
that was not closed, zeros or entries from before a truncation behind the live ones.
"""

from collections.abc import Callable

import numpy as np

from kafkafs.format.abstract_index import AbstractIndex
from kafkafs.log.segment import Segment
from kafkafs.spark.audit.findings import Finding, Where
from kafkafs.spark.audit.log_check import Column, LogTable

_FAR = 16 << 20
"""No broker leaves so many bytes without an entry: the interval is 4096 by default, an append some megabytes."""

_PADDING_READ = 8192  # slots

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


def check_offset_index(segment: Segment, where: Where, table: LogTable, clean: bool) -> list[Finding]:
    """What is wrong with the offset index."""
    index = segment.offset_index
    entries = _entries(index, segment.next_base is None)
    offsets = entries["offset"].astype(np.int64) + segment.base_offset
    positions = entries["position"].astype(np.int64)
    true, reasons = _offset_entries_true(offsets, positions, table)
    live, findings = _live(segment, index, where, true, clean)
    for slot in _wrong(true, live, offsets, positions):
        findings.append(where.finding(
            "offset-index-entry",
            f"entry {slot}, offset {offsets[slot]} at position {positions[slot]}: {reasons(slot)}",
            position=slot * index.entry_size, offset=int(offsets[slot]), slot=slot,
        ))  # fmt: skip
    if segment.next_base is not None and not findings and not table.damaged:
        indexed = np.concatenate(([0], positions[:live], [table.end]))
        far = int(np.diff(indexed).max())
        largest = int(np.diff(table.positions, append=table.end).max(initial=0))
        many_times = live == 0 and len(segment.time_index.load()) > 2
        if far > _FAR + 2 * largest or many_times:
            findings.append(where.finding("offset-index-sparse", f"{far} bytes of the log have no entry"))
    return findings


def _offset_entries_true(offsets: Column, positions: Column, table: LogTable) -> tuple[Mask, Callable[[int], str]]:
    """Which entries the log confirms, and why it does not confirm one."""
    row = np.searchsorted(table.positions, positions)
    inside = row < len(table.positions)
    at = np.minimum(row, max(len(table.positions) - 1, 0))
    empty = not len(table.positions)
    boundary = inside & (False if empty else table.positions[at] == positions)
    ends = np.searchsorted(table.last_offsets, offsets)
    named = np.minimum(ends, max(len(table.last_offsets) - 1, 0))
    is_last = (ends < len(table.last_offsets)) & (False if empty else table.last_offsets[named] == offsets)
    following = np.append(positions[1:], np.iinfo(np.int64).max)
    following = np.where(following > positions, following, np.iinfo(np.int64).max)
    near = is_last & (named >= at) & (False if empty else table.positions[named] < following)
    rising = (np.diff(offsets, prepend=-1) > 0) & (np.diff(positions, prepend=-1) > 0)

    def reason(slot: int) -> str:
        if not rising[slot]:
            return "it does not come behind the entry before it"
        if not boundary[slot]:
            return "no batch begins there"
        return "no batch at or behind that position, and before the next entry's, ends with that offset"

    return boundary & near & rising, reason


def check_time_index(segment: Segment, where: Where, table: LogTable, clean: bool) -> list[Finding]:
    """What is wrong with the time index."""
    index = segment.time_index
    entries = _entries(index, segment.next_base is None)
    times = entries["timestamp"].astype(np.int64)
    offsets = entries["offset"].astype(np.int64) + segment.base_offset
    highest = np.maximum.accumulate(table.max_timestamps) if len(table.max_timestamps) else table.max_timestamps
    row = np.searchsorted(table.last_offsets, offsets)
    inside = row < len(highest)
    at = np.minimum(row, max(len(highest) - 1, 0))
    matches = inside & (False if not len(highest) else highest[at] == times)
    rising = (np.diff(times, prepend=-1) > 0) & (np.diff(offsets, prepend=segment.base_offset) >= 0)
    true = matches & rising
    live, findings = _live(segment, index, where, true, clean)
    for slot in _wrong(true, live, times, offsets):
        reason = "it does not come behind the entry before it"
        if rising[slot]:
            reason = "the log has no such offset"
            if inside[slot]:
                reason = f"in the log the largest timestamp up to that offset is {highest[at[slot]]}"
        findings.append(where.finding(
            "time-index-entry", f"entry {slot}, time {times[slot]} at offset {offsets[slot]}: {reason}",
            position=slot * index.entry_size, offset=int(offsets[slot]), slot=slot,
        ))  # fmt: skip
    largest = int(highest[-1]) if len(highest) else -1
    ended = segment.next_base is not None or clean
    if ended and not findings and not table.damaged and largest >= 0 and (not live or int(times[live - 1]) != largest):
        last = f"ends with time {times[live - 1]}" if live else "has no entry"
        findings.append(where.finding(
            "time-index-end", f"it {last}, and the largest timestamp of its closed segment is {largest}"
        ))  # fmt: skip
    return findings


def _wrong(true: Mask, live: int, first: Column, second: Column) -> list[int]:
    """The slots to be named: of live entries those that the log does not confirm, behind them those out of order.

    What a truncation leaves continues the entries before it. Of the very last entry only a half may be written.
    """
    back = (np.diff(first, prepend=first[:1]) < 0) | (np.diff(second, prepend=second[:1]) < 0)
    back[-1:] &= second[-1:] > second[:1]  # its second half is still zero
    return np.flatnonzero(np.append(~true[:live], back[live:])).tolist()


def _entries(index: AbstractIndex, padded: bool) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """The entries, without the zeros at the end. Of megabytes of padding only the beginning is read."""
    data = index.read_slots(index.entries + _PADDING_READ if padded else index.slots).rstrip(b"\0")
    data += bytes(-len(data) % index.entry_size)
    return np.frombuffer(data, index.dtype)


def _live(
    segment: Segment, index: AbstractIndex, where: Where, true: Mask, clean: bool
) -> tuple[int, list[Finding]]:
    """How many entries are to be true, and what the rest of the file gives reason to say.

    Behind them may stand, in a last segment that was not closed: zeros, and entries that a truncation left.
    """
    findings = []
    growing = segment.next_base is None and not clean
    left = index.length % index.entry_size
    last_filled = len(true)
    if left and not growing:
        findings.append(where.finding(
            "index-length", f"its {index.length} bytes are no multiple of {index.entry_size}",
            position=index.length - left,
        ))  # fmt: skip
    if not growing:
        if last_filled < index.slots:
            findings.append(where.finding(
                "index-padding", f"{index.slots - last_filled} entries of zeros stand at the end of a closed index",
                position=last_filled * index.entry_size, slot=last_filled,
            ))  # fmt: skip
        return last_filled, findings
    last_true = int(np.flatnonzero(true)[-1]) + 1 if true.any() else 0
    return last_true if last_true else min(last_filled, 1), findings
