"""The view of a log under an isolation level: which batches, and which records of a batch.

Control records and, under read_committed, aborted transactions and what is behind the last stable offset are left
out. An unreadable batch is an error for a reader that goes on, or is passed over on request (`-o corrupt=skip`).
"""

import logging
from collections.abc import Iterator
from itertools import chain

import numpy as np

from kafkafs.disk.cached_value import made_once
from kafkafs.errors import CorruptData, TooLarge
from kafkafs.format.batch import Batch, Batches, batch_at, data_batches
from kafkafs.format.records import Records, Refusal, decode, stored_limit
from kafkafs.format.tables import chosen
from kafkafs.format.trace import Trace
from kafkafs.log.batch_runs import ANY_SIZE, BatchRun, Damage
from kafkafs.log.log import Log
from kafkafs.log.log_overlaps import LogOverlaps
from kafkafs.log.outcomes import Fate, OpenTransactions, Outcomes
from kafkafs.log.overlaps import NONE, fresh, overlapping
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.segment import ANY_OFFSET, Segment

logger = logging.getLogger(__name__)


class Visible:
    """One log under one set of options. Visible records are below the offset `end`."""

    def __init__(self, log: Log, options: ReadOptions, transactions: OpenTransactions) -> None:
        self.log = log
        self.options = options
        self._committed = options.isolation == "read_committed"
        self.overlaps = LogOverlaps(log, options.max_batch, options.memory)
        self._transactions = transactions

    @made_once
    def end(self) -> int:
        """The offset behind the last visible record."""
        return self._transactions.last_stable_offset(self.log) if self._committed else self.overlaps.end_offset

    def end_of_walk(self, offset: int) -> int:
        """The end of a walk from that offset: at `end`, which need not be found if the log goes on behind it."""
        return ANY_OFFSET if self.log.is_closed_at(offset) and not self._committed else self.end

    def batches(self, start: int, end: int, whole: bool = False) -> Iterator[tuple[Segment, BatchRun | Damage]]:
        """Yield everything that overlaps the offsets [start, end): damage, and runs with only the rows that a consumer
        sees. If a batch is too large to be decoded, only its header comes, unless batches have to be `whole`.
        CorruptData at a batch if damage hides whether its transaction was committed."""
        largest = ANY_SIZE if whole else stored_limit(self.options.max_batch)
        outcomes = Outcomes(self.log, lenient=self.options.corrupt_skip) if self._committed else None
        begin = self.overlaps.start_of(start)
        walked = self.log.walk(begin, end, self.options.corrupt_skip, largest)
        first = next(walked, None)
        earlier = self.overlaps.start_of(start)
        if earlier < begin:  # the batches on the way there gave reason to look
            begin, first = earlier, None
            walked = self.log.walk(earlier, end, self.options.corrupt_skip, largest)
        for segment, item in walked if first is None else chain((first,), walked):
            if isinstance(item, Damage):
                if item.last_offset >= start:
                    yield segment, item
                continue
            rows = data_batches(self._reaching(segment, overlapping(item.rows, begin, end), start))
            error: CorruptData | None = None
            if outcomes is not None and len(rows):
                fates = outcomes.fates(segment, rows)
                for first in np.flatnonzero(fates == Fate.UNKNOWN)[:1].tolist():
                    error = outcomes.unknown(batch_at(rows, first))
                    rows, fates = rows[:first], fates[:first]
                rows = chosen(rows, fates == Fate.SHOWN)
            if len(rows):
                yield segment, BatchRun(item.data, item.position, rows)
            if error is not None:
                raise error

    def _reaching(self, segment: Segment, rows: Batches, start: int) -> Batches:
        """The batches that hold `start` or a later offset, by their header or in truth."""
        if not len(rows) or rows["last_offset"][0] >= start or not (overlaps := self.overlaps.of(segment)):
            return rows
        return chosen(rows, (rows["last_offset"] >= start) | np.isin(rows["base_offset"], overlaps.bases))

    def decoded(self, segment: Segment, run: BatchRun) -> Iterator[Records | Refusal]:
        """All records of a run that `batches` gave, or of a part of it, in pieces: each offset from the first batch
        that has it."""
        overlaps = self.overlaps.of(segment)
        for piece in decode(run.data, run.position, run.rows, self.options.max_batch, self.options.memory):
            if isinstance(piece, Records):
                if overlaps is NONE and piece.reaches_beyond(run.rows):
                    segment.is_doubtful = True
                    overlaps = self.overlaps.of(segment)
                piece = piece if overlaps is NONE else fresh(piece, run.rows, overlaps)
            yield piece
            del piece  # and with it a large batch's memory, before the next is unpacked

    def records(self, segment: Segment, run: BatchRun) -> Iterator[Records]:
        """All records of a run, in pieces, as `decoded` has them. CorruptData or TooLarge if a batch cannot be
        decoded."""
        for piece in self.decoded(segment, run):
            if isinstance(piece, Refusal):
                self._pass_refusal(piece)
            else:
                yield piece
            del piece

    def first_record(self, segment: Segment, run: BatchRun, row: int, offset: int) -> Records | None:
        """For a batch that `batches` gave, return the first record at or behind `offset`, or None if it has none."""
        for piece in self.decoded(segment, BatchRun(run.data, run.position, run.rows[row : row + 1])):
            if isinstance(piece, Refusal):
                self._pass_refusal(piece)
                continue
            end = self.end_of_walk(int(run.rows["last_offset"][row]))
            kept = piece.between(max(offset, self.log.start_offset), end)
            if len(kept):
                return Records(kept.data, kept.rows[:1])
        return None

    def record_at_or_after(
        self,
        segment: Segment,
        batch: Batch,
        run: BatchRun,
        timestamp: int,
        outcomes: Outcomes | None,
        trace: Trace,
    ) -> Records | TooLarge | None:
        """Return the first visible record at or after `timestamp`, behind its predecessor if that was decoded with it.
        Return None if the batch has no such record, or is corrupt. TooLarge is a value, if the batch is too large.

        `batch` is below `end`, and `run` contains only that batch. `outcomes` must not have been asked about a later
        batch. Without `outcomes`, records of aborted transactions and markers count too.
        """
        base = batch.base_offset
        if batch.last_offset < self.log.start_offset:
            return None
        if batch.is_control and outcomes is not None:
            trace(f"passing over the control batch at offset {base}, which Kafka would answer with")
            return None
        if self._committed and outcomes is not None:
            fate = outcomes.fates(segment, run.rows)[0]
            if fate == Fate.UNKNOWN:
                raise outcomes.unknown(batch)
            if fate == Fate.ABORTED:
                trace(f"passing over the batch at offset {base}, which read_committed does not show")
                return None
        for piece in self.decoded(segment, run):
            if isinstance(piece, Refusal):
                if isinstance(piece.error, TooLarge):
                    return piece.error
                trace(f"passing over the batch at offset {base}: {piece.error}")
                return None
            kept = piece.between(self.log.start_offset, self.end)
            reaches = kept.rows["timestamp"] >= timestamp
            at = int(reaches.argmax()) if len(reaches) else 0
            if len(reaches) and reaches[at]:
                return Records(kept.data, kept.rows[max(0, at - 1) : at + 1])
        return None

    def _pass_refusal(self, refusal: Refusal) -> None:
        """Go on behind a corrupt batch under `corrupt=skip`, or raise. A batch too large to unpack is never skipped."""
        if not (self.options.corrupt_skip and isinstance(refusal.error, CorruptData)):
            raise refusal.error
        logger.warning("%s: passing over a corrupt batch: %s", self.log.name.directory, refusal.error)

    def pass_damage(self, segment: Segment, damage: Damage) -> None:
        """Go on behind the damage under `corrupt=skip`, or raises CorruptData."""
        message = f"{self.log.name.directory}: {segment.log_name}: {damage}"
        if not self.options.corrupt_skip:
            raise CorruptData(message)
        logger.warning("%s; reading on after them", message)
