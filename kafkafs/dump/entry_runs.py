"""A log in runs: many whole entries at a time, as far as they look sound.

A dump's place in its log is one number, the position up to which it was read (`log.dump_log`); a run begins there and
ends behind its last whole entry, so that the next begins at its `end`. What does not look sound, a cut end or a wrong
size, makes a run without rows: then one entry is taken by itself as Kafka's tool would (`entries`), and runs go on
behind it. A run's bytes are memory that the next read may use again (`ReadableFile.read_long`): its lines are made
before that.
"""

from dataclasses import dataclass

import numpy as np

from kafkafs.dump.dump_source import Source
from kafkafs.dump.offset_window import OffsetWindow
from kafkafs.errors import Vanished
from kafkafs.format.batch import Batch, Batches, is_wrapped, walk

READ_SIZE = 1 << 20


@dataclass(frozen=True, slots=True)
class EntryRun:
    """Whole entries back to back: their bytes, where these begin in the file, and a row for each."""

    data: bytes | memoryview
    position: int
    rows: Batches

    @property
    def end(self) -> int:
        """The position behind the last entry."""
        return int(self.rows["position"][-1] + self.rows["size"][-1])

    def part(self, first: int, stop: int) -> "EntryRun":
        """The entries [first, stop) of it."""
        whole = (first, stop) == (0, len(self.rows))
        return self if whole else EntryRun(self.data, self.position, np.ascontiguousarray(self.rows[first:stop]))

    def bytes_of(self, batch: Batch) -> bytes:
        """A batch of this run as it stands on disk."""
        start = batch.position - self.position
        return bytes(self.data[start : start + batch.size])


def read_run(source: Source, position: int, end: int) -> EntryRun:
    """What stands at `position` and looks sound; without rows where that is nothing."""
    size = READ_SIZE
    while True:
        data = source.data.read_long(position, min(size, end - position))
        if not data:
            raise Vanished(f"{source.path} became shorter while it was read")
        walked = walk(data, position)
        needed = len(data) + walked.missing
        if len(walked.rows) or walked.stop != "cut" or not walked.missing or position + needed > end or needed <= size:
            return EntryRun(data, position, walked.rows)
        size = needed


def within(run: EntryRun, window: OffsetWindow) -> tuple[EntryRun, bool]:
    """The entries that the window has a part of, and whether it ends with them."""
    first, stop = 0, len(run.rows)
    if window.start is not None:
        first = int(np.argmax(np.append(run.rows["last_offset"] >= window.start, True)))
    if window.stop is not None:
        stop = max(first, int(np.argmax(np.append(_first_offsets(run.rows) >= window.stop, True))))
    return run.part(first, stop), stop < len(run.rows)


def _first_offsets(rows: Batches) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The first offset that each entry may hold: a compressed message of v0 or v1 tells only its last."""
    follows = np.concatenate([np.zeros(1, np.int64), rows["last_offset"][:-1] + 1])
    return np.where(is_wrapped(rows), follows, rows["base_offset"])
