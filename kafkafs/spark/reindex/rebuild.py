"""One segment of a job, indexed anew as LogSegment.recover does: up to the first batch that is not valid."""

from collections.abc import Iterable, Iterator

from kafkafs.errors import CorruptData, NotFound
from kafkafs.format.names import segment_file
from kafkafs.format.producer_snapshot import open_transactions
from kafkafs.log.batch_runs import BatchRun, Damage
from kafkafs.log.rebuilding import Indexes, Rebuilding, follow
from kafkafs.log.segment import Segment
from kafkafs.log.transaction_events import Tracker
from kafkafs.spark.segments import SegmentSnapshot


def rebuild(snapshot: SegmentSnapshot, interval: int) -> Indexes:
    """The indexes of one segment."""
    rebuilding = Rebuilding(snapshot.segment.base_offset, interval, tracker_at(snapshot))
    for run in _valid(snapshot.runs()):
        if rebuilding.take(run) is not run:
            break
    return rebuilding.finish()


def _valid(runs: Iterable[BatchRun | Damage]) -> Iterator[BatchRun]:
    """What stands up to the first damage."""
    for run in runs:
        if isinstance(run, Damage):
            return
        yield run


def tracker_at(snapshot: SegmentSnapshot) -> Tracker:
    """The transactions that are open where the segment begins: of the newest snapshot before it, and what follows."""
    segments = snapshot.log.segments
    number = [segment.base_offset for segment in segments].index(snapshot.segment.base_offset)
    begun, transactions = number, Tracker()
    while begun > 0:
        known = _open_by_snapshot(segments[begun])
        if known is not None:
            transactions = Tracker(known)
            break
        begun -= 1
    for earlier in segments[begun:number]:
        for run in _valid(snapshot.of(earlier)):
            follow(run, transactions)
    return transactions


def _open_by_snapshot(segment: Segment) -> dict[int, int] | None:
    """The transactions open at the segment's start, as its producer snapshot tells; None where it does not."""
    try:
        return open_transactions(segment.read_beside(segment_file(segment.base_offset, "snapshot")))
    except (NotFound, CorruptData):
        return None
