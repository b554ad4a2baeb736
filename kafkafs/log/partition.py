"""A partition directory that lives: it keeps the newest `Log` and makes another when the directory has changed.

Looking costs a stat of the directory and one of the last segment's log, and happens at most every `FRESH_S`; what
changes more often than that is seen a moment later, as it would be on a slower disk. A look that finds nothing changed
waits for nothing, so that even a thread that must not wait can take it.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from kafkafs.disk.blocking import acquired, may_block
from kafkafs.disk.directory import Directory
from kafkafs.errors import Denied, NotFound, Vanished
from kafkafs.format.names import PartitionName
from kafkafs.log.listing import Listing, list_partition
from kafkafs.log.log import Log, segment_number
from kafkafs.log.segment import Segment
from kafkafs.log.segment_files import SegmentFiles
from kafkafs.log.tail import Tail, find_tail

if TYPE_CHECKING:
    from kafkafs.log.data_directory import DataDirectory

logger = logging.getLogger(__name__)

FRESH_S = 0.05
"""For how long a look at the directory counts as now. Less than followers wait between two (see `fuse.waiting`)."""

RELIST_S = 10.0
"""After so long the directory is listed anew even if its time stamp is the same: files may have changed in place."""

_ATTEMPTS = 5
Answer = TypeVar("Answer")


class Partition:
    """One partition directory under one data directory."""

    def __init__(self, directory: "DataDirectory", name: PartitionName) -> None:
        self.directory = directory
        self.name = name
        self._lock = threading.Lock()
        self._fresh_until = 0.0
        self._listing: Listing | None = None
        self._made: tuple[Listing, tuple[Segment, ...]] | None = None  # segments, and the listing that they are of
        self._told: tuple[str, ...] = ()
        self._list_at = 0.0
        self._listed_until = 0.0
        self._log: Log | None = None

    @property
    def root(self) -> Directory:
        return self.directory.root

    def log(self) -> Log:
        """The log as it is now. NotFound where the directory is gone."""
        log = self._log
        if log is not None and time.monotonic() < self._fresh_until:
            return log
        with acquired(self._lock):
            if self._log is None or time.monotonic() >= self._fresh_until:
                self._log = self._look_with_retries()
                self._fresh_until = time.monotonic() + FRESH_S
            return self._log

    def listing(self) -> Listing:
        """What stands in the directory now, by name. No log is read for it."""
        return self._names()[0]

    def visible_segments(self) -> tuple[Segment, ...]:
        """The segments that are not wholly below the log start. No log is read for it."""
        _, segments = self._names()
        start, _ = self.directory.checkpoints().of(self.name)
        return segments[segment_number([segment.base_offset for segment in segments], start or 0) :]

    def may_show_records(self) -> bool:
        """Whether there are records, as far as sizes and checkpoints tell. No log is read for it."""
        start, high = self.directory.checkpoints().of(self.name)
        if start is not None and high is not None and start >= high:
            return False
        return any(segment.files["log"].size for segment in self.visible_segments())

    def answer(self, question: Callable[[Log], Answer]) -> Answer:
        """`question` asked of the log; asked again of a newer one where files vanished under it."""
        for _ in range(_ATTEMPTS - 1):
            log = self.log()
            try:
                return question(log)
            except Vanished:
                may_block()
                self._look_behind(log)
        return question(self.log())

    def look_again(self) -> None:
        """The next `log()` lists the directory anew, whatever its time stamp says."""
        with self._lock:
            self._listing, self._fresh_until = None, 0.0

    def _look_behind(self, log: Log) -> None:
        """Look again, unless somebody else has done so since `log` was made."""
        with self._lock:
            if self._log is log:
                self._listing, self._fresh_until = None, 0.0

    def _names(self) -> tuple[Listing, tuple[Segment, ...]]:
        """The directory as it is now, and the segments made of it."""
        if self._made is not None and time.monotonic() < self._listed_until:
            return self._made
        with acquired(self._lock):
            listing = self._current_listing()
            self._listed_until = time.monotonic() + FRESH_S
            return listing, self._segments(listing)

    def _look_with_retries(self) -> Log:
        """A look; another one where files vanish during it."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._look()
            except Vanished:
                self._listing = None
        return self._look()

    def _look(self) -> Log:
        listing = self._current_listing()
        before = self._log
        segments, tail = self._to_the_end(self._segments(listing), before)
        self._made = listing, segments
        start, high = self.directory.checkpoints(anew=not _went_on(before, tail)).of(self.name)
        if (
            before is not None
            and before.segments == segments
            and before.tail is tail
            and (before.checkpoint_start, before.high_watermark) == (start, high)
            and before.directory_inode == listing.stamp[0]
        ):
            return before
        return Log(self.name, segments, tail, start, high, listing.stamp[0])

    def _current_listing(self) -> Listing:
        known = self._listing
        if known is not None and known.settled and time.monotonic() < self._list_at:
            about = self.root.stat_at_once(self.name.directory)
            if (about.st_ino, about.st_mtime_ns) == known.stamp:
                return known
        self._listing = list_partition(self.root, self.name.directory, self.directory.indexes)
        for problem in sorted({*self._listing.problems} - {*self._told}):
            logger.warning("%s: %s", self.name.directory, problem)
        self._told = self._listing.problems
        self._list_at = time.monotonic() + RELIST_S
        return self._listing

    def _segments(self, listing: Listing) -> tuple[Segment, ...]:
        """The listed segments; one that is listed as before keeps its object and what it remembers."""
        made_of, earlier = self._made or (None, ())
        if made_of is listing:
            return earlier
        known = {segment.base_offset: segment for segment in earlier}
        bases = list(listing.segments)
        found = []
        for base, next_base in zip(bases, [*bases[1:], None], strict=False):
            files = listing.segments[base]
            segment = known.get(base)
            if segment is None or not segment.is_made_of(files, next_base):
                made = SegmentFiles(self.root, self.name.directory, base, files, self.directory.indexes)
                segment = Segment(made, next_base)
            found.append(segment)
        segments = earlier if earlier == tuple(found) else tuple(found)
        self._made = listing, segments
        return segments

    def _to_the_end(self, segments: tuple[Segment, ...], before: Log | None) -> tuple[tuple[Segment, ...], Tail | None]:
        """The segments and the log's end. A last segment that was cut is another one for all who read it."""
        if not segments:
            return segments, None
        last = segments[-1]
        known = before.tail if before and before.segments and before.segments[-1] is last else None
        try:
            tail = find_tail(last, known)
        except (Denied, NotFound):
            return segments, Tail(0, 0, 0, 0, last.base_offset, None)
        if known is not None and not tail.grew_from(known):
            last = last.anew()
            segments = (*segments[:-1], last)
        last.seal(tail.last, tail.size, tail.mtime_ns)
        return segments, tail


def _went_on(before: Log | None, tail: Tail | None) -> bool:
    """Whether a log did nothing but grow. If not, a checkpoint read before may be that of the generation before."""
    return before is not None and before.tail is not None and tail is not None and tail.grew_from(before.tail)
