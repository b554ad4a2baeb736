"""Transactions as they are followed through batches: where each begins, where its marker stands, what it leaves open.

A transaction may begin some segments before its marker; so a segment tells its events, and a tracker follows those of
all segments in order. Sources: ProducerStateManager, ProducerAppendInfo.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from kafkafs.format.batch import is_control, is_transactional
from kafkafs.format.control import ControlType
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.outcomes import EMPTIED, marker_types

Kind = Literal["begin", "commit", "abort", "emptied"]
_KINDS: dict[int, Kind] = {ControlType.ABORT: "abort", EMPTIED: "emptied"}  # anything else commits


class Event(NamedTuple):
    """A producer's first batch behind a marker of its own, or a marker; "emptied" is one that compaction emptied."""

    offset: int
    producer: int
    kind: Kind


class Aborted(NamedTuple):
    """What the transaction index tells of an abort. `first` is None where no data of the producer was seen."""

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
        """Take the event into account; what was aborted by it."""
        if event.kind == "begin":
            self.open.setdefault(event.producer, event.offset)
            return None
        first = self.open.pop(event.producer, None)
        if event.kind != "abort":
            return None
        return Aborted(event.producer, first, event.offset, min(self.open.values(), default=event.offset + 1))
