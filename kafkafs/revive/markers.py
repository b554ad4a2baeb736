"""Ends of transactions that are lost with damaged bytes, as far as other data shows them.

Without the marker of a commit, its transaction is open for ever, and readers of committed records stop there. Without
the marker of an abort, they leave out what its producer committed later, too. The transaction index lists the aborted
transactions. A transaction was committed if it is over and neither recorded as aborted nor ended by a marker behind.

As of a moment, a transaction may be open of which its coordinator knew nothing yet, because records are appended after
the time that they tell. Nobody would ever end that transaction, so it is aborted.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from kafkafs.format.batch import batch_bytes, is_control
from kafkafs.format.control import ControlType, transaction_marker
from kafkafs.format.producer_snapshot import ProducerState
from kafkafs.format.tables import chosen
from kafkafs.format.transaction_index import AbortedTransaction
from kafkafs.log.batch_runs import BatchRun, Damage
from kafkafs.log.transaction_events import Event, events

IsOver = Callable[[int], bool]
"""Says if a producer's transaction without an end in the log has had an end."""


class AskCoordinators(Protocol):
    """Says if a producer's transaction has had an end, as the coordinators know it of one partition. `ended_ms`: when
    the producer's transaction before that ended there, 0 for never."""

    def __call__(self, producer_id: int, ended_ms: int = 0) -> bool:
        """True if no replica has it."""


def no_coordinator(producer_id: int, ended_ms: int = 0) -> bool:  # noqa: ARG001
    """The answer without coordinators."""
    return False


class Marker(NamedTuple):
    """An end of a transaction, and the offset at which it is to stand."""

    offset: int
    producer_id: int
    is_abort: bool


def lost_between(
    first: int,
    last: int,
    begun: Mapping[int, int],
    aborted: Sequence[AbortedTransaction],
    behind: Mapping[int, Event],
    is_over: IsOver,
) -> list[Marker]:
    """The markers among the lost offsets `first` to `last`. `begun`: the transactions open before, producer to first
    offset; `behind`: what follows of them, see `next_events`."""
    found = {each.last_offset: Marker(each.last_offset, each.producer_id, is_abort=True)
             for each in aborted if first <= each.last_offset <= last}  # fmt: skip
    still = dict(begun)

    def commit(producer_id: int, limit: int) -> None:
        at = next((at for at in range(limit, first - 1, -1) if at not in found), None)
        if at is not None:
            found[at] = Marker(at, producer_id, is_abort=False)

    for each in aborted:
        if first <= each.last_offset <= last and still.pop(each.producer_id, each.first_offset) < each.first_offset:
            commit(each.producer_id, each.first_offset - 1)
    aborts = {each.last_offset: each.first_offset for each in aborted}
    for producer_id, begun_at in still.items():
        event = behind.get(producer_id)
        if event is None and is_over(producer_id):
            commit(producer_id, last)
        elif event is not None and event.kind == "abort" and aborts.get(event.offset, -1) > begun_at:
            commit(producer_id, min(last, aborts[event.offset] - 1))
    return sorted(found.values())


def next_events(items: Iterable[BatchRun | Damage], producers: set[int]) -> dict[int, Event]:
    """Return, for each of these producers, the next end of a transaction. Without an end, return one of its batches, if
    there is one."""
    found: dict[int, Event] = {}
    left = set(producers)
    for item in items if left else ():
        for event in events(item) if isinstance(item, BatchRun) else ():
            if event.producer in left:
                found[event.producer] = event
                left -= {event.producer} if event.kind != "begin" else set()
        if not left:
            break
    return found


def lost_behind(
    end: int,
    begun: Mapping[int, int],
    aborted: Iterable[AbortedTransaction],
    behind: Mapping[int, Event],
    is_over: IsOver,
) -> list[Marker]:
    """Markers of a log that is not kept from offset `end` on. `aborted`: what was aborted there. `behind`: what can be
    read there of the transactions open before, see `next_events`."""
    next_aborts: dict[int, int] = {}
    for each in aborted:
        if each.last_offset >= end:
            next_aborts.setdefault(each.producer_id, each.first_offset)
    made: list[Marker] = []
    for producer_id, begun_at in sorted(begun.items(), key=lambda item: item[1]):
        aborted_from, event = next_aborts.get(producer_id), behind.get(producer_id)
        has_ended = event is not None and event.kind != "begin"
        if aborted_from is not None or has_ended or is_over(producer_id):
            is_abort = event is not None and event.kind == "abort" if aborted_from is None else aborted_from <= begun_at
            made.append(Marker(end + len(made), producer_id, is_abort))
    return made


def written(run: BatchRun) -> dict[int, int]:
    """When the run's ends of transactions were written, of each producer the last one's time."""
    rows = chosen(run.rows, is_control(run.rows))
    return dict(zip(rows["producer_id"].tolist(), rows["max_timestamp"].tolist(), strict=True)) if len(rows) else {}


def ended_by(
    until_ms: int,
    end: int,
    begun: Collection[int],
    behind: Iterable[BatchRun | Damage],
    is_unknown: AskCoordinators,
    ended_ms: Mapping[int, int],
) -> list[Marker]:
    """Return the markers that were written by a moment, and an abort of each transaction of which no coordinator knew
    then. The log ends at `end` before these markers, because a producer whose clock is ahead gave a record a later
    time. Brokers' own clocks give the times of markers. `ended_ms`: when one of the producer ended before, see
    `written`."""
    left, ends = {*begun}, dict[int, bool]()
    for run in behind:
        if not left:
            break
        if isinstance(run, Damage):
            continue
        rows = chosen(run.rows, is_control(run.rows))
        times = dict(zip(rows["last_offset"].tolist(), rows["max_timestamp"].tolist(), strict=True))
        for event in events(run._replace(rows=rows)):
            if event.producer in left:
                left.discard(event.producer)
                if times[event.offset] <= until_ms:
                    ends[event.producer] = event.kind == "abort"
    ends |= {each: True for each in sorted({*begun} - ends.keys()) if is_unknown(each, ended_ms.get(each, 0))}
    return [Marker(end + number, producer_id, is_abort) for number, (producer_id, is_abort) in enumerate(ends.items())]


def marker_bytes(marker: Marker, known: ProducerState | None, leader_epoch: int) -> bytes:
    """The batch. `known`: what is known of its producer there; None if all that was is lost."""
    kind = ControlType.ABORT if marker.is_abort else ControlType.COMMIT
    epoch, coordinator, timestamp = (0, 0, -1) if known is None else (
        known.producer_epoch, max(0, known.coordinator_epoch), known.timestamp,
    )  # fmt: skip
    return batch_bytes(
        [transaction_marker(kind, coordinator)], marker.offset, timestamp=timestamp, leader_epoch=leader_epoch,
        is_control=True, producer=(marker.producer_id, epoch),
    )  # fmt: skip
