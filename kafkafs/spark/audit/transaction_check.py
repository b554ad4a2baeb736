"""A partition's transaction indexes against its log. Sources: TransactionIndex, ProducerStateManager.

A transaction may begin some segments before its marker, whose segment's index names it; so the segments tell where
transactions begin and end, and the indexes are looked at when all of them are known.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from kafkafs.format.transaction_index import DTYPE, ENTRY_SIZE
from kafkafs.log.transaction_events import Aborted, Event, Tracker
from kafkafs.spark.audit.findings import Finding, Where


@dataclass(frozen=True, slots=True)
class SegmentTransactions:
    """A segment's events, and the bytes of its transaction index."""

    where: Where
    base_offset: int
    growing_from: int | None  # the offset behind the last that was read, where the broker may go on meanwhile
    damaged: bool
    events: list[Event]
    index: bytes | None  # None for one that was not read


def check_transactions(
    segments: Iterable[SegmentTransactions | None], begun: dict[int, int] | None
) -> Iterator[Finding]:
    """What is wrong with the indexes of a partition's segments, in order; None for a segment that was not read.

    `begun` are the transactions that are open where the first segment begins: producer to first offset. None where that
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
        self._is_known = is_known  # what was open where the segment begins
        self._cut = len(index) % ENTRY_SIZE
        self._rows = np.frombuffer(index, DTYPE, len(index) // ENTRY_SIZE)

    def check(self, aborted: list[Aborted]) -> Iterator[Finding]:
        """What is wrong with the entries, then what of `aborted`, which the log's markers tell, has none."""
        where, rows = self._segment.where, self._rows
        if self._cut and self._segment.growing_from is None:
            yield where.finding(
                "index-length", f"its {len(rows) * ENTRY_SIZE + self._cut} bytes are no multiple of {ENTRY_SIZE}",
                position=len(rows) * ENTRY_SIZE,
            )  # fmt: skip
        markers = {each.last: each for each in aborted}
        before = self._segment.base_offset - 1
        for slot, row in enumerate(rows):
            reason = self._wrong(row, before, markers)
            if reason:
                yield where.finding(
                    "transaction-index-entry", f"entry {slot}, producer {row['producer_id']} from offset {row['first']}"
                    f" to {row['last']}: {reason}", position=slot * ENTRY_SIZE, offset=int(row["last"]), slot=slot,
                )  # fmt: skip
            before = max(before, int(row["last"]))
        if self._cut and self._segment.growing_from is not None:
            return
        named = set(rows["last"].tolist())
        for each in aborted:
            in_flight = each.last + 1 == self._segment.growing_from  # of one append, the index is written last
            if each.first is not None and each.last not in named and not in_flight:
                yield where.finding(
                    "transaction-index-missing", f"producer {each.producer} aborted at offset {each.last}, and no entry"
                    " tells", offset=each.last,
                )  # fmt: skip

    def _wrong(self, row: "np.void", before: int, markers: dict[int, Aborted]) -> str:
        first, last, stable = int(row["first"]), int(row["last"]), int(row["last_stable"])
        if row["version"] != 0:
            return f"its version is {row['version']}, and only 0 is known"
        if last <= before:
            return "it does not come behind the entry before it"
        if first > last:
            return "it ends before it begins"
        if stable > last + 1:
            return f"its last stable offset {stable} lies behind it"
        marker = markers.get(last)
        if self._segment.growing_from is not None and last >= self._segment.growing_from:
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
