"""The broker's notes beside a partition's log: where the log ended, its epochs and aborts. All of it may be damaged,
too."""

from collections.abc import Collection
from contextlib import suppress
from functools import cached_property
from itertools import pairwise

import numpy as np

from kafkafs.errors import CorruptData, DiskError, KafkafsError, NotFound
from kafkafs.format.checkpoints import LeaderEpoch, parse_leader_epochs
from kafkafs.format.names import CLEAN_SHUTDOWN, LEADER_EPOCHS, segment_file
from kafkafs.format.producer_snapshot import ProducerState
from kafkafs.format.transaction_index import ABORTED, ABORTED_SIZE, AbortedTransaction, parse_transaction_index
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition
from kafkafs.log.producer_snapshots import producers_at
from kafkafs.log.rebuilding import LARGEST_RELATIVE
from kafkafs.log.segment import Segment
from kafkafs.log.tiered import tiered_start

_REST = 4096


class BrokerNotes:
    """The notes beside one log."""

    def __init__(self, partition: Partition, log: Log) -> None:
        self._partition, self._log = partition, log

    @cached_property
    def end(self) -> int:
        """The offset at which the log ended: the high watermark, or where the last snapshot of producers that can be
        read was taken; 0 if it is unknown."""
        high = self._log.high_watermark or 0
        later = sorted((each for each in self._snapshots if each > high), reverse=True)
        return next((each for each in later if self.producers_at(each) is not None), high)

    @cached_property
    def _snapshots(self) -> Collection[int]:
        """The offsets of the snapshots of producers, as the directory is listed: most segments have none."""
        return self._partition.listing().producer_snapshots

    def producers_at(self, offset: int) -> tuple[ProducerState, ...] | None:
        """Return the producers at that offset, from a snapshot; None if there is no readable snapshot."""
        return producers_at(self._partition, offset) if offset in self._snapshots else None

    @cached_property
    def start(self) -> int | None:
        """Return the start of the log if its first segments are gone. Return None if the log begins there, or if
        it is unknown. The broker that deletes the first segments cuts the epochs off there, too. The log start covers
        the part in a tier."""
        epochs, log = self.epochs(), self._log
        is_recorded = not log.segments or log.start_offset <= (log.checkpoint_start or 0)
        if is_recorded or not epochs or tiered_start(log, self._partition.root) is not None:
            return None
        return epochs[0].start_offset if epochs[0].start_offset < log.start_offset else None

    def stopped_in_order(self) -> bool:
        """True if the broker stopped in order, so that its notes are complete."""
        try:
            self._partition.root.stat(CLEAN_SHUTDOWN)
        except KafkafsError:
            return False
        return True

    def epochs(self) -> tuple[LeaderEpoch, ...]:
        """The epochs of leaders; none if the file cannot be true."""
        try:
            known = parse_leader_epochs(self._partition.read_small_file(LEADER_EPOCHS))
        except (NotFound, DiskError, CorruptData):
            return ()
        ascends = all(one.epoch < two.epoch and one.start_offset <= two.start_offset for one, two in pairwise(known))
        return known if ascends else ()

    def aborts_without_log(self, first: int, last: int) -> list[AbortedTransaction]:
        """Return the entries of transaction indexes whose log is gone, within these offsets."""
        found = list[AbortedTransaction]()
        for base in self._partition.listing().logless:
            with suppress(NotFound, DiskError, CorruptData):
                found += parse_transaction_index(self._partition.read_small_file(segment_file(base, "txnindex")), base)
        return [each for each in found if first <= each.last_offset <= last]

    def possible(self, segment: Segment, run: BatchRun, next_offset: int) -> int:
        """How many batches of the run, from the first on, can have the offsets that they state.

        A base offset is under no CRC, and behind the last batch nothing contradicts it. It cannot be true if no index
        could point to it. In a log that nothing was compacted in yet, it cannot be true behind offsets that nobody has
        (`next_offset` is the first one) if the broker recorded that the log ended before.
        """
        rows, count = run.rows, len(run.rows)
        if run.last_offset - segment.base_offset > LARGEST_RELATIVE:  # offsets rise
            count = int(np.argmin(rows["last_offset"] - segment.base_offset <= LARGEST_RELATIVE))
        elif segment.next_base is None and 0 < self.end <= rows["base_offset"][-1] and self.stopped_in_order():
            before = int(rows["last_offset"][-2]) + 1 if count > 1 else next_offset
            count -= int(rows["base_offset"][-1] > before)
        return count


def aborts(segment: Segment) -> tuple[AbortedTransaction, ...]:
    """Return the broker's notes about aborts in a segment. If they cannot be read, return none."""
    try:
        return parse_transaction_index(brokers_aborts(segment), segment.base_offset)
    except (CorruptData, DiskError, NotFound):
        return ()


def brokers_aborts(segment: Segment) -> bytes:
    """The broker's own transaction index of a segment; CorruptData if it cannot be true."""
    data = segment.read_small_file(segment.name_of("txnindex"))
    data = data[: len(data) // ABORTED_SIZE * ABORTED_SIZE]
    parse_transaction_index(data, segment.base_offset)
    return data


def with_brokers_aborts(segment: Segment, rebuilt: bytes, end: int) -> bytes:
    """Return a rebuilt transaction index with the broker's own entries, which count where markers may be lost. `end`:
    where the log ends now."""
    try:
        brokers_entries = np.frombuffer(brokers_aborts(segment), ABORTED)
    except (CorruptData, DiskError, NotFound):
        return rebuilt
    entries = {int(each["last"]): each for each in (*np.frombuffer(rebuilt, ABORTED), *brokers_entries)}
    return np.array([entries[last] for last in sorted(entries) if last < end], ABORTED).tobytes()


def has_rest(log: Log, segment: Segment) -> bool:
    """True if bytes follow the log's last batch, as after an interrupted write."""
    end, file = log.walk_end(segment), segment.log()
    return any(file.read(end, min(_REST, file.size - end)))
