"""Which batches make the log of a tiered partition, by reading every object whole: section 5 of the facts about tiers.

No index, no listing rule and nothing of kafkafs is used: batches are cut out of bytes by their lengths, and each offset
is asked for by itself.
"""

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

Epochs = Sequence[tuple[int, int]]
_WANTED = ("index", "timeindex", "leader_epoch_checkpoint", "snapshot")


class Batch(NamedTuple):
    """A batch of format v2, whole."""

    base: int
    last: int
    epoch: int
    data: bytes


def batches_in(data: bytes) -> list[Batch]:
    """All whole batches of a log."""
    found, at = [], 0
    while at + 61 <= len(data):
        base, length, epoch = struct.unpack_from(">qii", data, at)
        (delta,) = struct.unpack_from(">i", data, at + 23)
        if at + 12 + length > len(data):
            break
        found.append(Batch(base, base + delta, epoch, data[at : at + 12 + length]))
        at += 12 + length
    return found


def epochs_in(data: bytes) -> list[tuple[int, int]]:
    """A checkpoint of leader epochs."""
    return [(int(line.split()[0]), int(line.split()[1])) for line in data.decode().splitlines()[2:]]


class NaiveUpload(NamedTuple):
    """A complete upload of LocalTieredStorage's."""

    segment_id: str
    base: int
    epochs: list[tuple[int, int]]
    batches: list[Batch]


def uploads_in(folder: Path) -> list[NaiveUpload]:
    """Those that are complete."""
    found = []
    for log in sorted(folder.glob("*.log")):
        if all(log.with_suffix(f".{kind}").exists() for kind in _WANTED):
            epochs = epochs_in(log.with_suffix(".leader_epoch_checkpoint").read_bytes())
            found.append(NaiveUpload(log.name[21:43], int(log.name[:20]), epochs, batches_in(log.read_bytes())))
    return found


def _epoch_at(lineage: Epochs, offset: int) -> int | None:
    return next((epoch for epoch, start in reversed(lineage) if start <= offset), None)


def newest_lineage(uploads: Iterable[NaiveUpload]) -> list[tuple[int, int]]:
    """That of the newest upload: largest last epoch, then largest base."""
    return max(uploads, key=lambda each: (each.epochs[-1][0], each.base)).epochs


def log_of(uploads: Iterable[NaiveUpload], lineage: Epochs, start: int, local: Iterable[Batch]) -> dict[int, Batch]:
    """The batch of each offset that the log has."""
    found: dict[int, Batch] = {}
    for each in local:
        found |= dict.fromkeys(range(max(start, each.base), each.last + 1), each)
    for upload in uploads:
        own = {epoch for epoch, _ in upload.epochs}
        for batch in upload.batches:
            for offset in range(max(start, batch.base), batch.last + 1):
                right = _epoch_at(lineage, offset)
                is_right = batch.epoch <= lineage[0][0] if right is None else batch.epoch == right
                if is_right and batch.epoch in own:
                    found.setdefault(offset, batch)
    return found
