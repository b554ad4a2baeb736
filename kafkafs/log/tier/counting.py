"""Which uploads make the log, and up to which offset each.

A tier holds more than the log: second tries after a crash, uploads of former leaders whose records were cut later. What
counts is the lineage, the leader epochs and first offsets that the partition's own checkpoint has: an upload is good up
to the first offset at which it has another epoch. Behind that its batches are gone for ever, though the upload is
finished. Source: RemoteLogManager, RemoteLogLeaderEpochState.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kafkafs.log.tier.upload import Epochs, Upload


class Piece(NamedTuple):
    """The offsets [upload.base_offset, stop) of an upload; `stop` is None where that is all of the last one."""

    upload: Upload
    stop: int | None


def good_until(upload: Upload, lineage: Epochs) -> int | None:
    """The offset behind the last one of the upload that is of that lineage; None where nothing tells it.

    At most its base offset where nothing of it counts. Offsets before the lineage begins are of its first epoch or an
    earlier one: the first entry of a checkpoint is cut to the log start.
    """
    end = None if upload.end_offset is None else upload.end_offset + 1
    if upload.epochs is None or not lineage:
        return end
    own = dict(upload.epochs)
    for number, (epoch, start) in enumerate(lineage):
        stop = lineage[number + 1][1] if number + 1 < len(lineage) else None
        first = max(start, upload.base_offset)
        if (stop is not None and first >= stop) or (end is not None and first >= end):
            continue
        if epoch not in own or own[epoch] > first:
            return first
    return end


def pieces(uploads: Iterable[Upload], lineage: Epochs, local_start: int | None) -> list[Piece]:
    """The pieces that make the log below `local_start`, where a disk goes on with it; None where no disk does.

    They begin at the bases of uploads, in order, without overlaps. Of two that begin together the one counts that is
    good for longer; one that begins inside of another takes over where it is.
    """
    found: list[tuple[Upload, int | None]] = []
    for upload in sorted(uploads, key=_order):
        until = good_until(upload, lineage)
        if until is not None and until <= upload.base_offset:
            continue
        if local_start is not None and upload.base_offset >= local_start:
            continue
        if found and _reaches(found[-1][1], until, found[-1][0].base_offset == upload.base_offset):
            continue
        if found and found[-1][0].base_offset == upload.base_offset:
            found.pop()
        found.append((upload, until))
    return list(_cut(found, local_start))


def _order(upload: Upload) -> tuple[int, int]:
    return upload.base_offset, -(upload.end_offset if upload.end_offset is not None else 0)


def _reaches(before: int | None, until: int | None, same_base: bool) -> bool:
    """Whether the upload before is good for at least as long, so that this one adds nothing."""
    if before is None or until is None:
        return same_base  # of two tries, of which nothing is told, either is right
    return before >= until


def _cut(found: Sequence[tuple[Upload, int | None]], local_start: int | None) -> Iterable[Piece]:
    for number, (upload, until) in enumerate(found):
        behind = found[number + 1][0].base_offset if number + 1 < len(found) else local_start
        stops = [stop for stop in (until, behind) if stop is not None]
        if behind is None:
            stops.clear()  # the last one of a tier alone: its log tells where it ends
        yield Piece(upload, min(stops) if stops else None)


def contradicts(piece: Piece, told: Upload, lineage: Epochs) -> bool:
    """Whether what was read of an upload, once it was opened, says that the pieces have to be found anew with all that
    can be read: it ends elsewhere than its piece, or is of another lineage."""
    until = good_until(told, lineage)
    return until is not None and piece.stop is not None and until != piece.stop
