"""Choose the uploads that make the log, and the offset up to which each counts.

A tier holds more than the log: second tries after a crash, uploads of former leaders whose records were cut later. The
lineage decides: the leader epochs and first offsets of the partition's own checkpoint. An upload is good up to the
first offset at which it has another epoch. Its batches behind that offset are gone for ever, though the upload is
finished. Source: RemoteLogManager, RemoteLogLeaderEpochState.

A tiered log is not compacted. So offsets that no upload has, between two uploads or before the first one, are a gap:
a piece of its own, which nobody can read.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple

from kafkafs.log.tier.opening import Epochs, Upload


class Piece(NamedTuple):
    """The offsets [upload.base_offset, stop) of an upload; `stop` is None if nothing shows where a tier's last upload
    ends."""

    upload: Upload
    stop: int | None


class _CountedUpload(NamedTuple):
    """An upload, and the offset behind its last one that is of the lineage; None if that offset is unknown."""

    upload: Upload
    until: int | None


def good_until(upload: Upload, lineage: Epochs) -> int | None:
    """The offset behind the last one of the upload that is of that lineage; None if it is unknown.

    At most its base offset if nothing of it counts. If the upload's end is not known, it may end earlier than here.
    """
    end = None if upload.end_offset is None else upload.end_offset + 1
    parts = _parts_at(upload, lineage)
    return min((each for each in (end, parts) if each is not None), default=None)


def _parts_at(upload: Upload, lineage: Epochs) -> int | None:
    """The first offset at which the epochs of an upload are not those of the lineage; None if there is no such offset.

    Offsets before the lineage begins are of its first epoch or an earlier one: a checkpoint is cut to the log start.
    """
    own = upload.epochs
    if not own or not lineage:
        return None
    base = upload.base_offset
    borders = {base, *(start for _, start in own), *(start for _, start in lineage)}
    for offset in sorted(each for each in borders if each >= base):
        epoch = epoch_at(own, offset)
        is_before = offset < lineage[0][1]
        if epoch > lineage[0][0] if is_before else epoch != epoch_at(lineage, offset):
            return offset
    return None


def epoch_at(epochs: Epochs, offset: int) -> int:
    """The epoch of an offset; the first one for offsets before all of them, -1 without any."""
    if not epochs:
        return -1
    return epochs[max(0, bisect_right(epochs, offset, key=lambda each: each[1]) - 1)][0]


def needs_ends(uploads: Sequence[Upload], lineage: Epochs) -> bool:
    """True if uploads may overlap, so that the log's pieces depend on where each upload ends: two begin together, or
    some are not of the lineage."""
    if len({each.base_offset for each in uploads}) < len(uploads):
        return True
    bases = sorted(each.base_offset for each in uploads)
    for each in uploads:
        behind = bisect_right(bases, each.base_offset)
        parts = _parts_at(each, lineage)
        if parts is not None and behind < len(bases) and parts < bases[behind]:
            return True
    return False


def pieces(
    uploads: Iterable[Upload], lineage: Epochs, local_start: int | None, log_start: int | None = None
) -> list[Piece]:
    """The pieces that make the log below `local_start`, the first offset of the disk; None if there is no disk.

    They follow one another without overlaps and without holes: a gap is a piece, too. If two uploads begin together,
    the longer one counts. One that begins inside another takes over there. One that cannot be read counts only for
    offsets that no other upload has. `log_start`, if known, is the offset with which the log begins: if the first
    upload begins behind it, there is a gap. Else retention may have deleted what is missing there. Uploads that end
    below it are not deleted yet, and are no part of the log.
    """
    good = _bounded([_CountedUpload(each, good_until(each, lineage)) for each in uploads], local_start)
    found = _tiled([each for each in good if not each.upload.trouble], local_start)
    floor = lineage[0][1] if lineage else 0
    begin = None if log_start is None else max(log_start, floor)
    filled = list(_filled(found, [each for each in good if each.upload.trouble], begin, floor, local_start))
    return filled[_count_below(filled, begin, local_start) :]


def _bounded(good: Iterable[_CountedUpload], local_start: int | None) -> list[_CountedUpload]:
    """The uploads that count for any offset, in order. An upload whose end is not known goes on to the next base."""
    kept = [
        each
        for each in good
        if (each.until is None or each.until > each.upload.base_offset)
        and (local_start is None or each.upload.base_offset < local_start)
    ]
    bases = sorted({each.upload.base_offset for each in kept})
    bounded = []
    for upload, until in kept:
        if upload.end_offset is None:
            at = bisect_right(bases, upload.base_offset)
            behind = bases[at] if at < len(bases) else local_start
            until = min((each for each in (until, behind) if each is not None), default=None)
            if behind is None:
                until = None
        bounded.append(_CountedUpload(upload, until))
    return sorted(bounded, key=lambda each: (each.upload.base_offset, -(each.until or 0), each.upload.segment_id))


def _tiled(good: Sequence[_CountedUpload], local_start: int | None) -> list[Piece]:
    """The uploads that add something, each up to the base of the next one."""
    kept: list[_CountedUpload] = []
    for each in good:
        reach = kept[-1].until if kept else -1
        if reach is None or (each.until is not None and each.until <= reach):
            continue
        if kept and kept[-1].upload.base_offset == each.upload.base_offset:
            continue  # a second try, of which nothing is known
        kept.append(each)
    found = []
    for number, (upload, until) in enumerate(kept):
        behind = kept[number + 1].upload.base_offset if number + 1 < len(kept) else local_start
        stops = [stop for stop in (until, behind) if stop is not None]
        found.append(Piece(upload, min(stops, default=None)))
    return found


def _filled(
    found: Sequence[Piece], troubled: Sequence[_CountedUpload], begin: int | None, floor: int, local_start: int | None
) -> Iterable[Piece]:
    """The pieces, and between them those of uploads that cannot be read, or gaps. Nothing is missed below `floor`."""
    at = begin
    if at is None and troubled:
        at = min([troubled[0].upload.base_offset, *(each.upload.base_offset for each in found[:1])])
    for piece in [*found, None]:
        if piece is not None:
            behind: int | None = piece.upload.base_offset
        elif local_start is None and troubled:  # a tier alone that ends with what cannot be read
            behind = max(each.until or each.upload.base_offset + 1 for each in troubled)
        else:
            behind = local_start
        if at is not None and behind is not None and max(at, floor) < behind:
            yield from _between(max(at, floor), behind, troubled)
        if piece is not None:
            yield piece
            if piece.stop is None:
                return
            at = max(piece.stop, at or 0)


def _count_below(found: Sequence[Piece], begin: int | None, local_start: int | None) -> int:
    """How many of the first pieces end at or below the log start. Without a disk the last piece has the log's end."""
    most = len(found) - (local_start is None)
    ends = (each.stop for each in found[: max(0, most)])
    return 0 if begin is None else sum(1 for _ in takewhile(lambda stop: stop is not None and stop <= begin, ends))


def _between(at: int, behind: int, troubled: Sequence[_CountedUpload]) -> Iterable[Piece]:
    """Return the pieces for the offsets [at, behind), which no readable upload has."""
    for upload, until in troubled:
        first, stop = max(at, upload.base_offset), behind if until is None else min(until, behind)
        if first >= stop:
            continue
        if first > at:
            yield gap(at, first)
        yield Piece(upload._replace(base_offset=first), stop)
        at = stop
    if at < behind:
        yield gap(at, behind)


class LeftOver:
    """The offsets that pieces leave to other uploads: those of gaps, of uploads that cannot be read, and behind the
    last piece if no disk goes on there."""

    def __init__(self, found: Iterable[Piece], lineage: Epochs, local_start: int | None) -> None:
        self._readable = [each for each in found if not each.upload.trouble]
        self._bases = [each.upload.base_offset for each in self._readable]
        self._lineage, self._local_start = lineage, local_start

    def are_in(self, upload: Upload) -> bool:
        """True if the upload has some of them."""
        at, until = upload.base_offset, good_until(upload, self._lineage)
        stops = [stop for stop in (at + 1 if until is None else until, self._local_start) if stop is not None]
        for number in range(max(0, bisect_right(self._bases, at) - 1), len(self._bases)):
            piece = self._readable[number]
            if self._bases[number] > at:
                break
            at = max(at, min(stops) if piece.stop is None else piece.stop)
        return at < min(stops)


def gap(first: int, stop: int) -> Piece:
    """The piece that stands for offsets that are nowhere in the tier."""
    trouble = f"offsets {first} to {stop - 1} are in no upload: a gap in the offsets"
    return Piece(Upload(first, "", {}, trouble=trouble), stop)


def contradicts(piece: Piece, upload: Upload, lineage: Epochs) -> bool:
    """True if what was read of an upload, once it was opened, says that the pieces have to be found again: it ends
    elsewhere than its piece, or is of another lineage."""
    until = good_until(upload, lineage)
    if until is None or piece.stop is None:
        return False
    return until < piece.stop if upload.end_offset is None else until != piece.stop
