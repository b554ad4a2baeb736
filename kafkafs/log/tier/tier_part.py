"""A tier's part of one partition: the remote segments of its log, listed when they are needed, and remembered.

    tier = Tier(TierSource("s3://bucket/prefix"), options)
    part = TierPart(tier, PartitionFacts(partition))
    part.segments(local)                         the log: those of the disk, and those of the tier that count

The list of remote segments is made again if the disk begins elsewhere or has another gap, every `RELIST_S`, and if a
file was not as listed.
"""

import threading
from math import inf
from typing import NamedTuple

from kafkafs.disk.blocking import acquired, patience_left
from kafkafs.disk.cached_value import CachedValue
from kafkafs.errors import KafkafsError, Unanswered
from kafkafs.log.partition import RemotePart
from kafkafs.log.segment import Segment
from kafkafs.log.tier.counting import Piece
from kafkafs.log.tier.local_gaps import LocalGap, OnDisk, on_disk, whole_log
from kafkafs.log.tier.opening import Upload
from kafkafs.log.tier.partition_uploads import NOTHING, PartitionFacts, PartitionUploads, RemoteSegments
from kafkafs.log.tier.remote_files import UnlistedFiles
from kafkafs.log.tier.tier import Tier

RELIST_S = 10.0


class _Whole(NamedTuple):
    """The log that the disk's segments and the tier's make together."""

    local: tuple[Segment, ...]
    known: RemoteSegments
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
        self._known: CachedValue[RemoteSegments] = CachedValue(RELIST_S, tier.options.clock)
        self._whole = _Whole((), NOTHING, ())
        self._uploads = PartitionUploads(tier, about, self._known)
        self._is_expired = True
        self._unlisted: RemoteSegments | None = None  # segments that stand for all that was not asked for yet

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

    def _beside(self, disk: OnDisk) -> RemoteSegments:
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

    def _all_unlisted(self, start: int, disk: OnDisk) -> RemoteSegments:
        """One segment for all that is below the disk's part, and one for each of its gaps, which nobody asked for."""
        missing = [LocalGap(start, disk.start or 0), *disk.gaps]
        if not any(each.start < each.stop for each in missing) or self._about.in_tier(disk.start) is None:
            return RemoteSegments(disk, ((),) * len(missing))
        unlisted = self._unlisted
        if unlisted is None or (unlisted.disk, unlisted.log_start) != (disk, start):
            remote = tuple(self._not_listed(disk, each) for each in missing)
            unlisted = self._unlisted = RemoteSegments(disk, remote, start)
        return unlisted

    def _not_listed(self, disk: OnDisk, gap: LocalGap) -> tuple[Segment, ...]:
        piece = Piece(Upload(gap.start, "", {}), gap.stop)
        files = UnlistedFiles(piece, lambda: self._ask_soon(disk))
        return (Segment(files, gap.stop),) if gap.start < gap.stop else ()

    def _ask(self, disk: OnDisk) -> RemoteSegments:
        self._tier.before_asking()
        with acquired(self._lock):
            known = self._known.fresh()
            if known is None or known.disk != disk:
                known = self._known.store(self._uploads.beside(disk))
                self._is_expired = False
        return known

    def _ask_soon(self, disk: OnDisk) -> None:
        """As `_ask`, within the caller's patience. If it ends first, this caller gets an error, and the listing goes on
        for later ones."""
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
            self._known.store(self._uploads.beside(disk))
            self._is_expired = False
            self._tier.silent.expire()
        except KafkafsError:
            self._is_expired = True  # the next caller gets the error
        finally:
            self._relisting.release()
