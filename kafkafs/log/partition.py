"""A partition directory that lives: it keeps the newest `Log` and makes another when the directory has changed.

A caller gets the log as a `Look`, under the options that the partition was made with. There is one `Look` of each log,
so what a reader has found in a log counts until the log is another one.

Looking costs a stat of the directory and one of the last segment's log, and happens at most every `log_fresh_s` (see
`read_options`); what changes more often than that is seen a moment later, as it would be on a slower disk. A look that
finds nothing changed waits for nothing, so that even a thread that must not wait can take it.

Three things are remembered, each a `CachedValue`: the log, the listing, and the segments made of a listing. `_lock` is
held while any of them is stored.
"""

import logging
import threading
from bisect import bisect_right
from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple, TypeVar

from kafkafs.disk.blocking import acquired, may_block
from kafkafs.disk.cached_value import CachedValue
from kafkafs.disk.directory import Directory
from kafkafs.errors import UNREADABLE, Denied, NotFound, Vanished
from kafkafs.format.names import PartitionName
from kafkafs.log.checkpoint_files import CheckpointFiles
from kafkafs.log.lineage import last_leader_epoch
from kafkafs.log.listing import NOTHING, Listing, list_partition
from kafkafs.log.log import Late, Log
from kafkafs.log.look import Look
from kafkafs.log.outcomes import OpenTransactions
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.retries import ask_again
from kafkafs.log.segment import Segment
from kafkafs.log.segment_files import SegmentFiles
from kafkafs.log.tail import Tail, find_tail, tail_of_a_tier

logger = logging.getLogger(__name__)

RELIST_S = 10.0
"""After this time the directory is listed again even if its time stamp is the same: files may have changed in place."""

Answer = TypeVar("Answer")


class RemotePart:
    """A tier's part of the partition. This one is of no tier; `log.tier` has the others."""

    def segments(self, local: tuple[Segment, ...]) -> tuple[Segment, ...]:
        """All segments of the log: those of the disk, and the remote ones where the disk has none. Or segments that
        represent these."""
        return local

    def ask(self) -> bool:
        """Wait for the segments that others represent. Return true if there were such."""
        return False

    def known_end(self) -> int | None:
        """The offset behind the last one that the tier has of the log; None if it is unknown."""
        return None

    def expire(self) -> None:
        """Make the next call list the tier again."""

    def may_have_all(self) -> bool:
        """True if an empty log on the disk may be that of a directory that a broker made again after it was lost."""
        return False


NO_TIER = RemotePart()


class _Segments(NamedTuple):
    """The segments, and the listing that they were made of."""

    listing: Listing
    segments: tuple[Segment, ...]


class Partition:
    """One partition directory under one data directory. `transactions` are those open at its end, for all that ask."""

    def __init__(
        self,
        name: PartitionName,
        root: Directory,
        checkpoints: CheckpointFiles,
        options: ReadOptions,
        indexes: Directory | None = None,
        remote: RemotePart = NO_TIER,
        is_on_disk: bool = True,
    ) -> None:
        """`root` is the data directory, `indexes` where rebuilt indexes are, `remote` what a tier has. `is_on_disk`:
        False for a partition that has no directory, and is in the tier alone."""
        self.name = name
        self.root = root
        self.is_on_disk = is_on_disk
        self.transactions = OpenTransactions()
        self._options = options
        self._checkpoints = checkpoints
        self._indexes = indexes
        self._remote = remote
        self._lock = threading.Lock()
        self._look: CachedValue[Look] = CachedValue(options.log_fresh_s, options.clock)
        self._listing: CachedValue[Listing] = CachedValue(RELIST_S, options.clock)
        self._made: CachedValue[_Segments] = CachedValue(options.log_fresh_s, options.clock)
        self._reported: tuple[str, ...] = ()
        self._lost_end: list[str] = []  # as it was reported last

    def log(self) -> Log:
        """The current log, with all the segments that a tier has. NotFound if the directory is gone."""
        return self.look().log

    def look(self) -> Look:
        """The current log as the options show it, with all segments of a tier. NotFound if the directory is gone."""
        look = self._look.fresh() or self._look_now()
        if self._remote.ask():
            self.look_again()
            look = self._look_now()
        return look

    def look_as(self, options: ReadOptions) -> Look:
        """The current log as other options show it."""
        return Look(self.log(), options, self.transactions)

    def _look_now(self) -> Look:
        """The current log as the options show it, perhaps without the segments of a tier that was not asked yet. A
        reader that needs such a segment waits for the tier, then gets Vanished. An unchanged log keeps its `Look`."""
        with acquired(self._lock):
            if (look := self._look.fresh()) is None:
                before, log = self._look.latest, ask_again(self._current_log, self._expire)
                is_same = before is not None and before.log is log
                look = before if before is not None and is_same else Look(log, self._options, self.transactions)
                self._look.store(look)
            return look

    @property
    def may_be_in_a_tier(self) -> bool:
        """False if a look at it asks nobody but the disk."""
        return self._remote is not NO_TIER

    def listing(self) -> Listing:
        """Return the present content of the directory, by name. No log is read for it."""
        return self._listed().listing

    def read_small_file(self, name: str) -> bytes:
        """A small file of the directory, by name; NotFound if it does not exist."""
        return self.root.read_whole(f"{self.name.directory}/{name}")

    def segments(self) -> tuple[Segment, ...]:
        """All segments, in the order of their offsets. No log is read for it, but the ends of those of the disk if the
        partition may be tiered."""
        local = self._listed().segments
        segments = self._remote.segments(local)
        return self._remote.segments(local) if self._remote.ask() else segments

    def visible_segments(self) -> tuple[Segment, ...]:
        """The segments that are not wholly below the log start. No log is read for it."""
        return self._visible(self.segments())

    def _visible(self, segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
        start, _ = self._checkpoints.read().of(self.name)
        below = bisect_right(segments, start or 0, key=attrgetter("base_offset"))
        return segments[max(0, below - 1) :]

    def lost_end(self, log: Log) -> list[str]:
        """A sentence, if a tier has offsets of the log behind the end of the disk's part, which do not show."""
        end = self._remote.known_end()
        if end is None or not log.segments or log.segments[-1].object is not None or end <= log.end_offset:
            return []
        return [f"the log ends at offset {log.end_offset} on the disk, and the tier has offsets up to {end - 1}"]

    def may_show_records(self) -> bool:
        """True if there are records, as far as sizes and checkpoints tell. No log is read for it."""
        start, high = self._checkpoints.read().of(self.name)
        if start is not None and high is not None and start >= high:
            return False
        segments = self._visible(self._remote.segments(self._listed().segments))
        return any(segment.object is not None or segment.listed["log"].size for segment in segments)

    def answer(self, question: Callable[[Log], Answer]) -> Answer:
        """The answer to a question about the log. If files vanish meanwhile, the question is asked again about a newer
        log."""
        return self.ask(lambda look: question(look.log))

    def ask(self, question: Callable[[Look], Answer]) -> Answer:
        """`question` asked of the log as the partition's options show it, and asked again as by `answer`."""
        look = self._look.fresh() or self._look_now()
        try:
            return question(look)
        except Vanished:
            may_block()
        return ask_again(lambda: question(self._look_after(look)), self.look_again)

    def ask_as(self, options: ReadOptions, question: Callable[[Look], Answer]) -> Answer:
        """`question` asked of the log as other options show it, and asked again as by `answer`."""
        return self.answer(lambda log: question(Look(log, options, self.transactions)))

    def _look_after(self, look: Look) -> Look:
        """A later look: the directory is listed again, unless another thread has done so since `look` was made."""
        with self._lock:
            if self._look.latest is look:
                self._expire()
        return self.look()

    def look_again(self) -> None:
        """Make the next `log()` list the directory again, even if its time stamp is unchanged."""
        with self._lock:
            self._expire()

    def _expire(self) -> None:
        self._listing.expire()
        self._look.expire()
        self._remote.expire()

    def _listed(self) -> _Segments:
        """The directory as it is now, and the segments made of it: those of the disk."""
        made = self._made.fresh()
        if made is None:
            with acquired(self._lock):
                listing = self._current_listing()
                made = self._made.store(_Segments(listing, self._segments(listing)))
        return made

    def _current_log(self) -> Log:
        listing = self._current_listing()
        before = self._look.latest.log if self._look.latest is not None else None
        local = self._segments(listing)
        if before is None and not self.may_be_in_a_tier and self.root.is_far and local:
            self._made.store(_Segments(listing, local))
            late = Late(lambda: _to_the_end(local, None)[1], lambda: self._checkpoints.read().of(self.name)[1])
            return Log(self.name, local, None, self._checkpoints.start_of(self.name), None, listing.stamp[0], late)
        segments, tail = _to_the_end(self._remote.segments(local), before)
        self._made.store(_Segments(listing, (*local[:-1], segments[-1]) if local else ()))
        start, high = self._checkpoints.read(now=not _only_grew(before, tail)).of(self.name)
        if (
            before is not None
            and before.segments == segments
            and before.tail is tail
            and (before.checkpoint_start, before.high_watermark) == (start, high)
            and before.directory_inode == listing.stamp[0]
        ):
            return before
        log = Log(self.name, segments, tail, start, high, listing.stamp[0])
        lost_end = self.lost_end(log)
        for problem in lost_end if lost_end != self._lost_end else ():
            logger.warning("%s: %s", self.name.directory, problem)
        self._lost_end = lost_end
        return log

    def _current_listing(self) -> Listing:
        if not self.is_on_disk:
            return NOTHING
        known = self._listing.fresh()
        if known is not None and known.settled:
            about = self.root.stat(self.name.directory)
            if (about.st_ino, about.st_mtime_ns) == known.stamp:
                return known
        listing = list_partition(self.root, self.name.directory, self._indexes)
        for problem in sorted({*listing.problems} - {*self._reported}):
            logger.warning("%s: %s", self.name.directory, problem)
        self._reported = listing.problems
        return self._listing.store(listing)

    def _segments(self, listing: Listing) -> tuple[Segment, ...]:
        """The listed segments; one that is listed as before keeps its object and what it remembers."""
        made = self._made.latest
        earlier = made.segments if made is not None else ()
        if made is not None and made.listing is listing:
            return earlier
        known = {segment.base_offset: segment for segment in earlier}
        bases = list(listing.segments)
        if bases == [0] and not listing.segments[0]["log"].size and self._remote.may_have_all():
            return ()
        found = []
        for base, next_base in zip(bases, [*bases[1:], None], strict=False):
            files = listing.segments[base]
            segment = known.get(base)
            if segment is None or not segment.has_files(files, next_base):
                files_of = SegmentFiles(self.root, self.name.directory, base, files, self._indexes)
                segment = Segment(files_of, next_base)
            found.append(segment)
        return earlier if earlier == tuple(found) else tuple(found)


def progress(replica: Partition) -> tuple[int, int]:
    """How far a replica got: the leader epoch of its last batch, and its log end offset; the epoch is -1 if the
    format has none, -2 where the log cannot be read."""
    try:
        return replica.answer(lambda log: (last_leader_epoch(log), log.end_offset))
    except UNREADABLE:
        return -2, -1


def _to_the_end(segments: tuple[Segment, ...], before: Log | None) -> tuple[tuple[Segment, ...], Tail | None]:
    """The segments and the log's end. A last segment that was cut is another one for all that read it. A tier knows
    where its last upload ends."""
    if not segments:
        return segments, None
    last = segments[-1]
    known = before.tail if before and before.segments and before.segments[-1] is last else None
    if last.next_base is not None:
        return segments, known or tail_of_a_tier(last, last.next_base)
    try:
        tail = find_tail(last, known)
    except (Denied, NotFound) as error:
        refused = error if isinstance(error, Denied) else None
        return segments, Tail(0, 0, 0, 0, last.base_offset, None, refused=refused)
    if known is not None and not tail.grew_from(known):
        last = last.reopened()
        segments = (*segments[:-1], last)
    last.remember_end(tail.last, tail.size, tail.mtime_ns)
    return segments, tail


def _only_grew(before: Log | None, tail: Tail | None) -> bool:
    """True if a log only grew. If not, a checkpoint read before may be that of the generation before."""
    return before is not None and before.tail is not None and tail is not None and tail.grew_from(before.tail)
