"""Partitions made by hand: who wrote what into which segment, and what a broker notes beside them.

    write(data, "t-0", "- 1 1 | a1 -")      a batch of two records that is in no transaction, two of producer 1, its
                                            abort as first batch of the next segment, one more in no transaction

Each batch but a marker has two records; `c1` is a commit. All is in epoch 0 of leaders.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kafkafs.format.batch import batch_bytes
from kafkafs.format.checkpoints import LeaderEpoch, leader_epochs_bytes
from kafkafs.format.control import ControlType, transaction_marker
from kafkafs.format.names import LEADER_EPOCHS, segment_file
from kafkafs.format.producer_snapshot import ProducerState, producer_snapshot_bytes
from kafkafs.format.transaction_index import ABORTED

START_MS = 1_700_000_000_000


class Made(NamedTuple):
    """A batch: its segment's base offset, its position there, its size, its first offset."""

    base: int
    position: int
    size: int
    offset: int


def write(data: Path, name: str, story: str) -> list[Made]:
    """The partition's directory, made below `data` as of a broker that stopped in order: its batches."""
    place, made, open_at, known = data / name, list[Made](), dict[int, int](), dict[int, ProducerState]()
    place.mkdir(parents=True)
    offset, base, log, aborted = 0, 0, b"", list[tuple[int, ...]]()
    for word in [*story.split(), "|"]:
        if word == "|":
            _segment(place, base, log, aborted)
            (place / segment_file(offset, "snapshot")).write_bytes(producer_snapshot_bytes(known.values()))
            base, log, aborted = offset, b"", []
            continue
        producer = -1 if word == "-" else int(word.lstrip("ac"))
        batch = _batch(word, producer, offset)
        made.append(Made(base, len(log), len(batch), offset))
        log += batch
        if word[0] in "ac":
            first = open_at.pop(producer)
            if word[0] == "a":
                aborted.append((0, producer, first, offset, min(open_at.values(), default=offset + 1)))
        elif producer >= 0:
            open_at.setdefault(producer, offset)
        if producer >= 0:
            known[producer] = ProducerState(producer, 0, 0, offset, 0, START_MS, 0, open_at.get(producer, -1))
        offset += 1 if word[0] in "ac" else 2
    (place / segment_file(0, "snapshot")).unlink(missing_ok=True)
    (place / LEADER_EPOCHS).write_bytes(leader_epochs_bytes([LeaderEpoch(0, 0)]))
    return made


def _batch(word: str, producer: int, offset: int) -> bytes:
    make = partial(batch_bytes, base_offset=offset, timestamp=START_MS, leader_epoch=0)
    records: list[tuple[bytes | None, bytes | None]] = [(None, b"%d" % each) for each in (offset, offset + 1)]
    if producer < 0:
        return make(records)
    if word[0] not in "ac":
        return make(records, producer=(producer, 0))
    kind = ControlType.ABORT if word[0] == "a" else ControlType.COMMIT
    return make([transaction_marker(kind, 0)], is_control=True, producer=(producer, 0))


def _segment(place: Path, base: int, log: bytes, aborted: Sequence[tuple[int, ...]]) -> None:
    (place / segment_file(base, "log")).write_bytes(log)
    for kind in ("index", "timeindex"):
        (place / segment_file(base, kind)).write_bytes(b"")
    if aborted:
        (place / segment_file(base, "txnindex")).write_bytes(np.array(aborted, ABORTED).tobytes())


def damage(data: Path, name: str, made: Made) -> None:
    """A byte of the batch is another now."""
    path = data / name / segment_file(made.base, "log")
    content = bytearray(path.read_bytes())
    content[made.position + made.size - 1] ^= 1
    path.write_bytes(content)
