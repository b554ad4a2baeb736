"""A tier that is open, and what it has of a partition: segments below those of the disk.

    tier = Tier(TierSource("s3://bucket/prefix"), options)
    part = TierPart(tier, partition, ...)      of one partition
    part.segments(local)                         the log: those of the disk, and those of the tier that count

The list of remote segments is made again if the disk begins elsewhere or has another gap, every `RELIST_S`, and if a
file was not as listed.
"""

import threading
from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from kafkafs.disk.blocking import ProcessLock, acquired, may_ask_store, may_block, patience_left
from kafkafs.disk.cached_value import CachedValue
from kafkafs.disk.chunk_cache import ChunkCache
from kafkafs.disk.objects import DirectoryObjects
from kafkafs.errors import DiskError, KafkafsError, Unanswered, UsageError
from kafkafs.format.tiers.tier_names import TierPartition
from kafkafs.log.partition import RemotePart
from kafkafs.log.read_options import ReadOptions, TierSource
from kafkafs.log.segment import Segment
from kafkafs.log.tier.counting import Missing, Piece, needs_ends, pieces
from kafkafs.log.tier.layouts import DEEPEST, Layout, layout_of
from kafkafs.log.tier.local_gaps import Gap, OnDisk, on_disk, whole_log, without_overlaps
from kafkafs.log.tier.opening import Epochs, Upload
from kafkafs.log.tier.partition_facts import PartitionFacts
from kafkafs.log.tier.remote_files import RemoteFiles, UnlistedFiles
from kafkafs.log.tier.sources import keys_of, open_objects
from kafkafs.log.tier.upload_facts import UploadFacts, newest_lineage

if TYPE_CHECKING:
    from kafkafs.log.tier.remote_log_metadata import RecordedUploads  # it loads Kafka's schemas

RELIST_S = 10.0
SILENT_S = 5.0  # how long callers with little patience do not wait for a store that did not answer one of them
_STORAGE = "kafka-tiered-storage"  # where LocalTieredStorage puts all below `rsm.config.dir`: either may be named


class Tier:
    """The value of `-o tiered=`. Opened once for a data directory.

    A directory is looked at when this is made, a bucket when something of it is asked for, under `_lock`: a mount has
    given up its rights by then.
    """

    def __init__(self, source: TierSource, options: ReadOptions, deepest: int = DEEPEST) -> None:
        """`deepest`: how many folders a prefix may have put above the topics'. UsageError if a directory has no tier
        that is known, and for keys that are none."""
        self.options = options
        self._lock = ProcessLock()
        self._layout: Layout | None = None
        objects = open_objects(source.place, options)
        if isinstance(objects, DirectoryObjects) and _STORAGE in objects.folders():
            objects = open_objects(f"{source.place}/{_STORAGE}", options)
        self.is_far = not isinstance(objects, DirectoryObjects)
        self.silent: CachedValue[bool] = CachedValue(SILENT_S, options.clock)
        """Known for a moment after a caller with little patience has waited in vain."""
        keys = keys_of(source.keys)
        cache = ChunkCache(source.cache_size, may_ask_store) if self.is_far else ChunkCache(source.cache_size)
        self._open: Callable[[], Layout] = lambda: layout_of(objects, cache, keys, options, deepest)
        try:
            if not self.is_far:
                self._layout = self._open()
        except KafkafsError as error:
            raise UsageError(str(error)) from error

    def before_asking(self) -> None:
        """Call this before something of it is waited for. See `blocking.may_ask_store`."""
        if self.is_far:
            may_ask_store()
        else:
            may_block()

    def check(self) -> str:
        """Why it does not answer, which those hear that read of it; empty if it does. UsageError if nothing known
        is there."""
        try:
            _ = self.layout
        except DiskError as error:
            return str(error)
        return ""

    @property
    def layout(self) -> Layout:
        """How it is laid out. DiskError if it does not answer; UsageError if nothing known is there."""
        if self._layout is None:
            self.before_asking()
            with acquired(self._lock):
                self._layout = self._layout or self._open()
        return self._layout


class _Known(NamedTuple):
    """The remote segments of the log: those below the disk's part, then those in each of its gaps."""

    disk: OnDisk
    remote: tuple[tuple[Segment, ...], ...]
    log_start: int | None = None  # where that was all that was known
    end_offset: int | None = None  # behind the last offset that counts in the tier alone, if it is known


class _Whole(NamedTuple):
    """The log that the disk's segments and the tier's make together."""

    local: tuple[Segment, ...]
    known: _Known
    log: tuple[Segment, ...]


class TierPart(RemotePart):
    """The tier's part of one partition. `_lock` is held while it is listed, `_relisting` while that is done behind the
    back of those who ask.

    `_whole` is written by any thread, at once and without a lock: two threads make the same of the same.
    """

    def __init__(self, tier: Tier, about: PartitionFacts) -> None:
        self._tier = tier
        self._about = about
        self._lock, self._relisting = threading.Lock(), threading.Lock()
        self._known: CachedValue[_Known] = CachedValue(RELIST_S, tier.options.clock)
        self._whole = _Whole((), _Known(OnDisk(None), ((),)), ())
        self._doubted: set[str] = set()
        self._facts = UploadFacts()
        self._is_expired = True
        self._unlisted: _Known | None = None  # what stands for all that was not asked for yet

    def segments(self, local: tuple[Segment, ...]) -> tuple[Segment, ...]:
        """The log: the segments of the disk, and the remote ones that count below them and in their gaps.

        If the tier does not answer, these are the known ones, or one that is an error. The segments on the disk answer
        anyway. A bucket that was not asked yet is not asked now: one stands for all, until something of it is needed.
        """
        known, whole = self._beside(self._on_disk(local)), self._whole
        if (whole.known is not known and whole.known != known) or whole.local != local:
            whole = self._whole = _Whole(local, known, whole_log(local, known.disk.gaps, known.remote, whole.log))
        return whole.log

    def _on_disk(self, local: tuple[Segment, ...]) -> OnDisk:
        """The disk's part of the log. No log is opened for it of a partition that cannot be tiered."""
        local_before, known, _ = self._whole
        if local_before == local and known.disk.is_sure:
            return known.disk
        start = local[0].base_offset if local else None
        return on_disk(local) if len(local) > 1 and self._about.in_tier(start) is not None else OnDisk(start)

    def _beside(self, disk: OnDisk) -> _Known:
        """The remote segments that go with that part."""
        known = self._known.fresh()
        if known is None and not self._is_expired and (latest := self._known.latest) and latest.disk == disk:
            self._begin_relisting(disk)
            return latest
        if known is None or known.disk != disk:
            if self._tier.is_far and disk.start is not None and (start := self._about.log_start()) is not None:
                return self._all_unlisted(start, disk)
            return self._ask(disk)
        self._unlisted = None
        return known

    def ask(self) -> bool:
        """Waits for what `segments` left unasked; whether there was such."""
        unlisted = self._unlisted
        if unlisted is not None:
            self._ask(unlisted.disk)
        return unlisted is not None

    def known_end(self) -> int | None:
        """The offset behind the last one that counts in the tier, as far as it was asked."""
        latest = self._known.latest
        return None if latest is None else latest.end_offset

    def may_have_all(self) -> bool:
        """True if no leader epoch is known on the disk: no log that a record was ever written to has none. A bucket is
        asked for what a broker's checkpoint lists."""
        return not self._about.lineage() and (not self._tier.is_far or self._about.log_start() is not None)

    def expire(self) -> None:
        """Make the next call list again. A segment that no call has returned yet is new."""
        if self._unlisted is not None:
            self._unlisted = None
            return
        self._is_expired = True
        self._known.expire()

    def _all_unlisted(self, start: int, disk: OnDisk) -> _Known:
        """One segment for all that is below the disk's part, and one for each of its gaps, which nobody asked for."""
        missing = [Gap(start, disk.start or 0), *disk.gaps]
        if not any(each.start < each.stop for each in missing) or self._about.in_tier(disk.start) is None:
            return _Known(disk, ((),) * len(missing))
        unlisted = self._unlisted
        if unlisted is None or (unlisted.disk, unlisted.log_start) != (disk, start):
            remote = tuple(self._not_listed(disk, each) for each in missing)
            unlisted = self._unlisted = _Known(disk, remote, start)
        return unlisted

    def _not_listed(self, disk: OnDisk, gap: Gap) -> tuple[Segment, ...]:
        piece = Piece(Upload(gap.start, "", {}), gap.stop)
        files = UnlistedFiles(piece, lambda: self._ask_soon(disk))
        return (Segment(files, gap.stop),) if gap.start < gap.stop else ()

    def _ask(self, disk: OnDisk) -> _Known:
        self._tier.before_asking()
        with acquired(self._lock):
            known = self._known.fresh()
            if known is None or known.disk != disk:
                known = self._known.store(self._listed(disk))
                self._is_expired = False
        return known

    def _ask_soon(self, disk: OnDisk) -> None:
        """As `_ask`; where the caller's patience ends before, it is asked for those to come, and this one is told."""
        if patience_left() == inf:
            self._ask(disk)
            return
        self._tier.before_asking()
        self._begin_relisting(disk)
        is_silent = self._tier.silent.fresh() is not None  # another caller has waited for it a moment ago
        if not self._relisting.acquire(timeout=0 if is_silent else patience_left()):
            self._tier.silent.store(True)
            raise Unanswered("the content of the tier is not known yet: it did not answer in time")
        self._relisting.release()

    def _begin_relisting(self, disk: OnDisk) -> None:
        """Has a thread of its own list the tier, unless one is at it."""
        if self._relisting.acquire(blocking=False):
            threading.Thread(target=self._relist, args=(disk,), name="relist", daemon=True).start()

    def _relist(self, disk: OnDisk) -> None:
        try:
            self._known.store(self._listed(disk))
            self._is_expired = False
            self._tier.silent.expire()
        except KafkafsError:
            self._is_expired = True  # the next caller gets the error
        finally:
            self._relisting.release()

    def _listed(self, disk: OnDisk) -> _Known:
        nothing = _Known(disk, ((),) * (1 + len(disk.gaps)))
        partition = self._about.in_tier(disk.start)
        if partition is None:
            return nothing
        try:
            layout, partition = self._tier.layout, self._about.identified(partition)
            recorded, start = self._about.recorded(partition), self._about.log_start()
            uploads = _counted(layout.uploads(partition, () if recorded is None else recorded.finished), recorded)
            if not uploads and (start is None or (recorded is None and disk.start is not None and start >= disk.start)):
                return nothing
            uploads, lineage = self._with_what_decides(layout, partition, uploads)
        except (DiskError, UsageError) as error:
            return _Known(disk, self._unknown(str(error), disk))
        made = [_made(uploads, recorded, lineage, disk.start, start)]
        if disk.start is None and made[0]:
            made[0][-1] = self._facts.to_the_end(layout, made[0][-1])
        for gap in disk.gaps:
            made.append(_made(uploads, recorded, lineage, gap.stop, gap.start))
        latest = self._known.latest
        known = {} if latest is None else {each.base_offset: each for part in latest.remote for each in part}
        remote = tuple(
            tuple(_segment(layout, piece, lineage, self._doubted, known) for piece in part)
            for part in without_overlaps(made)
        )
        alone = _made(uploads, recorded, lineage, None, start)
        return _Known(disk, remote, end_offset=alone[-1].stop if alone else None)

    def _with_what_decides(
        self, layout: Layout, partition: TierPartition, uploads: list[Upload]
    ) -> tuple[list[Upload], Epochs]:
        """The uploads with all that decides which of them count, and the lineage.

        Names are enough for a bucket as long as no two uploads begin together: whoever opens an upload that is not as
        its name says has all of them read (`doubted`). Nothing is read of uploads that the metadata topic has.
        """
        lineage, unread = self._about.lineage(), sum(not each.is_measured for each in uploads)
        if not unread and lineage:
            return uploads, lineage
        is_plain = len({each.base_offset for each in uploads}) == len(uploads) == unread
        is_near = not self._tier.is_far
        if is_near or self._doubted or not (lineage and is_plain):
            uploads = self._facts.completed(layout, uploads)
            lineage = lineage or newest_lineage(layout, partition, uploads)
        if is_near or self._doubted or not is_plain or needs_ends(uploads, lineage):
            uploads = self._facts.with_ends(layout, uploads)
        return uploads, lineage

    def _unknown(self, trouble: str, disk: OnDisk) -> tuple[tuple[Segment, ...], ...]:
        """Return the known segments of a tier that does not answer, and one segment that is an error in place of the
        unknown ones. DiskError if the disk has nothing either."""
        if disk.start is None:
            raise DiskError(trouble)
        latest, kept = self._known.latest, []
        if latest is not None:
            kept = [each for each in latest.remote[0] if each.next_base is not None and each.next_base <= disk.start]
        start = (kept[-1].next_base if kept else self._about.log_start()) or 0
        below = [*kept, *self._error(trouble, start, disk.start)]
        return tuple(below), *(self._error(trouble, *gap) for gap in disk.gaps)

    def _error(self, trouble: str, start: int, stop: int) -> tuple[Segment, ...]:
        """A segment that is an error, if there are offsets for it."""
        piece = Piece(Upload(start, "", {}, trouble=trouble), stop)
        return (Segment(RemoteFiles(None, piece, (), self._doubted), stop),) if start < stop else ()


def _counted(found: Sequence[Upload], recorded: "RecordedUploads | None") -> list[Upload]:
    """The uploads that count by the metadata topic, those that are not there too; all if it does not mention the
    partition. Those of which its records are lost count as without it."""
    if recorded is None:
        return list(found)
    there = {each.segment_id for each in found}
    counted = [
        each.completed(recorded.finished[each.segment_id]) if each.segment_id in recorded.finished else each
        for each in recorded.counted(found)
    ]
    gone = "{!r} is not in the tier, and the metadata topic calls it finished"
    missing = [
        upload._replace(trouble=gone.format(upload.object))
        for name, upload in recorded.finished.items() if name not in there
    ]  # fmt: skip
    return counted + missing


def _made(
    uploads: Sequence[Upload],
    recorded: "RecordedUploads | None",
    lineage: Epochs,
    local_start: int | None,
    start: int | None,
) -> list[Piece]:
    """The pieces of the log. An upload that the metadata topic does not tell of counts for offsets that those have not
    which it calls finished."""
    finished = [each for each in uploads if recorded is None or each.segment_id in recorded.finished]
    made = pieces(finished, lineage, local_start, start)
    if len(finished) == len(uploads) or recorded is None:
        return made
    missing = Missing(made, lineage, local_start)
    filling = [each for each in uploads if each.segment_id not in recorded.finished and missing.are_in(each)]
    return pieces([*finished, *filling], lineage, local_start, start)


def _segment(layout: Layout, piece: Piece, lineage: Epochs, doubted: set[str], earlier: dict[int, Segment]) -> Segment:
    """The segment of a piece; the one of the look before, with all that it remembers, where it is the same."""
    known = earlier.get(piece.upload.base_offset)
    if known is not None and isinstance(known.files, RemoteFiles) and known.files.is_of(piece, lineage):
        return known
    return Segment(RemoteFiles(layout, piece, lineage, doubted), piece.stop)
