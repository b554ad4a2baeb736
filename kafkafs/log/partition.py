"""A partition directory that lives: it keeps the newest `Log` and makes another when the directory has changed.

Looking costs a stat of the directory and one of the last segment's log, and happens at most every `FRESH_S`; what
changes more often than that is seen a moment later, as it would be on a slower disk.
"""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from kafkafs.errors import Denied, NotFound, Vanished
from kafkafs.format.names import PartitionName
from kafkafs.log.files import Directory
from kafkafs.log.listing import Listing, list_partition
from kafkafs.log.log import Log
from kafkafs.log.patience import patience_needed
from kafkafs.log.segment import Segment
from kafkafs.log.tail import Tail, find_tail

if TYPE_CHECKING:
    from kafkafs.log.data_directory import DataDirectory

FRESH_S = 0.1
"""For how long a look at the directory counts as now."""

_ATTEMPTS = 3
Answer = TypeVar("Answer")


class Partition:
    """One partition directory under one data directory."""

    def __init__(self, directory: "DataDirectory", name: PartitionName) -> None:
        self.directory = directory
        self.name = name
        self._lock = threading.Lock()
        self._fresh_until = 0.0
        self._listing: Listing | None = None
        self._log: Log | None = None

    @property
    def root(self) -> Directory:
        return self.directory.root

    def log(self) -> Log:
        """The log as it is now. NotFound where the directory is gone."""
        log = self._log
        if log is not None and time.monotonic() < self._fresh_until:
            return log
        patience_needed()
        with self._lock:
            if self._log is None or time.monotonic() >= self._fresh_until:
                self._log = self._look()
                self._fresh_until = time.monotonic() + FRESH_S
            return self._log

    def listing(self) -> Listing:
        """The files that `log()` was made from."""
        self.log()
        assert self._listing is not None
        return self._listing

    def answer(self, question: Callable[[Log], Answer]) -> Answer:
        """`question` asked of the log; asked again of a newer one where files vanished under it."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return question(self.log())
            except Vanished:
                patience_needed()
                self.look_again()
        return question(self.log())

    def look_again(self) -> None:
        """The next `log()` lists the directory anew, whatever its time stamp says."""
        with self._lock:
            self._listing, self._fresh_until = None, 0.0

    def _look(self) -> Log:
        listing = self._current_listing()
        before = self._log
        segments = self._segments(listing, before)
        tail = self._tail(segments, before)
        checkpoints = self.directory.checkpoints()
        start, high = checkpoints.of(self.name)
        if (
            before is not None
            and before.segments == segments
            and before.tail is tail
            and (before.checkpoint_start, before.high_watermark) == (start, high)
        ):
            return before
        return Log(self.name, segments, tail, start, high)

    def _current_listing(self) -> Listing:
        known = self._listing
        if known is not None and known.settled:
            about = self.root.stat(self.name.directory)
            if (about.st_ino, about.st_mtime_ns) == known.stamp:
                return known
        self._listing = list_partition(self.root, self.name.directory, self.directory.indexes)
        return self._listing

    def _segments(self, listing: Listing, before: Log | None) -> tuple[Segment, ...]:
        """The listed segments; one that is listed as before keeps its object and what it remembers."""
        known = {segment.base_offset: segment for segment in before.segments} if before else {}
        bases = list(listing.segments)
        found = []
        for base, next_base in zip(bases, [*bases[1:], None], strict=True):
            files = listing.segments[base]
            segment = known.get(base)
            if segment is None or segment.files != files or segment.next_base != next_base:
                segment = Segment(self.root, self.name.directory, base, files, next_base, self.directory.indexes)
            found.append(segment)
        segments = tuple(found)
        return before.segments if before is not None and before.segments == segments else segments

    def _tail(self, segments: tuple[Segment, ...], before: Log | None) -> Tail | None:
        if not segments:
            return None
        known = before.tail if before and before.segments and before.segments[-1] is segments[-1] else None
        try:
            return find_tail(segments[-1], known)
        except (Denied, NotFound):
            return Tail(0, 0, 0, 0, segments[-1].base_offset, None)
