"""From a trusted position on through a segment: runs of whole, valid batches in offset order, and what is damaged.

All lookups and all decoding go through here. A batch counts when its CRC holds and its offsets are behind those before
it and in front of those after it; the offset of a v2 batch is outside its CRC, so a batch that contradicts its
neighbours is damaged even where its CRC holds. Whatever is between two batches that count is one `Damage`, which owns
the offsets between them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kafkafs.disk.data_file import DataFile
from kafkafs.errors import Vanished
from kafkafs.format.batch import (
    FRAME,
    FRAME_SIZE,
    LARGEST_HEADER,
    Batch,
    Batches,
    Walk,
    batch_at,
    count_in_order,
    crc_holds_in,
    parse_batch,
    rows_of,
    walk,
)
from kafkafs.log.large_batches import IN_PIECES, SoundBatches, pieces, whole_batch
from kafkafs.log.overlaps import first_offset
from kafkafs.log.resync import next_valid

FIRST_READ = 16 << 10
_PEEK = 4 << 10
"""Bytes that are read where an index entry leads, as much as a page: a cold point brings no more in than it needs."""

LARGE = 33 << 10
"""Bytes: two batches of the 16 KiB that producers make by default, the one that an entry leads to and the one behind.
A larger batch is read by itself."""

LONGEST_READ = 1 << 20
_UNLIKELY_SIZE = 32 << 20
"""A batch larger than this is read only where something that looks like a batch follows it."""


class WalkedBytes(NamedTuple):
    """Bytes of a log from a position on, and the batches in them."""

    data: bytes | memoryview
    walked: Walk


class Start(NamedTuple):
    """A trusted place to scan from: every batch before `position` ends below `first_offset`.

    `known` is what was read from there on to come to trust it, for the walk that begins there. `first_read`: how many
    bytes to begin with, LONGEST_READ for a walk through all of a segment. `wanted_end`: the position at which the walk
    will end, as an index says; 0 if nobody knows. Reads end there, and nothing else depends on it. `is_long`: the walk
    goes on to its end or to `wanted_end`, unless who reads it stops.
    """

    position: int
    first_offset: int
    known: WalkedBytes | None = None
    first_read: int = FIRST_READ
    wanted_end: int = 0
    is_long: bool = False


ANY_SIZE = 1 << 31
"""More bytes than a batch can have."""


class Bounds(NamedTuple):
    """The limits of a walk: positions below `end`, offsets from `first_offset` up to but without `next_base`.

    `next_base` is None in the last segment; there, invalid bytes that nothing valid follows are the end of the log.
    Without `search` it ends at the first byte that is no valid batch, whatever follows. Offsets below `passed` are not
    what the walk is for: of large batches with nothing else only the headers come, where they are known to be sound.
    The walk asks `sound` for the known batches when the first of them comes up. It is None if nothing is known for now.
    Batches of more than `largest` bytes are left out in the same way: the decoder of the rest refuses them.
    """

    end: int
    first_offset: int
    next_base: int | None
    search: bool = True
    passed: int = 0
    sound: Callable[[], SoundBatches | None] = lambda: None
    largest: int = ANY_SIZE

    def leaves_out(self, batch: Batch) -> bool:
        """True if nothing but the header of the batch is needed."""
        return batch.last_offset < self.passed or (batch.magic == 2 and batch.size > self.largest)

    def admits(self, base_offset: int, last_offset: int, before: int) -> bool:
        """True if a batch with these offsets can follow one that ends with offset `before`."""
        return before < base_offset <= last_offset and (self.next_base is None or last_offset < self.next_base)


class BatchRun(NamedTuple):
    """Valid batches back to back: their bytes, the position of the first byte, and a row for each (format.batches).

    A run of `Visible.batches` has rows only for batches that a consumer sees. The bytes of a large batch that a walk
    passes (see `Bounds`) may end behind its header.
    """

    data: bytes | memoryview
    position: int
    rows: Batches

    @property
    def last_offset(self) -> int:
        """The last offset of the last batch."""
        return int(self.rows["last_offset"][-1])

    @property
    def end(self) -> int:
        """The position behind the last batch."""
        return int(self.rows["position"][-1]) + int(self.rows["size"][-1])


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that are no valid batch, and the offsets they own: those between their neighbours, both included."""

    position: int
    size: int
    base_offset: int
    last_offset: int

    @property
    def end(self) -> int:
        """The position behind it."""
        return self.position + self.size

    def __str__(self) -> str:
        return f"{self.size} bytes at position {self.position} are not a valid batch"


def first_walked(file: DataFile, position: int, size: int) -> WalkedBytes:
    """The first read of a walk that begins at the place of an index entry: `size` bytes, in which the index has the
    wanted place, and the header behind them. If that is much, a page. At the end of the log, where the index does not
    tell (`size` is 0 or less), there is little left."""
    wanted = LARGE if size <= 0 else size + LARGEST_HEADER if size <= LARGE else _PEEK
    data = file.read_long(position, wanted)
    return WalkedBytes(data, walk(data, position))


def batch_runs(
    file: DataFile, position: int, bounds: Bounds, known: WalkedBytes | None = None, size: int = FIRST_READ,
    wanted_end: int = 0,
) -> Iterator[BatchRun | Damage]:  # fmt: skip
    """All that stands from `position` to `bounds.end`, in file order; ends where nothing valid is left.

    `known`: the first bytes, where the caller has read them; else `size` is read first. `wanted_end`: see `Start`.
    """
    before = bounds.first_offset - 1
    while position < bounds.end:
        if position >= wanted_end > 0:
            size, wanted_end = FIRST_READ, 0
        if wanted_end:
            size = min(size, wanted_end - position + LARGEST_HEADER)
        wanted = min(size if known is None else len(known.data), bounds.end - position)
        if known is not None and len(known.data) == wanted:
            data, walked = known
            size = wanted
        else:
            data = file.read_long(position, wanted)
            if len(data) < wanted:
                raise Vanished(f"{file.name!r} became shorter while it was read")
            walked = walk(data, position)
        known = None
        run = _sound_run(file, BatchRun(data, position, walked.rows), before, bounds)
        if run is not None:
            if bounds.passed and len(data) > LARGE:
                _note_passed(run, bounds)
            yield run  # most points end here
            position, before = run.end, run.last_offset
            next_size = next_size_of(data, walked) if len(run.rows) == len(walked.rows) else 0
            growth = 2 if size < FIRST_READ else 4  # a point is found a page or two behind its index entry
            size = whole_batches(min(growth * size, LONGEST_READ), next_size)
            continue
        if not len(walked.rows) and walked.stop == "cut":
            header = _left_out(data, position, before, bounds)
            passed = None if header is None else _checked(file, header, data, before, bounds)
            if passed is not None:
                position, before, size = passed.end, passed.last_offset, _PEEK
                yield passed
                continue
            is_refuted = header is not None and header.size > IN_PIECES
            needed = len(data) + walked.missing
            if (
                not is_refuted
                and wanted < needed <= bounds.end - position
                and _is_likely(file, position, needed, bounds)
            ):
                size, wanted_end = needed + LARGEST_HEADER, 0
                continue
        if wanted_end:  # an index may be wrong: no damage is found in less than a walk without one reads
            size, wanted_end = FIRST_READ, 0
            continue
        damage = _damage(file, position, before, bounds) if bounds.search else None
        if damage is None:
            return
        position, before, size = damage.end, damage.last_offset, FIRST_READ
        yield damage


def _left_out(data: bytes | memoryview, position: int, before: int, bounds: Bounds) -> Batch | None:
    """The batch that begins at `position`, if nothing but its header is needed."""
    header = parse_batch(data, 0, position)
    if header is None or not bounds.leaves_out(header):
        return None
    if not bounds.admits(header.base_offset, header.last_offset, before) or header.end > bounds.end:
        return None
    return header


def _checked(file: DataFile, batch: Batch, data: bytes | memoryview, before: int, bounds: Bounds) -> BatchRun | None:
    """The batch with its header alone, if it is known to be sound, or large and found sound piece by piece."""
    run, sound = BatchRun(data, batch.position, rows_of(batch, is_valid=True)), bounds.sound()
    if sound is not None and sound.has(batch.position):
        return run
    if batch.size <= IN_PIECES or not _is_likely(file, batch.position, batch.size, bounds):
        return None
    if not crc_holds_in(batch, pieces(file, batch)):
        return None
    found = _sound_run(file, run, before, bounds)
    if found is not None and sound is not None:
        sound.add(batch.position)
    return found


def _note_passed(run: BatchRun, bounds: Bounds) -> None:
    """Remembers the large batches of the run that were read for nothing but to find them sound."""
    if (sound := bounds.sound()) is not None:
        rows = run.rows[(run.rows["size"] > LARGE) & (run.rows["last_offset"] < bounds.passed)]
        for position in rows["position"].tolist():
            sound.add(position)


def next_size_of(data: bytes | memoryview, walked: Walk) -> int:
    """The size that the entry behind the whole batches of `data` claims; 0 if that is not in there."""
    return len(data) + walked.missing - walked.at if walked.missing else 0


def whole_batches(size: int, next_size: int) -> int:
    """About `size`; where the next batch is a large one, as many of its size as fit, at least it, and a header.

    The bytes of a batch that is not whole are read again.
    """
    if FIRST_READ < next_size <= IN_PIECES:
        return max(1, (size - LARGEST_HEADER) // next_size) * next_size + LARGEST_HEADER
    return size


def _sound_run(file: DataFile, whole: BatchRun, before: int, bounds: Bounds) -> BatchRun | None:
    """The first of the whole batches, as many as are valid and in order; None for none."""
    count = count_in_order(whole.rows, before, bounds.next_base)
    if count == 0:
        return None
    run = whole if count == len(whole.rows) else whole._replace(rows=whole.rows[:count])
    if _continues_behind(run):
        return run
    last = batch_at(run.rows, -1)
    follower = _header(file, last.end, bounds.end)
    if follower is not None and follower.base_offset <= last.last_offset:
        previous = int(run.rows["last_offset"][-2]) if count > 1 else before
        if _contradicted(file, last, follower, previous, bounds):
            return run._replace(rows=run.rows[:-1]) if count > 1 else None
    return run


def _continues_behind(run: BatchRun) -> bool:
    """True if the bytes behind its last batch begin with an offset behind it, as they mostly do."""
    at = run.end - run.position
    return at + FRAME_SIZE <= len(run.data) and FRAME.unpack_from(run.data, at)[0] > run.last_offset


def _contradicted(file: DataFile, batch: Batch, follower: Batch, before: int, bounds: Bounds) -> bool:
    """True if the first one of two batches whose offsets cross is corrupt.

    Only its base offset can be: all else is under the CRC. That is the one for which there is room elsewhere, between
    its neighbours; if there is for both, the one that fits there without a gap; if for none, as where a batch stands
    there twice, the second.
    """
    if not bounds.admits(follower.base_offset, follower.last_offset, before) or not whole_batch(
        file, follower, bounds.end
    ):
        return False
    third = _header(file, follower.end, bounds.end)
    limit = bounds.next_base if third is None or third.base_offset <= follower.last_offset else third.base_offset
    room_for_first = follower.base_offset - before - 1 - _width(batch)
    room_for_second = None if limit is None else limit - batch.last_offset - 1 - _width(follower)
    if room_for_first < 0:
        return False
    if room_for_second is not None and room_for_second < 0:
        return True
    if (room_for_first == 0) != (room_for_second == 0):
        return room_for_first == 0
    return batch.base_offset != before + 1


def _width(batch: Batch) -> int:
    """Return the number of offsets of the batch, as its header gives it."""
    return batch.last_offset - batch.base_offset + 1


def _damage(file: DataFile, position: int, before: int, bounds: Bounds) -> Damage | None:
    """Return the damage from `position` to the next batch that counts. Return None at the end of the log."""
    found = next_valid(file, position, bounds.end, lambda batch: _counts(file, batch, before, bounds))
    if found is not None:
        return Damage(position, found.position - position, before + 1, max(before, first_offset(file, found) - 1))
    if bounds.next_base is None:
        return None
    left = bounds.end - position
    if left <= FRAME_SIZE and not any(file.read(position, left)):
        return None
    return Damage(position, left, before + 1, max(before, bounds.next_base - 1))


def _counts(file: DataFile, batch: Batch, before: int, bounds: Bounds) -> bool:
    if not bounds.admits(batch.base_offset, batch.last_offset, before) or not whole_batch(file, batch, bounds.end):
        return False
    follower = _header(file, batch.end, bounds.end)
    crossed = follower is not None and follower.base_offset <= batch.last_offset
    return not (crossed and follower is not None and _contradicted(file, batch, follower, before, bounds))


def _is_likely(file: DataFile, position: int, size: int, bounds: Bounds) -> bool:
    """True if the entry at `position` may really be that large: a header follows it, or the end."""
    behind = position + size
    return size < _UNLIKELY_SIZE or behind == bounds.end or _header(file, behind, bounds.end) is not None


def _header(file: DataFile, position: int, end: int) -> Batch | None:
    """The header at `position`, where one can be."""
    left = min(LARGEST_HEADER, end - position)
    return parse_batch(file.read(position, left, passing=True), 0, position) if left > 0 else None
