"""A tier that is open, and what it has of a partition: segments below those of the disk.

    tier = Tier(TierSource("s3://bucket/prefix"), options)
    part = RemotePart(tier, partition, ...)      of one partition
    part.segments(local_start)                   those that count, like segments of the disk

Which there are is looked up anew where the disk's own first segment is another one, every `RELIST_S`, and where
something was not as it was told.
"""

import threading
from collections.abc import Callable, Sequence

from kafkafs.disk.blocking import acquired, may_block
from kafkafs.disk.cached_value import CachedValue
from kafkafs.disk.chunk_cache import ChunkCache
from kafkafs.disk.objects import open_objects, read_keys
from kafkafs.errors import NotFound
from kafkafs.format.tiers.names import TierPartition
from kafkafs.log.options import ReadOptions, TierSource
from kafkafs.log.segment import Segment
from kafkafs.log.tier.counting import Piece, pieces
from kafkafs.log.tier.layouts import DEEPEST, Layout, layout_of
from kafkafs.log.tier.remote_files import RemoteFiles
from kafkafs.log.tier.upload import Epochs, Upload

RELIST_S = 10.0


class Tier:
    """What a user named by `-o tiered=`. Opened once for a tree; UsageError where nothing known lies there."""

    def __init__(self, source: TierSource, options: ReadOptions, deepest: int = DEEPEST) -> None:
        """`deepest`: how many folders a prefix may have put above the topics'."""
        objects = open_objects(source.place, options)
        self.shown_as = objects.shown_as
        self.options = options
        keys = None
        if source.keys:
            from kafkafs.format.tiers.cipher import Keys  # it takes a library that other tiers do without

            keys = Keys(read_keys(source.keys))
        self.layout: Layout = layout_of(objects, ChunkCache(source.cache_size), keys, options, deepest)


class RemotePart:
    """What a tier has of one partition. `_lock` is held while it is listed."""

    def __init__(
        self,
        tier: Tier,
        partition: Callable[[], TierPartition | None],
        lineage: Callable[[], Epochs],
        finished: Callable[[TierPartition], dict[str, Upload] | None],
    ) -> None:
        """`partition` and `lineage` are as of now, by the small files of its directory; `finished` is what the metadata
        topic says, None where it has no word."""
        self._tier = tier
        self._partition = partition
        self._lineage = lineage
        self._finished = finished
        self._lock = threading.Lock()
        self._known: CachedValue[tuple[int | None, tuple[Segment, ...]]] = CachedValue(RELIST_S, tier.options.clock)
        self._doubted: set[str] = set()

    def segments(self, local_start: int | None) -> tuple[Segment, ...]:
        """The remote segments that count, below the one at `local_start` of the disk; all where the disk has none."""
        known = self._known.fresh()
        if known is None or known[0] != local_start:
            may_block()
            with acquired(self._lock):
                known = self._known.store((local_start, self._listed(local_start)))
        return known[1]

    def expire(self) -> None:
        """Look anew at the next call."""
        self._known.expire()

    def _listed(self, local_start: int | None) -> tuple[Segment, ...]:
        partition = self._partition()
        if partition is None:
            return ()
        layout, lineage = self._tier.layout, self._lineage()
        uploads = _counted(layout.uploads(partition), self._finished(partition))
        if self._doubted or len({each.base_offset for each in uploads}) < len(uploads):
            uploads = [_told(layout, each) for each in uploads]
            lineage = lineage or _newest_lineage(uploads)
        made = pieces(uploads, lineage, local_start)
        earlier = {} if self._known.latest is None else {each.base_offset: each for each in self._known.latest[1]}
        return tuple(_segment(layout, piece, lineage, self._doubted, earlier) for piece in made)


def _counted(found: Sequence[Upload], finished: dict[str, Upload] | None) -> list[Upload]:
    """The uploads that the metadata topic calls finished, those that are not there too; all where it has no word."""
    if finished is None:
        return list(found)
    there = {each.segment_id: each for each in found}
    counted = [there[name].told(told) for name, told in finished.items() if name in there]
    missing = [told._replace(is_missing=True) for name, told in finished.items() if name not in there]
    return counted + missing


def _told(layout: Layout, upload: Upload) -> Upload:
    if upload.epochs is not None:
        return upload
    try:
        return layout.told(upload)
    except NotFound:
        return upload  # it goes away: who opens it hears so


def _newest_lineage(uploads: Sequence[Upload]) -> Epochs:
    """Of a tier alone: the epochs of the newest upload, which every earlier one of this lineage has, too."""
    with_epochs = [each for each in uploads if each.epochs]
    if not with_epochs:
        return ()
    newest = max(with_epochs, key=lambda each: (each.epochs[-1][0] if each.epochs else -1, each.base_offset))
    return newest.epochs or ()


def _segment(layout: Layout, piece: Piece, lineage: Epochs, doubted: set[str], earlier: dict[int, Segment]) -> Segment:
    """The segment of a piece; the one of the look before, with all that it remembers, where it is the same."""
    known = earlier.get(piece.upload.base_offset)
    if known is not None and isinstance(known.files, RemoteFiles) and known.files.is_of(piece, lineage):
        return known
    return Segment(RemoteFiles(layout, piece, lineage, doubted), piece.stop)
