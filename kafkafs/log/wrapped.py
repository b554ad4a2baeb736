"""Compressed messages of formats v0 and v1 state their last offset only: their first one takes unpacking.

It is asked for where it decides: whether a message reaches into a range, and which offsets a corrupt neighbour owns.
"""

from kafkafs.disk.data_file import DataFile
from kafkafs.format.batch import Batch, Batches, is_wrapped, walk
from kafkafs.format.records import Refusal, decode

_LIMIT = 256 << 20
"""Bytes of memory that the answer may take; beyond it the last offset stands for the first."""


def first_offset(file: DataFile, batch: Batch) -> int:
    """The first offset that the batch holds; the one its header states where that is so, or where nothing better is
    known."""
    return contents(file, batch)[0]


def span(file: DataFile, batch: Batch) -> str:
    """The offsets that the batch holds, for people."""
    return f"{first_offset(file, batch)}..{batch.last_offset}"


def contents(file: DataFile, batch: Batch) -> tuple[int, int]:
    """The first offset that the batch holds, and how many records; from its header where that tells."""
    if not batch.is_wrapped:
        return batch.base_offset, batch.count
    data, first, count = file.read(batch.position, batch.size), batch.base_offset, 0
    for piece in decode(data, batch.position, walk(data, batch.position).rows[:1], _LIMIT, file.memory):
        if isinstance(piece, Refusal):
            return batch.base_offset, batch.count
        first = first if count else int(piece.rows["offset"][0])
        count += len(piece)
    return first, count


def overlapping(rows: Batches, start: int, end: int) -> Batches:
    """The rows that may hold offsets in [start, end): of compressed messages at its end one more than surely do."""
    low = int(rows["last_offset"].searchsorted(start))
    high = int(rows["base_offset"].searchsorted(end))
    if high < len(rows) and is_wrapped(rows[high : high + 1])[0]:
        before = int(rows["last_offset"][high - 1]) if high else -1
        high += before < end - 1
    return rows[low:high]
