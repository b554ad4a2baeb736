"""The offset and the time index of a segment against its log.

Legal, and no finding: fewer or shifted entries (restarts, another interval), an entry whose offset ends a later batch
of the same append, a time entry that names the record with its time, and, in the last segment of a log
that was not closed, zeros or entries from before a truncation behind the live ones. Sources: OffsetIndex, TimeIndex,
LogSegment of all releases.
"""

from collections.abc import Callable

import numpy as np

from kafkafs.format.batch import LARGEST_HEADER, parse_batch, walk
from kafkafs.format.index import OffsetIndex, TimeIndex, rises
from kafkafs.format.records import Refusal, decode
from kafkafs.format.tables import Flags, Numbers
from kafkafs.log.read_options import MAX_BATCH
from kafkafs.log.segment import Segment
from kafkafs.spark.audit.findings import CheckedFile, Finding
from kafkafs.spark.audit.log_check import ValidBatches

_FAR = 16 << 20
"""No broker leaves so many bytes without an entry: the interval is 4096 by default, an append some megabytes."""

_PADDING_READ = 8192  # slots


def check_presence(segment: Segment, offsets: CheckedFile, times: CheckedFile, valid: ValidBatches) -> list[Finding]:
    """Indexes that a closed segment must have."""
    if segment.next_base is None or not len(valid.positions):
        return []
    findings = []
    if "index" not in segment.listed:
        findings.append(offsets.finding("missing-index", "the offset index of a closed segment is missing"))
    if "timeindex" not in segment.listed and int(valid.max_timestamps.max()) >= 0:
        findings.append(times.finding("missing-index", "the time index of a closed segment is missing"))
    return findings


def check_offset_index(segment: Segment, where: CheckedFile, valid: ValidBatches, clean: bool) -> list[Finding]:
    """The findings about the offset index."""
    index = segment.indexes.offset_index
    entries = _entries(index, segment.next_base is None)
    offsets = entries["offset"].astype(np.int64) + segment.base_offset
    positions = entries["position"].astype(np.int64)
    true, reasons = _offset_entries_true(offsets, positions, valid)
    live, findings = _live(segment, index, where, true, positions < valid.end, clean)
    for slot in _untrue(true, live, offsets, positions):
        findings.append(where.finding(
            "offset-index-entry",
            f"entry {slot}, offset {offsets[slot]} at position {positions[slot]}: {reasons(slot)}",
            position=slot * index.entry_size, offset=int(offsets[slot]), slot=slot,
        ))  # fmt: skip
    if (segment.next_base is not None or clean) and not findings and not valid.damaged:
        missing = _unindexed(segment, positions[:live], offsets[:live], valid)
        if missing:
            findings.append(where.finding("offset-index-sparse", f"{missing} bytes of the log have no entry"))
    return findings


def _unindexed(segment: Segment, positions: Numbers, offsets: Numbers, valid: ValidBatches) -> int:
    """The bytes of the longest part of the log that must have had entries and has none; 0 if all is well.

    With each offset entry comes at most one time entry. Others are written without one, at the roll and at each clean
    stop, and a restart begins a new leader epoch and a new count of bytes; so many time entries on a part that is
    long for them tell of offset entries that are gone.
    """
    borders = np.concatenate(([0], positions, [valid.end]))
    gaps = np.diff(borders)
    largest = int(np.diff(valid.positions, append=valid.end).max(initial=0))
    timed = segment.indexes.time_index.load()["offset"].astype(np.int64) + segment.base_offset
    timed_in = np.bincount(np.searchsorted(offsets, timed), minlength=len(gaps))
    alone = len(valid.epochs) + 1
    interval = int(np.diff(positions).min()) if len(positions) > 1 else 0
    dense = (timed_in > alone + 1) & (gaps > timed_in * interval // 2)
    lost = dense | (gaps > _FAR + 2 * largest)
    return int(gaps[lost].max(initial=0))


def _offset_entries_true(
    offsets: Numbers, positions: Numbers, valid: ValidBatches
) -> tuple[Flags, Callable[[int], str]]:
    """Return the entries that the log confirms, and the reasons for the others."""
    row = np.searchsorted(valid.positions, positions)
    inside = row < len(valid.positions)
    at = np.minimum(row, max(len(valid.positions) - 1, 0))
    empty = not len(valid.positions)
    boundary = inside & (False if empty else valid.positions[at] == positions)
    ends = np.searchsorted(valid.last_offsets, offsets)
    named = np.minimum(ends, max(len(valid.last_offsets) - 1, 0))
    is_last = (ends < len(valid.last_offsets)) & (False if empty else valid.last_offsets[named] == offsets)
    following = np.append(positions[1:], np.iinfo(np.int64).max)
    following = np.where(following > positions, following, np.iinfo(np.int64).max)
    near = is_last & (named >= at) & (False if empty else valid.positions[named] < following)
    rising = rises(offsets, -1) & rises(positions, -1)

    def reason(slot: int) -> str:
        """The first of these checks that an entry fails, in words. The entry is not confirmed."""
        if not rising[slot]:
            return "it does not come after the entry before it"
        if not boundary[slot]:
            return "no batch begins there"
        return "no batch at or after that position, and before the next entry's, ends with that offset"

    return boundary & near & rising, reason


def check_time_index(segment: Segment, where: CheckedFile, valid: ValidBatches, clean: bool) -> list[Finding]:
    """The findings about the time index."""
    index = segment.indexes.time_index
    entries = _entries(index, segment.next_base is None)
    times = entries["timestamp"].astype(np.int64)
    offsets = entries["offset"].astype(np.int64) + segment.base_offset
    highest = np.maximum.accumulate(valid.max_timestamps) if len(valid.max_timestamps) else valid.max_timestamps
    raised = rises(highest, -1)
    row = np.searchsorted(valid.last_offsets, offsets)
    inside = row < len(highest)
    at = np.minimum(row, max(len(highest) - 1, 0))
    matches = inside & (False if not len(highest) else (highest[at] == times) & raised[at])
    rising = rises(times, -1) & (np.diff(offsets, prepend=segment.base_offset) >= 0)
    true = matches & rising
    for slot in np.flatnonzero(true & (offsets != (valid.last_offsets[at] if len(highest) else -1))).tolist():
        true[slot] = _is_of_record(segment, int(valid.positions[at[slot]]), int(offsets[slot]), int(times[slot]))
    live, findings = _live(segment, index, where, true, inside, clean)
    for slot in _untrue(true, live, times, offsets):
        reason = "it does not come after the entry before it"
        if rising[slot]:
            reason = "the log has no such offset"
            if inside[slot] and highest[at[slot]] == times[slot]:
                reason = "neither a batch that first reached that time ends there, nor has the record there that time"
            elif inside[slot]:
                reason = f"in the log the largest timestamp up to that offset is {highest[at[slot]]}"
        findings.append(where.finding(
            "time-index-entry", f"entry {slot}, time {times[slot]} at offset {offsets[slot]}: {reason}",
            position=slot * index.entry_size, offset=int(offsets[slot]), slot=slot,
        ))  # fmt: skip
    largest = int(highest[-1]) if len(highest) else -1
    ended = segment.next_base is not None or clean
    if ended and not findings and not valid.damaged and largest >= 0 and (not live or int(times[live - 1]) != largest):
        last = f"ends with time {times[live - 1]}" if live else "has no entry"
        findings.append(where.finding(
            "time-index-end", f"it {last}, and the largest timestamp of its closed segment is {largest}"
        ))  # fmt: skip
    if ended and not findings and not valid.damaged and len(highest):
        findings += _untimed(segment, where, valid, highest, times)
    return findings


def _is_of_record(segment: Segment, position: int, offset: int, time: int) -> bool:
    """True if the record at `offset` in the batch at `position` has that time: brokers before 3.8 name it so."""
    file = segment.log()
    batch = parse_batch(file.read(position, LARGEST_HEADER), 0, position)
    assert batch is not None
    data = file.read(position, batch.size)
    for piece in decode(data, position, walk(data, position).rows[:1], MAX_BATCH):
        if isinstance(piece, Refusal):
            return True  # it is unknown, and no fault of the index
        if ((piece.rows["offset"] == offset) & (piece.rows["timestamp"] == time)).any():
            return True
    return False


def _untimed(
    segment: Segment, where: CheckedFile, valid: ValidBatches, highest: Numbers, times: Numbers
) -> list[Finding]:
    """Each offset entry comes with a time entry for the largest timestamp so far, unless that has one already."""
    offsets = segment.indexes.offset_index.load()["offset"].astype(np.int64) + segment.base_offset
    row = np.searchsorted(valid.last_offsets, offsets)
    exact = (row < len(highest)) & (valid.last_offsets[np.minimum(row, len(highest) - 1)] == offsets)
    reached = highest[row[exact]]
    missing = reached[(reached >= 0) & ~np.isin(reached, times)]
    if not len(missing):
        return []
    return [where.finding(
        "time-index-sparse", f"{len(missing)} entries are missing, the first for the time {missing[0]}"
    )]  # fmt: skip


def _untrue(true: Flags, live: int, first: Numbers, second: Numbers) -> list[int]:
    """The slots to be named: of live entries those that the log does not confirm, behind them those out of order.

    The rest that a truncation leaves continues the entries before it. Only the very last entry may be half written.
    """
    back = _falls(first) | _falls(second)
    back[-1:] &= second[-1:] > second[:1]  # its second half is still zero
    return np.flatnonzero(np.append(~true[:live], back[live:])).tolist()


def _falls(values: Numbers) -> Flags:
    """A mask of the values that are smaller than the value in front of them."""
    return np.append(False, values[1:] < values[:-1])[: len(values)]


def _entries(index: OffsetIndex | TimeIndex, padded: bool) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """The entries, without the zeros at the end. Only the beginning of megabytes of padding is read."""
    slots = min(index.entries if padded else index.slots, index.possible_entries)
    data = index.read_slots(slots + _PADDING_READ).rstrip(b"\0")
    data = data.ljust(min(index.entries, slots) * index.entry_size, b"\0")  # one time entry may be of zeros
    data += bytes(-len(data) % index.entry_size)
    return np.frombuffer(data, index.dtype)


def _live(
    segment: Segment, index: OffsetIndex | TimeIndex, where: CheckedFile, true: Flags, read: Flags, clean: bool
) -> tuple[int, list[Finding]]:
    """How many entries are to be true, and what the rest of the file gives reason to say.

    Behind them may stand, in a last segment that was not closed: zeros, entries that a truncation left, and some that
    were written after the log was read (`read` gives the part of the log that each entry describes).
    """
    findings = []
    growing = segment.next_base is None and not clean
    left = index.length % index.entry_size
    last_filled = len(true)
    if left and not growing:
        findings.append(where.finding(
            "index-length", f"its {index.length} bytes are not a multiple of {index.entry_size}",
            position=index.length - left,
        ))  # fmt: skip
    if not growing:
        if last_filled < index.slots:
            findings.append(where.finding(
                "index-padding", f"{index.slots - last_filled} entries of zeros are at the end of a closed index",
                position=last_filled * index.entry_size, slot=last_filled,
            ))  # fmt: skip
        return last_filled, findings
    last_true = int(np.flatnonzero(true)[-1]) + 1 if true.any() else 0
    return last_true if last_true else int(read[:1].sum()), findings
