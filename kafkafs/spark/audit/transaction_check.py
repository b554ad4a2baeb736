"""The transaction indexes of a partition against the markers in its log.

A transaction may begin some segments before its marker, whose segment's index names it; so the segments tell where
transactions begin and end, and the indexes are looked at when all of them are known. Sources: TransactionIndex,
ProducerStateManager.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from kafkafs.errors import Denied, DiskError, NotFound, Unanswered
from kafkafs.format.batch import SMALLEST
from kafkafs.format.transaction_index import ABORTED, ABORTED_SIZE
from kafkafs.log.segment import Segment
from kafkafs.log.transaction_events import Aborted, Event, Tracker
from kafkafs.spark.audit.findings import CheckedFile, Finding


@dataclass(frozen=True, slots=True)
class SegmentTransactions:
    """A segment's events, and the bytes of its transaction index."""

    where: CheckedFile
    base_offset: int
    growing_from: int | None  # the offset behind the last that was read, where the broker may go on meanwhile
    damaged: bool
    events: list[Event]
    index: bytes | None  # None for one that was not read
    cut_at: int | None = None  # the offset from which on the next segment has the log, though the index goes on


def read_index(segment: Segment, where: CheckedFile) -> tuple[bytes | None, list[Finding]]:
    """The transaction index's bytes, read after the log: the first abort makes the file, perhaps after the segment was
    listed. Or None, and findings that say why it is not read."""
    try:
        data = segment.read_small_file(segment.name_of("txnindex"))
    except NotFound:
        return b"", []
    except Unanswered:
        raise
    except (Denied, DiskError) as error:  # a name that is not listed is no regular file: another finding reports it
        return None, [where.finding("unreadable", str(error))] if "txnindex" in segment.listed else []
    size = segment.log().size
    if len(data) // ABORTED_SIZE > size // SMALLEST[2]:
        return None, [where.finding(
            "transaction-index-entry", f"it has more entries than there can be markers in {size} bytes of log"
        )]  # fmt: skip
    return data, []


def check_transactions(
    segments: Iterable[SegmentTransactions | None], begun: dict[int, int] | None
) -> Iterator[Finding]:
    """The findings about the indexes of a partition's segments, in order. None stands for a segment that was not read.

    `begun` are the transactions that are open where the first segment begins: producer to first offset. None if that
    is not known, or compaction may have removed data; then it is checked only that each entry names an abort marker.
    """
    tracker, is_known = Tracker(begun), begun is not None
    for segment in segments:
        is_known = is_known and segment is not None and not segment.damaged
        if not is_known:
            tracker.open.clear()
        if segment is None:
            continue
        aborted = [each for each in map(tracker.follow, segment.events) if each is not None]
        if segment.index is not None:
            yield from _Index(segment, segment.index, is_known).check(aborted)


class _Index:
    """One segment's transaction index."""

    def __init__(self, segment: SegmentTransactions, index: bytes, is_known: bool) -> None:
        self._segment = segment
        self._is_known = is_known  # the transactions that were open at the segment's begin
        self._cut = len(index) % ABORTED_SIZE
        self._rows = np.frombuffer(index, ABORTED, len(index) // ABORTED_SIZE)

    def check(self, aborted: list[Aborted]) -> Iterator[Finding]:
        """Yield the findings about the entries, then the aborts of `aborted` (by the log's markers) that have no
        entry."""
        where, rows = self._segment.where, self._rows
        if self._cut and self._segment.growing_from is None:
            yield where.finding(
                "index-length", f"{len(rows) * ABORTED_SIZE + self._cut} bytes are not a multiple of {ABORTED_SIZE}",
                position=len(rows) * ABORTED_SIZE,
            )  # fmt: skip
        markers = {each.last: each for each in aborted}
        before = self._segment.base_offset - 1
        for slot, row in enumerate(rows):
            reason = self._reason(row, before, markers)
            if reason:
                yield where.finding(
                    "transaction-index-entry", f"entry {slot}, producer {row['producer_id']} from offset {row['first']}"
                    f" to {row['last']}: {reason}", position=slot * ABORTED_SIZE, offset=int(row["last"]), slot=slot,
                )  # fmt: skip
            before = max(before, int(row["last"]))
        if self._cut and self._segment.growing_from is not None:
            return
        named = set(rows["last"].tolist())
        for each in aborted:
            in_flight = each.last + 1 == self._segment.growing_from  # an append writes the index last
            if each.first is not None and each.last not in named and not in_flight:
                yield where.finding(
                    "transaction-index-missing", f"producer {each.producer} aborted at offset {each.last}, and no entry"
                    " tells", offset=each.last,
                )  # fmt: skip

    def _reason(self, row: "np.void", before: int, markers: dict[int, Aborted]) -> str:
        first, last, stable = int(row["first"]), int(row["last"]), int(row["last_stable"])
        if row["version"] != 0:
            return f"its version is {row['version']}, and only 0 is known"
        if last <= before:
            return "it does not come after the entry before it"
        if first > last:
            return "it ends before it begins"
        if stable > last + 1:
            return f"its last stable offset {stable} is above its end"
        marker = markers.get(last)
        if any(end is not None and last >= end for end in (self._segment.growing_from, self._segment.cut_at)):
            return ""
        if marker is None:
            return "" if self._segment.damaged else "the log has no abort marker there"
        if marker.producer != row["producer_id"]:
            return f"the abort marker there is of producer {marker.producer}"
        if not self._is_known or marker.first is None:
            return ""
        if first != marker.first:
            return f"the transaction begins at offset {marker.first}"
        return "" if stable == marker.stable else f"the last stable offset was {marker.stable} then, not {stable}"
