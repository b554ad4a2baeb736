"""The records inside of batches, for `--deep`: each batch is unpacked, each record walked through.

Decoding itself finds what contradicts the format: payloads that cannot be unpacked, cut or overlong records, another
count than the header states, offsets out of order or outside of the batch. What is left is the header's timestamp.
Sources: DefaultRecordBatch, DefaultRecord, LogValidator.
"""

from collections.abc import Iterator

import numpy as np

from kafkafs.errors import TooLarge
from kafkafs.format.batch import batch_at
from kafkafs.format.records import Records, Refusal, decode
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.options import MAX_BATCH
from kafkafs.log.overlaps import reaches_beyond
from kafkafs.spark.audit.findings import Finding, Where

_LOG_APPEND_TIME = 8  # in a batch's attributes: the time is the batch's, and no record's
_NONE = np.iinfo(np.int64).min


def check_records(run: BatchRun, where: Where) -> Iterator[Finding]:
    """What is wrong inside of the batches of a run whose CRCs hold."""
    rows = run.rows
    largest = np.full(len(rows), _NONE, np.int64)
    for piece in decode(run.data, run.position, rows, MAX_BATCH):
        if isinstance(piece, Records):
            _note_largest(piece, largest)
            yield from _last_offset(run, piece, where)
            continue
        yield _refused(run, piece, where)
    told = (largest != _NONE) & (rows["magic"] >= 2) & (rows["attributes"] & _LOG_APPEND_TIME == 0)
    for row in np.flatnonzero(told & (largest != rows["max_timestamp"])).tolist():
        batch = batch_at(rows, row)
        yield where.finding(
            "record-timestamp", f"the largest timestamp of the batch's records is {largest[row]}, and its header states"
            f" {batch.max_timestamp}", position=batch.position, offset=batch.base_offset,
        )  # fmt: skip


def check_last_offsets(run: BatchRun, where: Where) -> Iterator[Finding]:
    """Which batches of a run hold records behind the last offset that their header states, as old clients left it."""
    for piece in decode(run.data, run.position, run.rows, MAX_BATCH):
        if isinstance(piece, Records):
            yield from _last_offset(run, piece, where)


def _last_offset(run: BatchRun, piece: Records, where: Where) -> Iterator[Finding]:
    if not reaches_beyond(piece, run.rows):
        return
    batch = batch_at(run.rows, int(piece.rows["batch"][-1]))
    yield where.finding(
        "last-offset", f"the batch claims the offsets {batch.base_offset} to {batch.last_offset} and holds records up"
        f" to {piece.rows['offset'][-1]}; each offset counts once, in the first batch that has it",
        position=batch.position, offset=batch.base_offset,
    )  # fmt: skip


def _note_largest(piece: Records, largest: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> None:
    """The largest timestamp of each batch so far: records of one batch stand together."""
    if not len(piece):
        return
    batches = piece.rows["batch"]
    firsts = np.flatnonzero(np.diff(batches, prepend=np.int32(-1)))
    found = np.maximum.reduceat(piece.rows["timestamp"], firsts)
    largest[batches[firsts]] = np.maximum(largest[batches[firsts]], found)


def _refused(run: BatchRun, refusal: Refusal, where: Where) -> Finding:
    batch = batch_at(run.rows, refusal.batch)
    kind = "too-large" if isinstance(refusal.error, TooLarge) else "records"
    return where.finding(
        kind, f"the batch (offsets {batch.base_offset} to {batch.last_offset}) has a true CRC, and gives no records:"
        f" {refusal.error}", position=batch.position, offset=batch.base_offset,
    )  # fmt: skip
