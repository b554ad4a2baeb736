"""Markers, and the transactions that batches begin and end, as the batches pass by.

A transaction may begin some segments before its marker; so a segment gives its events, and a tracker follows those of
all segments in order. Sources: ProducerStateManager, ProducerAppendInfo, TransactionIndex.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import numpy as np

from kafkafs.format.batch import Batches, is_control, is_transactional
from kafkafs.format.control import ControlType, control_types
from kafkafs.format.records import Records, Refusal, decode
from kafkafs.log.batch_runs import BatchRun

EMPTIED = -2
"""In the place of a control type: a marker that says nothing any more."""

MARKER_LIMIT = 1 << 20
"""Bytes that a batch with a marker may unpack to."""


def marker_types(run: BatchRun, rows: Batches) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    """The `ControlType` of each of these control batches; EMPTIED where compaction left nothing or it cannot be read.

    One that is emptied ends a transaction without aborting it: the cleaner drops an aborted transaction's data before
    its marker.
    """
    found = np.full(len(rows), EMPTIED, np.int16)
    for piece in marker_records(run, rows):
        found[piece.rows["batch"]] = control_types(piece)
    return found


def marker_records(run: BatchRun, rows: Batches) -> Iterator[Records]:
    """The records of these control batches, in pieces; none of one that compaction emptied, or that cannot be read."""
    for piece in decode(run.data, run.position, rows, MARKER_LIMIT):
        if not isinstance(piece, Refusal):
            yield piece


EventKind = Literal["begin", "commit", "abort", "emptied"]
_KINDS: dict[int, EventKind] = {ControlType.ABORT: "abort", EMPTIED: "emptied"}  # anything else commits


class Event(NamedTuple):
    """A producer's first batch behind a marker of its own, or a marker; "emptied" is one that compaction emptied."""

    offset: int
    producer: int
    kind: EventKind


class Aborted(NamedTuple):
    """An abort by the transaction index. `first` is None if no data of the producer was seen."""

    producer: int
    first: int | None
    last: int
    stable: int  # the last stable offset behind it


def events(run: BatchRun) -> list[Event]:
    """The events of a run of batches, in order. A transaction that goes on begins once more in each run."""
    rows = run.rows
    transactional = np.flatnonzero(is_transactional(rows))
    if not len(transactional):
        return []
    control = is_control(rows)
    producers = rows["producer_id"][transactional]
    by_producer = np.argsort(producers, kind="stable")
    follows_own = np.diff(producers[by_producer], prepend=producers[by_producer[:1]] - 1) == 0
    behind_data = np.concatenate(([False], ~control[transactional[by_producer[:-1]]]))
    goes_on = np.empty(len(transactional), np.bool_)
    goes_on[by_producer] = follows_own & behind_data
    found, types = [], iter(marker_types(run, rows[transactional[control[transactional]]]).tolist())
    for row in transactional[control[transactional] | ~goes_on].tolist():
        producer = int(rows["producer_id"][row])
        if control[row]:
            found.append(Event(int(rows["last_offset"][row]), producer, _KINDS.get(next(types), "commit")))
        else:
            found.append(Event(int(rows["base_offset"][row]), producer, "begin"))
    return found


class Tracker:
    """The transactions that are open as events pass by in the order of offsets."""

    def __init__(self, begun: Mapping[int, int] | None = None) -> None:
        """`begun`: those open before the first event, producer to first offset."""
        self.open = dict(begun or {})

    def follow(self, event: Event) -> Aborted | None:
        """Takes the event into account; what was aborted by it."""
        if event.kind == "begin":
            self.open.setdefault(event.producer, event.offset)
            return None
        first = self.open.pop(event.producer, None)
        if event.kind != "abort":
            return None
        return Aborted(event.producer, first, event.offset, min(self.open.values(), default=event.offset + 1))
