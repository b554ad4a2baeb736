"""A segment's log: every CRC, size and order of offsets. The valid batches are handed on for the checks of the indexes.

In the last segment, bytes that nothing valid follows are where a broker is writing, or was when it was killed, and no
finding; after a clean stop, or where a batch is there whole and its CRC fails, they are one.

For `--deep` each batch is unpacked, each record walked through. Decoding itself finds what contradicts the format:
payloads that cannot be unpacked, cut or overlong records, another count than the header states, offsets out of order or
outside of the batch. Only the header's timestamp is left. Sources: DefaultRecordBatch, DefaultRecord, LogValidator.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from kafkafs.errors import KafkafsError, TooLarge, Vanished
from kafkafs.format.batch import APPEND_TIME, LARGEST_HEADER, Batch, Batches, batch_at, crc_holds, parse_batch
from kafkafs.format.records import Records, Refusal, decode
from kafkafs.format.tables import Numbers, chosen
from kafkafs.log.batch_runs import BatchRun, Damage
from kafkafs.log.read_options import MAX_BATCH
from kafkafs.log.segment import Segment
from kafkafs.log.transaction_events import Event, events
from kafkafs.spark.audit.findings import CheckedFile, Finding
from kafkafs.spark.segment_units import SegmentLook

_COLUMNS = ("position", "base_offset", "last_offset", "max_timestamp")
_LARGEST_CHECKED = 64 << 20


@dataclass(slots=True)
class ValidBatches:
    """The valid batches of a segment, in order: a column for each thing that an index may speak of."""

    positions: Numbers
    base_offsets: Numbers
    last_offsets: Numbers
    max_timestamps: Numbers
    end: int  # position behind the last of them
    epochs: list[tuple[int, int, int]] = field(default_factory=list)  # (leader epoch, first and last offset under it)
    events: list[Event] = field(default_factory=list)
    damaged: bool = False

    @property
    def has_gaps(self) -> bool:
        """True if offsets are missing before or between the batches, as compaction leaves them."""
        return bool((self.base_offsets[1:] != self.last_offsets[:-1] + 1).any())


def check_log(
    look: SegmentLook, where: CheckedFile, clean: bool, deep: bool = False
) -> tuple[list[Finding], ValidBatches]:
    """Walk the whole log. `clean`: the broker was stopped in an orderly way. `deep`: check each record."""
    return _Walk(look, where, clean, deep).walk()


class _Walk:
    def __init__(self, look: SegmentLook, where: CheckedFile, clean: bool, deep: bool) -> None:
        self._look, self._where, self._clean, self._deep = look, where, clean, deep
        self._segment = look.segment
        self._findings: list[Finding] = []
        self._columns: list[tuple[Numbers, ...]] = []
        nothing: Numbers = np.empty(0, np.int64)
        self._valid = ValidBatches(nothing, nothing, nothing, nothing, end=0)

    def walk(self) -> tuple[list[Finding], ValidBatches]:
        """The findings about the log, and its valid batches. Called once."""
        valid, size = self._valid, self._look.size
        for item in self._look.runs():
            if isinstance(item, Damage):
                self._findings += map(self._damage, self._each(item))
                valid.damaged = True
            else:
                self._take(item)
            valid.end = item.end
        if self._segment.next_base is None and valid.end < size:
            self._tail(valid.end, size)
        if self._columns:
            columns = (np.concatenate(column) for column in zip(*self._columns, strict=True))
            valid.positions, valid.base_offsets, valid.last_offsets, valid.max_timestamps = columns
        return self._findings, valid

    def _take(self, item: BatchRun) -> None:
        rows = item.rows
        if self._deep:
            self._findings += check_records(item, self._where)
        self._columns.append(tuple(rows[name].copy() for name in _COLUMNS))
        v2 = rows["magic"] >= 2
        if not v2.any():
            return
        rows = chosen(rows, v2)
        self._counts(item, rows)
        self._epochs(rows)
        self._valid.events += events(item)

    def _counts(self, item: BatchRun, rows: Batches) -> None:
        """Headers that state more records than offsets: harmless, where the records are there and merely go on."""
        span = rows["last_offset"] - rows["base_offset"] + 1
        for row in np.flatnonzero((rows["count"] < 0) | (rows["count"] > span)).tolist():
            reached = list(check_last_offsets(item._replace(rows=rows[row : row + 1]), self._where))
            if reached:
                self._findings += [] if self._deep else reached  # else they are reported already
                continue
            batch = batch_at(rows, row)
            self._findings.append(self._where.finding(
                "record-count", f"the batch states {batch.count} records and has room for {span[row]} offsets",
                position=batch.position, offset=batch.base_offset,
            ))  # fmt: skip

    def _epochs(self, rows: Batches) -> None:
        epochs = self._valid.epochs
        borders = np.flatnonzero(np.diff(rows["leader_epoch"], prepend=np.int32(-2)))
        for first, stop in zip(borders.tolist(), [*borders[1:].tolist(), len(rows)], strict=True):
            epoch = int(rows["leader_epoch"][first])
            begin, last = int(rows["base_offset"][first]), int(rows["last_offset"][stop - 1])
            if epochs and epochs[-1][0] == epoch:
                epochs[-1] = (epoch, epochs[-1][1], last)
                continue
            if epochs and epoch < epochs[-1][0]:
                self._findings.append(self._where.finding(
                    "leader-epoch", f"leader epoch {epoch} follows {epochs[-1][0]}: epochs never go back",
                    position=int(rows["position"][first]), offset=begin,
                ))  # fmt: skip
            epochs.append((epoch, begin, last))

    def _each(self, item: Damage) -> list[Damage]:
        """`item` batch by batch, where such are in it end to end and their offsets ascend; else all of it."""
        file, position = self._segment.log(), item.position
        batches: list[Batch] = []
        try:
            while position < item.end:
                batch = parse_batch(file.read(position, LARGEST_HEADER), 0, position)
                least = batches[-1].base_offset + 1 if batches else item.base_offset
                if batch is None or batch.end > item.end or not least <= batch.base_offset <= item.last_offset:
                    return [item]
                batches.append(batch)
                position = batch.end
        except KafkafsError:
            return [item]
        borders = [item.base_offset, *(batch.base_offset for batch in batches[1:]), item.last_offset + 1]
        spans = zip(batches, pairwise(borders), strict=True)
        return [Damage(batch.position, batch.size, first, stop - 1) for batch, (first, stop) in spans]

    def _damage(self, item: Damage) -> Finding:
        kind, why = self._reason(item)
        own = "no offset"  # if a later batch has all of them
        if item.last_offset >= item.base_offset:
            own = f"the offsets {item.base_offset} to {item.last_offset}"
        return self._where.finding(
            kind, f"{item.size} bytes {why}; they own {own}",
            position=item.position, offset=item.base_offset,
        )  # fmt: skip

    def _reason(self, item: Damage) -> tuple[str, str]:
        file = self._segment.log()
        try:
            data = file.read(item.position, LARGEST_HEADER)
            batch = parse_batch(data, 0, item.position)
            if batch is None:
                return "not-a-batch", "are not a batch"
            if batch.end > file.size:
                return "cut-batch", f"are a batch of {batch.size} bytes that is cut"
            if batch.size <= _LARGEST_CHECKED and not crc_holds(batch, file.read(batch.position, batch.size)):
                return "crc", f"hold a batch (offsets {batch.base_offset} to {batch.last_offset}) whose CRC fails"
            return (
                "offset-order",
                f"hold a batch whose offsets {batch.base_offset} to {batch.last_offset} contradict its neighbours",
            )
        except KafkafsError:
            return "not-a-batch", "cannot be read"

    def _tail(self, end: int, size: int) -> None:
        """Return the finding about the bytes behind the last valid batch of the last segment."""
        file = self._segment.log()
        data = file.read(end, min(LARGEST_HEADER, size - end))
        batch = parse_batch(data, 0, end)
        whole = batch is not None and batch.end <= size
        if whole and batch is not None:
            closing = file.read(max(batch.position, batch.end - 16), 16)
            whole = any(closing)  # a write that was cut short ends in zeros
        if not (self._clean or whole) or (self._clean and not whole and not _any(self._segment, end, size)):
            return
        if not self._segment.is_as_seen(file):
            raise Vanished(f"{file.name!r} was written while it was read: what ended it may be a whole batch by now")
        kind, why = "invalid-tail", "are not a valid batch"
        if whole and batch is not None:
            kind, why = self._reason(Damage(end, size - end, batch.base_offset, batch.last_offset))
        self._findings.append(self._where.finding(
            kind, f"the last {size - end} bytes {why}", position=end,
            offset=None if batch is None else batch.base_offset,
        ))  # fmt: skip
        self._valid.damaged = True


def _any(segment: Segment, start: int, end: int) -> bool:
    """True if anything but zeros follows: a preallocated log is trimmed at a clean stop only."""
    file = segment.log()
    return any(any(file.read(position, min(1 << 20, end - position))) for position in range(start, end, 1 << 20))


_NONE = np.iinfo(np.int64).min


def check_records(run: BatchRun, where: CheckedFile) -> Iterator[Finding]:
    """The findings inside the batches of a run whose CRCs hold."""
    rows = run.rows
    largest = np.full(len(rows), _NONE, np.int64)
    for piece in decode(run.data, run.position, rows, MAX_BATCH):
        if isinstance(piece, Records):
            _note_largest(piece, largest)
            yield from _last_offset(run, piece, where)
            continue
        yield _refused(run, piece, where)
    stated = (largest != _NONE) & (rows["magic"] >= 2) & (rows["attributes"] & APPEND_TIME == 0)
    for row in np.flatnonzero(stated & (largest != rows["max_timestamp"])).tolist():
        batch = batch_at(rows, row)
        yield where.finding(
            "record-timestamp", f"the largest timestamp of the batch's records is {largest[row]}, and its header states"
            f" {batch.max_timestamp}", position=batch.position, offset=batch.base_offset,
        )  # fmt: skip


def check_last_offsets(run: BatchRun, where: CheckedFile) -> Iterator[Finding]:
    """A mask of the batches of a run that hold records behind the last offset of their header, as old clients left
    it."""
    for piece in decode(run.data, run.position, run.rows, MAX_BATCH):
        if isinstance(piece, Records):
            yield from _last_offset(run, piece, where)


def _last_offset(run: BatchRun, piece: Records, where: CheckedFile) -> Iterator[Finding]:
    if not piece.reaches_beyond(run.rows):
        return
    batch = batch_at(run.rows, int(piece.rows["batch"][-1]))
    yield where.finding(
        "last-offset", f"the batch claims the offsets {batch.base_offset} to {batch.last_offset} and holds records up"
        f" to {piece.rows['offset'][-1]}; each offset counts once, in the first batch that has it",
        position=batch.position, offset=batch.base_offset,
    )  # fmt: skip


def _note_largest(piece: Records, largest: Numbers) -> None:
    """The largest timestamp of each batch so far: records of one batch are together."""
    if not len(piece):
        return
    batches = piece.rows["batch"]
    firsts = np.flatnonzero(np.diff(batches, prepend=np.int32(-1)))
    found = np.maximum.reduceat(piece.rows["timestamp"], firsts)
    largest[batches[firsts]] = np.maximum(largest[batches[firsts]], found)


def _refused(run: BatchRun, refusal: Refusal, where: CheckedFile) -> Finding:
    batch = batch_at(run.rows, refusal.batch)
    kind = "too-large" if isinstance(refusal.error, TooLarge) else "records"
    return where.finding(
        kind, f"the batch (offsets {batch.base_offset} to {batch.last_offset}) has a true CRC, and gives no records:"
        f" {refusal.error}", position=batch.position, offset=batch.base_offset,
    )  # fmt: skip
