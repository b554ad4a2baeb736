"""The keys of one segment as far as it was scanned: made once, and followed as the log grows.

Indexes are published every now and then, so that a scan that is interrupted goes on where it was. As in a
log-structured merge tree, a part is merged with the one before it as soon as it is not much smaller.
"""

import logging
from contextlib import suppress

from kafkafs.disk.blocking import check_time_slice
from kafkafs.errors import NotFound, TooLarge
from kafkafs.format.batch import Batch, batch_at
from kafkafs.format.key_index import KeyCollector, KeyRows, merged, new_seed
from kafkafs.format.records import Refusal
from kafkafs.log.look import Reader
from kafkafs.log.segment import BatchRun, Damage, Segment
from kafkafs.search.key_indexes import KeyIndex, index_of

logger = logging.getLogger(__name__)

_SEED = new_seed()
_PUBLISHED = 1 << 19
"""Keys after which what a scan has found so far is published."""


class SegmentKeys:
    """The keys of one segment, as far as it was scanned. One thread at a time scans; any may look at `indexes`."""

    def __init__(self, segment: Segment, start: int) -> None:
        """The scan begins at the offset `start`, below which nothing is visible."""
        self.segment = segment
        self.reached = max(start, segment.base_offset)
        """All keys below this offset are in `indexes`."""
        self.indexes: tuple[KeyIndex, ...] = ()
        """The newest part first."""
        self.too_large: tuple[int, ...] = ()
        """The last offsets of batches that may not be unpacked."""
        self.is_whole = True
        """False if the keys of something corrupt are missing."""
        self.is_settled = False
        """True if the rows have no checks any more, so that no rows can be added."""
        self._parts: list[KeyRows] = []
        self._last: Batch | None = None

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(part.rows.nbytes + part.checks.nbytes for part in self._parts)

    def use(self, index: KeyIndex, end: int) -> None:
        """Take all keys below the offset `end` from an index."""
        self._parts = []
        self.indexes, self.reached = (index,), end

    @property
    def is_closed(self) -> bool:
        """True if no more records come, and all of it is known."""
        return self.segment.next_base is not None and self.reached >= self.segment.next_base

    @property
    def has_index(self) -> bool:
        """True if it relies on an index."""
        return bool(self.indexes) and self.indexes[0].file is not None

    def continues_in(self, segment: Segment) -> bool:
        """True if `segment`, a later look at the same file, still has everything that was scanned."""
        if self._last is None:
            return False
        if self._last.last_offset + 1 < self.reached:  # the batches between may have been cut off, and written again
            return False
        return self.segment.continues_in(segment, self._last)

    def move_to(self, segment: Segment) -> None:
        """The keys of `segment` from now on."""
        self.segment = segment
        self.indexes = tuple(index._replace(segment=segment) for index in self.indexes)

    def scan(self, reader: Reader, end: int) -> None:
        """Takes in the visible records up to the offset `end`; Unfinished if that takes too long for one call.

        The scan passes over corrupt batches, as a time point does.
        """
        collector = self._collector()
        for segment, item in reader.batches(self.reached, end):
            if isinstance(item, Damage):
                self._pass_over(reader, str(item))
            else:
                self._collect(reader, segment, item, collector, end)
                self._last = batch_at(item.rows, -1)
            reached = min(item.last_offset + 1, end)
            if collector.count >= _PUBLISHED:
                self._publish(collector, reached)
                collector = self._collector()
            try:
                check_time_slice()
            except BaseException:
                self._publish(collector, reached)
                raise
        self._publish(collector, end)
        self._note_last(reader, end)
        if self.is_closed:
            self._close()

    def _note_last(self, reader: Reader, end: int) -> None:
        """The batch in front of `end`, which a consumer may not get to see, as one of control records."""
        if self._last is None or self._last.last_offset + 1 < end:
            with suppress(NotFound):
                segment, found = reader.log.locate(end - 1)
                if segment is self.segment and isinstance(found, Batch):
                    self._last = found

    def _collector(self) -> KeyCollector:
        return KeyCollector(self.segment.base_offset, _SEED)

    def _collect(self, reader: Reader, segment: Segment, item: BatchRun, collector: KeyCollector, end: int) -> None:
        for piece in reader.decoded(segment, item):
            if not isinstance(piece, Refusal):
                collector.add(piece.between(self.reached, end))
            elif isinstance(piece.error, TooLarge):
                self.too_large = (*self.too_large, int(item.rows["last_offset"][piece.batch]))
                self.is_whole = False
            else:
                self._pass_over(reader, str(piece.error))

    def _pass_over(self, reader: Reader, what: str) -> None:
        self.is_whole = False
        logger.warning("%s: the search for keys goes on after a corrupt batch: %s", reader.log.name.directory, what)

    def _publish(self, collector: KeyCollector, reached: int) -> None:
        if collector.count:
            self._parts.append(collector.finish())
        while len(self._parts) > 1 and len(self._parts[-2].rows) <= 2 * len(self._parts[-1].rows):
            self._join_last()
        self._show(reached)

    def _join_last(self) -> None:
        """Makes one part of the last two."""
        later, earlier = self._parts.pop(), self._parts.pop()
        self._parts.append(merged(earlier, later))

    def _close(self) -> None:
        """Join all parts and drop the checks: no more keys come."""
        while len(self._parts) > 1:
            self._join_last()
        self._parts = [part._replace(checks=part.checks[:0].copy()) for part in self._parts]
        self.is_settled = True
        self._show(self.reached)

    def _show(self, reached: int) -> None:
        self.indexes = tuple(index_of(self.segment, part) for part in reversed(self._parts))
        self.reached = reached
