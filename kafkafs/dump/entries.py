"""A log's entries as Kafka's tool walks them: size by size from the start, whatever the CRC says.

Nothing here is checked that the tool does not check, so a damaged header is read and shown like any other: numbers wrap
as Java's do, any magic from 2 on is v2, and the header of an entry that is too short continues in its neighbour's
bytes. Sources: FileLogInputStream, DefaultRecordBatch, LegacyRecord.

A dump goes in runs of many whole entries at a time, as far as they look sound. Its place in its log is one number, the
position up to which it was read; a run begins there and ends behind its last whole entry, so that the next begins at
its `end`. An entry that does not look sound (a cut end, a corrupt size) makes a run without rows. Then one entry is
read by itself, and runs go on behind it. A run's bytes are memory that the next read may use again
(`ReadableFile.read_long`): its lines are made before that.
"""

from dataclasses import dataclass

import numpy as np

from kafkafs.dump.dump_options import OffsetWindow
from kafkafs.dump.dump_source import ReadableFile, Source
from kafkafs.errors import Vanished
from kafkafs.format.batch import (
    FRAME,
    FRAME_SIZE,
    HEADER_V2,
    LARGEST_HEADER,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    Batch,
    Batches,
    is_wrapped,
    walk,
)
from kafkafs.format.tables import Numbers
from kafkafs.log.batch_runs import next_size_of, whole_batches

SMALLEST_SIZE = 14
"""Bytes behind the size field that even the smallest message of v0 has."""

NO_SEQUENCE = -1


@dataclass(frozen=True, slots=True)
class UnreadableEntry:
    """An entry of no format there is; its size leads to the next one."""

    position: int
    size: int
    magic: int
    last_offset: int


def entry_at(header: bytes, position: int, end: int) -> Batch | UnreadableEntry | None:
    """The entry at `position` of a log that ends at `end`; None if Kafka sees none, at a cut end or a corrupt size.

    `header` is what the file has from `position` on, up to LARGEST_HEADER bytes, behind `end` too.
    """
    if position >= end - FRAME_SIZE or len(header) < FRAME_SIZE:
        return None
    offset, rest, crc_or_epoch, magic = FRAME.unpack_from(header)
    size = rest + LOG_OVERHEAD
    if rest < SMALLEST_SIZE or position + size > end:
        return None
    if magic >= 128:
        return UnreadableEntry(position, size, magic - 256, offset)
    if magic >= 2:
        return _batch(header, position, size) if len(header) >= HEADER_V2.size else None
    attributes = header[FRAME_SIZE]
    timestamp = int.from_bytes(header[18:26], "big", signed=True) if magic == 1 else NO_TIMESTAMP
    return Batch(position, size, magic, offset, offset, -1, crc_or_epoch & 0xFFFFFFFF, attributes,
                 timestamp, timestamp, -1, -1, NO_SEQUENCE, 1)  # fmt: skip


def entry_in(file: ReadableFile, position: int, end: int) -> Batch | UnreadableEntry | None:
    """The entry at `position` of an open file. `position` may be any number."""
    return entry_at(file.read(position, LARGEST_HEADER), position, end) if position >= 0 else None


def fatal_at(header: bytes, position: int, end: int) -> str:
    """Return the sentence with which Kafka's tool ends if `entry_at` has found nothing. Return "" if the tool takes the
    rest for a cut end and says how many bytes that is."""
    if position >= end - FRAME_SIZE or len(header) < FRAME_SIZE:
        return ""
    _, rest, _, magic = FRAME.unpack_from(header)
    left = end - position
    if rest < SMALLEST_SIZE and not any(header):
        return f"from position {position} on there are zeros, and no batch: {left} bytes are not read"
    if rest < SMALLEST_SIZE:
        return f"at position {position} is a size of {rest}, too small for any batch: {left} bytes are not read"
    if 2 <= magic < 128 and position + rest + LOG_OVERHEAD <= end and len(header) < HEADER_V2.size:
        return f"the batch at position {position} has {rest + LOG_OVERHEAD} bytes, too few for a header"
    return ""


def _batch(header: bytes, position: int, size: int) -> Batch:
    (base, _, epoch, magic, crc, attributes, delta, base_ts, max_ts, producer, producer_epoch, sequence, count) = (
        HEADER_V2.unpack_from(header)
    )
    return Batch(position, size, magic, base, wrap(base + delta, 64), epoch, crc, attributes, base_ts, max_ts,
                 producer, producer_epoch, sequence, count)  # fmt: skip


def wrap(number: int, bits: int) -> int:
    """The value that remains in a Java int or long of that many bits."""
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


def sequence_after(sequence: int, delta: int) -> int:
    """A sequence number `delta` later; 2147483647 is followed by 0."""
    if sequence > wrap(2**31 - 1 - delta, 32):
        return wrap(delta - (2**31 - 1 - sequence) - 1, 32)
    return wrap(sequence + delta, 32)


def sequence_before(sequence: int, delta: int) -> int:
    """A sequence number `delta` earlier; 0 is preceded by 2147483647."""
    if sequence < delta:
        return wrap(2**31 - 1 - (delta - sequence) + 1, 32)
    return wrap(sequence - delta, 32)


READ_SIZE = 1 << 20


@dataclass(frozen=True, slots=True)
class EntryRun:
    """Whole entries back to back: their bytes, where these begin in the file, and a row for each; and the size that the
    entry behind them claims, 0 if it is not known."""

    data: bytes | memoryview
    position: int
    rows: Batches
    next_size: int = 0

    @property
    def end(self) -> int:
        """The position behind the last entry."""
        return int(self.rows["position"][-1] + self.rows["size"][-1])

    def part(self, first: int, stop: int) -> "EntryRun":
        """The entries [first, stop) of it."""
        whole = (first, stop) == (0, len(self.rows))
        return self if whole else EntryRun(self.data, self.position, np.ascontiguousarray(self.rows[first:stop]))

    def bytes_of(self, batch: Batch) -> bytes:
        """The bytes of a batch of this run, as on disk."""
        start = batch.position - self.position
        return bytes(self.data[start : start + batch.size])


def read_run(source: Source, position: int, end: int, next_size: int = 0) -> EntryRun:
    """Return the sound entry at `position`, or an entry without rows. `next_size`: from the run before. The bytes
    of an entry that is not whole are read again."""
    size = whole_batches(READ_SIZE, next_size)
    while True:
        data = source.data.read_long(position, min(size, end - position))
        if not data:
            raise Vanished(f"{source.path} became shorter while it was read")
        walked = walk(data, position)
        needed = len(data) + walked.missing
        if len(walked.rows) or walked.stop != "cut" or not walked.missing or position + needed > end or needed <= size:
            return EntryRun(data, position, walked.rows, next_size_of(data, walked))
        size = needed + LARGEST_HEADER


def within(run: EntryRun, window: OffsetWindow) -> tuple[EntryRun, bool]:
    """The entries that the window has a part of, and whether it ends with them."""
    first, stop = 0, len(run.rows)
    if window.start is not None:
        first = int(np.argmax(np.append(run.rows["last_offset"] >= window.start, True)))
    if window.stop is not None:
        stop = max(first, int(np.argmax(np.append(_first_offsets(run.rows) >= window.stop, True))))
    return run.part(first, stop), stop < len(run.rows)


def _first_offsets(rows: Batches) -> Numbers:
    """The first offset that each entry may hold: a compressed message of v0 or v1 gives only its last offset."""
    follows = np.concatenate([np.zeros(1, np.int64), rows["last_offset"][:-1] + 1])
    return np.where(is_wrapped(rows), follows, rows["base_offset"])
