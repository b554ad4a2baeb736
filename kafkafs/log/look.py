"""A log as one reader sees it: the way from the layers above to the records of a log.

A `Look` belongs to one `Log`, and so to one moment. A place (`places`) asks it for offsets, times and records. Its two
`Reader`s have the records as a consumer would get them: one by one at an offset or a time (`lookup`), or straight on.

The bytes of a raw range are `Extent`s of its log.

A corrupt batch ends the reading with CorruptData after everything before it, or is passed over on request.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from kafkafs.errors import Lost, TooLarge
from kafkafs.format.batch import batch_at
from kafkafs.format.records import Records, Refusal
from kafkafs.format.times import Time
from kafkafs.log.batch_runs import BatchRun, Damage
from kafkafs.log.equal_bytes import EqualSpan, equal_stretch
from kafkafs.log.extents import Extent
from kafkafs.log.log import Log
from kafkafs.log.lookup import Lookup
from kafkafs.log.many_lookups import first_timestamps, offsets_after
from kafkafs.log.newest_data import newest_data
from kafkafs.log.outcomes import OpenTransactions
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.segment import Segment
from kafkafs.log.segment_search import scan_start
from kafkafs.log.time_search import Newest
from kafkafs.log.visible import Visible

__all__ = ["Extent", "Look", "Reader"]


class Reader:
    """Reads one log under one set of options. `lookup` has the points."""

    def __init__(self, log: Log, options: ReadOptions, transactions: OpenTransactions) -> None:
        self.log = log
        self.options = options
        self._visible = Visible(log, options, transactions)
        self.lookup = Lookup(self._visible)

    @property
    def visible_end(self) -> int:
        """Visible records are below this offset."""
        return self._visible.end

    def equal_stretch(self, other: "Reader", start: int, end: int) -> EqualSpan:
        """Find what both logs have in the same bytes between `start` and `end`: see `equal_bytes`."""
        return equal_stretch(self._visible, other._visible, start, end)

    def records(self, start: int, end: int | None = None) -> Iterator[Records]:
        """The visible records with start <= offset < end, in pieces; up to the visible end where `end` is None."""
        start = max(start, self.log.start_offset)
        end = self.visible_end if end is None else min(end, self.visible_end)
        for segment, item in self.batches(start, end):
            if isinstance(item, Damage):
                self._visible.pass_damage(segment, item)
                continue
            for piece in self._visible.records(segment, item):
                yield piece.between(start, end)
                del piece  # and with it a large batch's memory, before the next is unpacked

    def batches(self, start: int, end: int, whole: bool = False) -> Iterator[tuple[Segment, BatchRun | Damage]]:
        """All batches and damage that overlap the offsets [start, end): see `Visible.batches`."""
        return self._visible.batches(start, end, whole)

    def decoded(self, segment: Segment, run: BatchRun) -> Iterator[Records | Refusal]:
        """All records of a run that `batches` gave: see `Visible.decoded`."""
        return self._visible.decoded(segment, run)

    def overlap_problems(self) -> list[str]:
        """Sentences about batches that hold more offsets than they claim: see `LogOverlaps.problems`."""
        return self._visible.overlaps.problems()

    def earliest(self) -> int | None:
        """The offset of the first visible record; None if none is visible. A corrupt batch on the disk counts as
        nothing; of one that is too large to unpack, what its header says. CorruptData if the record may be in damaged
        bytes of a tier: all of them were uploaded sound."""
        start, end = self.log.start_offset, self.visible_end
        for segment, item in self.batches(start, end):
            if isinstance(item, Damage):
                if segment.object is not None:
                    self._visible.pass_damage(segment, item)
                continue
            for row in range(len(item.rows)):
                offsets = self._offsets(segment, item, row, start, end)
                if offsets is not None:
                    return offsets[0]
        return None

    def latest(self, before: int | None = None) -> int | None:
        """The offset of the last visible record below the log end, or below `before`; None if none is visible. For
        the rest see `earliest`.

        It is searched from the end in parts that get larger. The marker behind a transaction says if it was aborted,
        so each part is read up to there.
        """
        end, width = min(self.visible_end, self.log.end_offset if before is None else before), 1
        for segment in reversed(self.log.visible_segments()):
            while end > max(segment.base_offset, self.log.start_offset) and segment.is_readable():
                try:
                    start = scan_start(segment, max(segment.base_offset, end - width))
                except Lost as error:
                    self.log.pass_lost(error, self.options.corrupt_skip)
                    end = segment.base_offset
                    break
                low = max(start.first_offset, self.log.start_offset)
                last = self._last_between(low, end)
                if last is not None:
                    return last
                end, width = low, 2 * (end - low)
        return None

    def _last_between(self, start: int, end: int) -> int | None:
        last: int | None = None
        behind: tuple[Segment, Damage] | None = None  # damaged bytes of a tier behind that record
        for segment, item in self.batches(start, end):
            if isinstance(item, Damage):
                behind = (segment, item) if segment.object is not None else behind
                continue
            for row in range(len(item.rows) - 1, -1, -1):
                offsets = self._offsets(segment, item, row, start, end)
                if offsets is not None:
                    last, behind = offsets[1], None
                    break
        if behind is not None:
            self._visible.pass_damage(*behind)
        return last

    def _offsets(self, segment: Segment, item: BatchRun, row: int, start: int, end: int) -> tuple[int, int] | None:
        """The first and last offset in [start, end) of a batch's records; None if it has none, or is corrupt."""
        found: list[int] = []
        for piece in self.decoded(segment, item._replace(rows=item.rows[row : row + 1])):
            if isinstance(piece, Refusal):
                if isinstance(piece.error, TooLarge):
                    batch = batch_at(item.rows, row)
                    return max(batch.base_offset, start), min(batch.last_offset, end - 1)
            elif len(kept := piece.between(start, end)):
                found += [int(kept.rows["offset"][0]), int(kept.rows["offset"][-1])]
        return (found[0], found[-1]) if found else None


class Look:
    """A log as one reader sees it: the records that the isolation level shows, or all records.

    A reader is made, without a lock, when it is first asked for: two threads may make one each, and either is right.
    """

    def __init__(self, log: Log, options: ReadOptions, transactions: OpenTransactions) -> None:
        """`transactions` are those of the log's partition. `Partition.look_as` puts them together."""
        self.log = log
        self._options = options
        self._transactions = transactions
        self._visible: Reader | None = None
        self._uncommitted: Reader | None = None
        self._newest_ms: int | None = None

    @property
    def visible(self) -> Reader:
        """The records that the mount's isolation level shows."""
        if self._visible is None:
            self._visible = Reader(self.log, self._options, self._transactions)
        return self._visible

    @property
    def uncommitted(self) -> Reader:
        """The records without regard to transactions; control records are left out here, too."""
        if self._uncommitted is None:
            same = self._options.isolation == "read_uncommitted"
            options = dataclasses.replace(self._options, isolation="read_uncommitted")
            self._uncommitted = self.visible if same else Reader(self.log, options, self._transactions)
        return self._uncommitted

    def milliseconds(self, time: Time) -> int:
        """The epoch milliseconds that a time names. A time that counts back from the newest record is 0 if no record
        has a time. It does not depend on isolation."""
        if isinstance(time, int):
            return time
        if self._newest_ms is None:
            found = self.newest_data()
            self._newest_ms = -1 if found is None else found.timestamp
        return time.before(self._newest_ms)

    def first_timestamps(self, offsets: Iterable[int]) -> dict[int, int | None]:
        """The timestamps of the first visible records at or after these offsets: see `many_lookups`."""
        return first_timestamps(self.visible.lookup, offsets)

    def offsets_after(self, times: Iterable[int]) -> dict[int, int]:
        """The offsets of the first records later than these times, as a broker answers: see `many_lookups`."""
        return offsets_after(self.uncommitted.lookup, times)

    def check_begin(self, start: int, end: int | None) -> None:
        """See `Log.check_begin`. With `corrupt=skip`, what a tier lost does not count."""
        self.log.check_begin(start, end, self._options.corrupt_skip)

    def check_nothing_follows(self) -> None:
        """Denied or Lost if the log may go on behind its end."""
        self.log.check_end()
        self.check_begin(self.log.end_offset, None)

    def newest_data(self, largest: Sequence[int | None] | None = None) -> Newest | None:
        """See `newest_data`. With `corrupt=skip`, what a tier lost does not count."""
        return newest_data(self.log, largest, self._options.corrupt_skip)
