"""Offsets of one segment: where to scan from, the first batch that reaches an offset, and where the log ends.

An entry of the offset index is held against the log, and the scan begins there. That makes the answer independent of
the index: a batch that really is at the position named, with offsets that the entry allows, has everything older
before it. If no entry passes, the scan starts at the segment's start. Source: LogSegment.translateOffset.
"""

from bisect import bisect_left
from functools import partial

from kafkafs.disk.data_file import DataFile
from kafkafs.format.batch import FRAME_SIZE, UNCHECKED, VALID, Batch, batch_at, first_offsets, parse_batch
from kafkafs.format.index import OffsetIndex, OffsetPosition, Probe
from kafkafs.format.trace import Trace, list_probes, no_trace
from kafkafs.log.batch_runs import FIRST_READ, BatchRun, Bounds, Damage, Start, batch_runs, first_walked
from kafkafs.log.overlaps import first_offset, span
from kafkafs.log.segment import ANY_OFFSET, Segment

_ENTRIES_TRIED = 8


def scan_start(segment: Segment, offset: int, trace: Trace = no_trace) -> Start:
    """Return the place to scan from for `offset`: the last index entry at or before it that the log confirms.

    Entries are tried back from the one that the index names, at growing steps.
    """
    if offset <= segment.base_offset and segment.object is None and trace is no_trace:
        return Start(0, segment.base_offset)  # no entry leads there: each names the end of a batch behind the first
    index = segment.indexes.offset_index
    probes: list[Probe] | None = None if trace is no_trace else []
    entry = index.lookup(offset, probes)
    file = segment.log()
    file.fetch(entry.position, max(FIRST_READ, entry.end - entry.position))
    step = 1
    while entry.slot >= 0:
        confirmed = _confirmed(segment, file, entry) if entry.offset <= offset else None
        if trace is not no_trace:
            described = f"offset index {segment.name_of('index')}: slot {entry.slot} of {index.entries}: "
            described += f"offset {entry.offset} -> position {entry.position}"
            described += "" if confirmed else ", which the log contradicts"
            trace(described + _probes(index, probes, offset))
            probes = None  # they led to the first entry; the others are tried because of the log
        if confirmed is not None:
            return confirmed
        if step > 1 << _ENTRIES_TRIED:
            break
        entry = index.entry(max(-1, entry.slot - step))
        step *= 2
    if trace is not no_trace:
        why = f"no entry at or before {offset}" if index.entries else "missing, empty or unreadable"
        trace(f"offset index {segment.name_of('index')}: {why}: from position 0{_probes(index, probes, offset)}")
    return Start(0, segment.base_offset)


def wanted_end(segment: Segment, offset: int) -> int:
    """The position at which a walk up to `offset` will end, as the offset index says; 0 if the segment ends before, or
    if nobody knows. Nothing of the log is read for it."""
    if segment.next_base is not None and segment.next_base <= offset:
        return 0
    return segment.indexes.offset_index.lookup(offset - 1).end


def _probes(index: OffsetIndex, probes: list[Probe] | None, offset: int) -> str:
    def probed(probe: Probe) -> str:
        return f"offset {index.base_offset + probe.fields[0]} -> position {probe.fields[1]}"

    return list_probes(index, probes or (), probed, (f"at or before {offset}", f"after {offset}"))


def _confirmed(segment: Segment, file: DataFile, entry: OffsetPosition) -> Start | None:
    """The batch at the entry's position, if it may point there: that batch ends with its offset, or one that follows
    does, as older brokers index a whole append. Its base offset, outside the CRC, is then true too."""
    _, offset, position, end = entry
    if position <= 0:
        return None
    known = first_walked(file, position, end - position)
    if len(known.walked.rows):
        base, last, validity = first_offsets(known.walked.rows)
    else:
        header = parse_batch(known.data, 0, position)
        if header is None:
            return None
        base, last, validity = header.base_offset, header.last_offset, UNCHECKED
    if not segment.base_offset <= base <= last <= offset:
        return None
    start = Start(position, base, known)
    return start if (validity == VALID and last == offset) or _leads_to(segment, file, start, offset) else None


def _leads_to(segment: Segment, file: DataFile, start: Start, offset: int) -> bool:
    """True if a batch from `start` on ends with `offset`, and everything up to there is valid."""
    sound = partial(segment.sound_batches, file)
    bounds = Bounds(file.size, start.first_offset, segment.next_base, False, offset + 1, sound)
    for item in batch_runs(file, start.position, bounds, start.known):
        if isinstance(item, BatchRun) and item.last_offset >= offset:
            return int(item.rows["last_offset"][row_reaching(item, offset)]) == offset
    return False


def batch_reaching(segment: Segment, offset: int, log_end: int, trace: Trace = no_trace) -> Batch | Damage | None:
    """The first batch whose last offset is at or after `offset`, or the damage that owns it; None behind the last."""
    start = scan_start(segment, offset, trace)
    scanned = 0
    for item in segment.walk(start, log_end, ANY_OFFSET, offset):
        if item.last_offset < offset:
            scanned += item.end - item.position
            continue
        if isinstance(item, Damage):
            trace(f"log {segment.log_name}: offset {offset} is in the damaged batch at {item.position}")
            return item
        found = batch_at(item.rows, row_reaching(item, offset))
        if trace is not no_trace:  # the span of a message of an old format takes unpacking
            scanned += found.end - item.position
            trace(scanned_to(segment, scanned, start, found))
        return found
    trace(f"log {segment.log_name}: scanned {scanned} bytes from position {start.position}: none at or after {offset}")
    return None


def scanned_to(segment: Segment, scanned: int, start: Start, found: Batch) -> str:
    """The step of an explanation that has found its batch."""
    return (
        f"log {segment.log_name}: scanned {scanned} bytes from position {start.position} to the batch "
        f"{span(segment.log(), found)} at position {found.position}"
    )


def closed_end(segment: Segment) -> int:
    """The position at which a closed segment's log ends: with its file, but for fewer than a header's zero bytes at the
    end; of a swap file that stands in, where the next segment's offsets begin. Found once."""
    end = segment.known_end
    if end is None:
        end = segment.known_end = _stand_in_end(segment) if segment.overlaps_next else _end_before_zeros(segment)
    return end


def _end_before_zeros(segment: Segment) -> int:
    if segment.object is not None:  # an uploaded log was cut at its end
        return segment.seen[0]
    file = segment.log()
    size = file.size
    tail = file.read(max(0, size - FRAME_SIZE), FRAME_SIZE)
    if not tail.endswith(b"\0"):
        return size
    end = size
    start = scan_start(segment, segment.next_base if segment.next_base is not None else segment.base_offset)
    for item in segment.walk(start, size, ANY_OFFSET):
        end = item.end
    return end if size - end <= FRAME_SIZE else size


def _stand_in_end(segment: Segment) -> int:
    """Return the place at which the next segment's offsets begin: the rest of a swap file is there as well.

    An item that spans that place, damage or a batch, is nowhere else. The log ends behind it, and a walk up to there
    finds it damaged.
    """
    assert segment.next_base is not None
    file, next_base = segment.log(), segment.next_base
    size = file.size
    start = scan_start(segment, next_base)
    for item in batch_runs(file, start.position, Bounds(size, start.first_offset, None)):
        if item.last_offset < next_base:
            continue
        if isinstance(item, Damage):
            return item.end if item.base_offset < next_base else item.position
        reaching = batch_at(item.rows, row_reaching(item, next_base))
        return reaching.end if first_offset(file, reaching) < next_base else reaching.position
    return size


def row_reaching(run: BatchRun, offset: int) -> int:
    """The first row whose last offset is at or after `offset`."""
    return bisect_left(run.rows["last_offset"], offset)
