"""The broker's knowledge of producers at a partition's end, as in DescribeProducers.

The broker writes what it knows of producers into a `.snapshot` when a segment begins, and at a clean stop for the log
end; from the newest one on the batches tell the rest. Sources: ProducerStateManager, ProducerAppendInfo.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from kafkafs.format.batch import Batches, is_control, is_transactional
from kafkafs.format.control import coordinator_epoch
from kafkafs.format.producer_snapshot import ProducerState
from kafkafs.format.tables import chosen
from kafkafs.log.batch_runs import BatchRun, Start
from kafkafs.log.log import Log
from kafkafs.log.partition import Partition
from kafkafs.log.producer_snapshots import producers_at
from kafkafs.log.segment_search import scan_start
from kafkafs.log.transaction_events import marker_records

_NOTHING = (-1, -1, 0)  # sequence, offset, delta of a producer without a batch that counts
_LARGEST_SEQUENCE = 2**31 - 1


class ProducerStates:
    """The knowledge of a partition's producers as batches pass by. `states` has each producer by its id.

        states = ProducerStates(parse_producer_snapshot(...))     as of some offset
        states.follow(run)                                        the batches from there on

    A batch gives sequence and epoch, the first one of a transaction where it began, a marker where it ended. A marker
    that compaction emptied gives nothing. Source: ProducerStateEntry.
    """

    def __init__(self, known: Iterable[ProducerState] = ()) -> None:
        self.states = {each.producer_id: each for each in known}

    def follow(self, run: BatchRun, first: int = 0) -> None:
        """Takes the batches of a run into account that begin at offset `first` or behind it."""
        rows = run.rows
        rows = chosen(rows, (rows["magic"] >= 2) & (rows["producer_id"] >= 0) & (rows["base_offset"] >= first))
        if not len(rows):
            return
        control = is_control(rows)
        if not control.any() and (rows["producer_id"] == rows["producer_id"][0]).all():
            self._take(rows, control, [])  # most are like that
            return
        counts = np.zeros(len(rows), np.bool_)
        counts[~control] = True
        epochs: dict[int, int] = {}
        numbers = np.flatnonzero(control)
        for marker, epoch in _coordinator_epochs(run, chosen(rows, control)):
            counts[numbers[marker]] = True
            if epoch is not None:
                epochs[int(numbers[marker])] = epoch
        rest = np.flatnonzero(counts)
        by_producer = rest[np.argsort(rows["producer_id"][rest], kind="stable")]
        borders = np.flatnonzero(np.diff(rows["producer_id"][by_producer])) + 1
        for own in np.split(by_producer, borders):
            if len(own):
                self._take(
                    chosen(rows, own), control[own], [epochs.get(number, -1) for number in own[control[own]].tolist()]
                )

    def _take(self, rows: Batches, control: "np.ndarray", epochs: list[int]) -> None:
        """One producer's batches and markers in order; `epochs` are those of the coordinators behind the markers."""
        producer_id, epoch = int(rows["producer_id"][0]), int(rows["producer_epoch"][-1])
        before = self.states.get(producer_id) or ProducerState(producer_id, epoch, *_NOTHING, -1, -1, -1)
        sequence, offset, delta = before.last_sequence, before.last_offset, before.offset_delta
        of_epoch = before.producer_epoch
        data = np.flatnonzero(~control)
        if len(data):
            last = rows[data[-1]]
            delta = int(last["last_offset"]) - int(last["base_offset"])
            sequence, offset = _last_sequence(int(last["base_sequence"]), delta), int(last["last_offset"])
            of_epoch = int(last["producer_epoch"])
        if of_epoch != epoch:  # the last batch has an earlier epoch: no batch of this epoch has come
            sequence, offset, delta = _NOTHING
        first = before.transaction_first_offset
        ended = np.flatnonzero(control)
        behind = int(ended[-1]) + 1 if len(ended) else 0
        if len(ended):
            first = -1
        begun = np.flatnonzero(is_transactional(rows[behind:]))
        if first < 0 and len(begun):
            first = int(rows["base_offset"][behind + int(begun[0])])
        coordinators = [each for each in epochs if each >= 0]
        self.states[producer_id] = ProducerState(
            producer_id, epoch, sequence, offset, delta, int(rows["max_timestamp"][-1]),
            coordinators[-1] if coordinators else before.coordinator_epoch, first,
        )  # fmt: skip


def _last_sequence(base: int, delta: int) -> int:
    """The last sequence number of a batch. The numbers go round: 0 follows the largest int32."""
    return -1 if base < 0 else (base + delta) % (_LARGEST_SEQUENCE + 1)


def _coordinator_epochs(run: BatchRun, markers: Batches) -> Iterator[tuple[int, int | None]]:
    """(row, epoch) of each of these markers that says something; of one whose value is cut, None."""
    for piece in marker_records(run, markers):
        for at, marker in enumerate(piece.rows["batch"].tolist()):
            yield marker, coordinator_epoch(piece.value(at) or b"")


def producers_at_end(partition: Partition, log: Log) -> list[ProducerState]:
    """The producers at the end of `log`, by id: the newest snapshot, and what the batches behind it tell. Records below
    the log start count, because a marker may be there, and a broker knows where an open transaction began."""
    first, known = _newest_snapshot(partition, log)
    producers = ProducerStates(known)
    for run in _runs(log, first):
        producers.follow(run, first)
    return sorted(producers.states.values(), key=lambda each: each.producer_id)


def _newest_snapshot(partition: Partition, log: Log) -> tuple[int, tuple[ProducerState, ...]]:
    """The offset of the newest snapshot that can be read, and the producers in it; of none, the log's first."""
    begins = log.segments[0].base_offset if log.segments else log.start_offset
    for offset in sorted(partition.listing().producer_snapshots, reverse=True):
        known = producers_at(partition, offset) if begins <= offset <= log.end_offset else None
        if known is not None:
            return offset, known
    return begins, ()


def _runs(log: Log, first: int) -> Iterator[BatchRun]:
    """All from that offset on."""
    for segment in log.readable_from(first) if first < log.end_offset else ():
        begin = scan_start(segment, first) if segment.base_offset < first else Start(0, segment.base_offset)
        yield from (item for item in segment.walk(begin, log.walk_end(segment), first) if isinstance(item, BatchRun))
