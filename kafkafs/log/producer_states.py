"""What a broker knows of a partition's producers, as batches pass by: what it keeps in a `.snapshot`.

    states = ProducerStates(parse_producer_snapshot(...))     as of some offset
    states.follow(run)                                        the batches from there on

A batch tells sequence and epoch, the first one of a transaction where it began, a marker where it ended. A marker that
compaction emptied tells nothing. Sources: ProducerStateManager, ProducerAppendInfo, ProducerStateEntry.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from kafkafs.format.batch import Batches, is_control, is_transactional
from kafkafs.format.control import coordinator_epoch
from kafkafs.format.producer_snapshot import ProducerState
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.transactions import marker_records

_NOTHING = (-1, -1, 0)  # sequence, offset, delta of a producer without a batch that counts
_LARGEST_SEQUENCE = 2**31 - 1


class ProducerStates:
    """See the module. `states` has each producer by its id."""

    def __init__(self, known: Iterable[ProducerState] = ()) -> None:
        self.states = {each.producer_id: each for each in known}

    def follow(self, run: BatchRun, first: int = 0) -> None:
        """Takes the batches of a run into account that begin at offset `first` or behind it."""
        rows = run.rows[(run.rows["magic"] >= 2) & (run.rows["producer_id"] >= 0) & (run.rows["base_offset"] >= first)]
        if not len(rows):
            return
        control = is_control(rows)
        told = np.zeros(len(rows), np.bool_)
        told[~control] = True
        epochs: dict[int, int] = {}
        numbers = np.flatnonzero(control)
        for marker, epoch in _coordinator_epochs(run, rows[control]):
            told[numbers[marker]] = True
            if epoch is not None:
                epochs[int(numbers[marker])] = epoch
        rest = np.flatnonzero(told)
        by_producer = rest[np.argsort(rows["producer_id"][rest], kind="stable")]
        borders = np.flatnonzero(np.diff(rows["producer_id"][by_producer])) + 1
        for own in np.split(by_producer, borders):
            if len(own):
                self._take(rows[own], control[own], [epochs.get(number, -1) for number in own[control[own]].tolist()])

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
        if of_epoch != epoch:  # of an epoch before: no batch of this one has come
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
    """They go round: 0 follows the largest int32."""
    return -1 if base < 0 else (base + delta) % (_LARGEST_SEQUENCE + 1)


def _coordinator_epochs(run: BatchRun, markers: Batches) -> Iterator[tuple[int, int | None]]:
    """(row, epoch) of each of these markers that says something; of one whose value is cut, None."""
    for piece in marker_records(run, markers):
        for at, marker in enumerate(piece.rows["batch"].tolist()):
            yield marker, coordinator_epoch(piece.value(at) or b"")
