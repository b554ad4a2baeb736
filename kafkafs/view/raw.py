"""Raw views: the bytes of batches exactly as on disk, of a point the one batch, of a range all that overlap it.

The content holds the files that it was opened on, the first `HELD` of a long range; the rest it finds as long as the
broker has not unlinked them. Bytes that truncation could change under it are checked (see `log.extents`): a reader gets
"Stale file handle", never a mix.
"""

import threading
import time
from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from kafkafs.disk.blocking import acquired
from kafkafs.disk.budget import Budget
from kafkafs.disk.prefetch import Prefetch
from kafkafs.errors import NotFound, Vanished
from kafkafs.format.batch import CODECS, Batch
from kafkafs.log.lineage import Lineage
from kafkafs.log.log import HELD, LocatedBatch
from kafkafs.log.look import Extent, Look
from kafkafs.log.places import Anchor, AtOffset, BetweenOffsets, PointTarget, RangeTarget
from kafkafs.log.segment import Segment
from kafkafs.view.node import KEEP_S, Attributes, NoXattrs, PagesWhileOpen
from kafkafs.view.partition_view import PartitionView

SETTLED_NS = 2 * 10**9
"""A file that has not changed for so long gets another time when it does, however coarse the clock is."""


class BatchContent:
    """The bytes of one batch."""

    __slots__ = ("_extent", "kept_as", "size")

    follows = False

    def __init__(self, extent: Extent, kept_as: Hashable) -> None:
        """`extent` holds its file."""
        self._extent = extent
        self.size = extent.end - extent.position
        self.kept_as = kept_as

    def read(self, offset: int, size: int) -> bytes | memoryview:
        """The bytes at `offset`."""
        size = min(size, self.size - offset)
        return self._extent.read(self._extent.position + offset, size) if size > 0 else b""

    def close(self) -> None:
        """Free the file; a later read is empty."""
        self.size = 0
        del self._extent


class ReadAhead:
    """The common part of contents of files: the next bytes are read before they are asked for; see
    `node.Prefetching`."""

    def __init__(self, budget: Budget) -> None:
        self._prefetch = Prefetch(budget)

    @property
    def prefetch_is_due(self) -> bool:
        """True if `prefetch` would help a reader that goes on."""
        return self._prefetch.is_due

    def prefetch(self) -> None:
        """Reads what will be asked for next. For a worker thread."""
        self._prefetch.fill()


class RawContent(ReadAhead):
    """The bytes of extents, one behind the other. `growth` finds what an open range has got since: one thread at a time
    asks it, under `_growing`, and replaces `_stretch` by one assignment."""

    follows = False

    def __init__(
        self,
        extents: list[Extent],
        growth: "Growth | None",
        version: Hashable,
        kept_as: Hashable,
        budget: Budget,
    ) -> None:
        super().__init__(budget)
        self._stretch = _stretch(extents)
        self._growth = growth
        self._growing = threading.Lock()
        self.version = version
        self.kept_as = kept_as

    @property
    def size(self) -> int:
        """Exact: of all extents, with what an open range got until it last grew."""
        return self._stretch.starts[-1]

    def read(self, offset: int, size: int) -> bytes | memoryview:
        """The bytes at `offset` of all extents together; a read that crosses into another file is put together."""
        if self._growth is not None and offset + size > self.size:
            try:
                self._grow(self._growth)
            except Vanished:  # the appended part is gone; the rest is read on in the files that are held
                if offset >= self.size:
                    raise
        extents, starts = self._stretch
        size = min(size, starts[-1] - offset)
        if size <= 0:
            return b""
        number = bisect_right(starts, offset) - 1
        within = offset - starts[number]
        extent = extents[number]
        if within + size <= extent.end - extent.position:
            return extent.read(extent.position + within, size, self._prefetch)
        parts = []
        while size > 0:
            extent = extents[number]
            length = min(size, extent.end - extent.position - within)
            parts.append(bytes(extent.read(extent.position + within, length, self._prefetch)))
            number, within, size = number + 1, 0, size - length
        return b"".join(parts)

    def grow(self) -> int:
        """Takes in what was appended: the size by now. A range that became another log grows no more."""
        if self._growth is not None:
            with suppress(Vanished):
                self._grow(self._growth)
        return self.size

    def _grow(self, growth: "Growth") -> None:
        """Takes in what was appended. Readers that are in the middle of a read keep the lists that they have."""
        with acquired(self._growing):
            extents = list(self._stretch.extents)
            for extent in growth.more():
                last = extents[-1] if extents else None
                if last is not None and last.is_followed_by(extent):
                    extents[-1] = extent._replace(position=last.position, held=last.held)
                else:
                    extents.append(extent.hold())
            self._stretch = _stretch(extents)

    def close(self) -> None:
        """Free the files, and what was read ahead; a later read is empty."""
        self._stretch, self._growth = _stretch([]), None
        self._prefetch.close()


class _Stretch(NamedTuple):
    """Extents, the place of each in the content, and the end of the last one."""

    extents: list[Extent]
    starts: list[int]


def _stretch(extents: list[Extent]) -> _Stretch:
    starts = [0]
    for extent in extents:
        starts.append(starts[-1] + extent.end - extent.position)
    return _Stretch(extents, starts)


class Growth:
    """The bytes that an open range got since its content was made, each time it is asked."""

    def __init__(self, view: PartitionView, look: Look, target: RangeTarget) -> None:
        self._view = view
        self._target = target
        start = target.start(look, isolated=False)
        self._end_offset = None if start is None else max(start, look.log.end_offset)
        self._lineage = Lineage(look.log)

    def more(self) -> list[Extent]:
        """The extents from where the last answer ended; none if the log was deleted, which does not grow any more.
        Vanished if it is not the same any more, or what came next was deleted before it was asked for."""
        try:
            return self._view.ask(self._more)
        except NotFound:
            return []

    def _more(self, look: Look) -> list[Extent]:
        self._lineage.follow(look.log)
        if self._end_offset is None:
            self._end_offset = self._target.start(look, isolated=False)
        if self._end_offset is None or look.log.end_offset <= self._end_offset:
            return []
        if look.log.start_offset > self._end_offset:
            raise Vanished(f"{self._view.shown_as}: batches were deleted before they were read; open it again")
        extents = Extent.between(look.log, self._end_offset, None)
        self._end_offset = look.log.end_offset
        return extents


class RawPoint:
    """The one batch that a point leads to. It remembers that itself, where `PointView` would take 6 of 66 us more."""

    def __init__(self, view: PartitionView, target: PointTarget) -> None:
        self._view = view
        self._target = target
        self._known: LocatedBatch | None = None

    def attributes(self) -> Attributes:
        """The batch's exact size and largest timestamp; of damage in its place the size, and the log's own time."""
        return self._view.ask(self._attributes)

    def _attributes(self, look: Look) -> Attributes:
        segment, found = self._known = self._target.batch(look)
        timestamp_ms = found.max_timestamp if isinstance(found, Batch) else -1
        return self._view.point_attributes(segment.log(), found.size, timestamp_ms, KEEP_S)

    def open(self) -> BatchContent:
        """The batch, or the damage, with its file held. For whether its pages are kept see `_kept_as`."""
        return self._view.ask(self._open)

    def _open(self, look: Look) -> BatchContent:
        segment, found = self._last(look)
        extent = Extent.of(look.log, segment, found.position, found.end, segment.hold())
        return BatchContent(extent, _kept_as(self._view, self._target, [extent]))

    def _last(self, look: Look) -> LocatedBatch:
        """The batch, or the damage, that was returned last, if it is still in the log; else that as of the look."""
        known = self._known
        return known if known is not None and look.log.has(known[0]) else self._target.batch(look)

    def xattrs(self) -> Mapping[str, bytes]:
        """The place of the batch and the facts in its header. For damage, only segment, position and size."""
        return self._view.ask(self._xattrs)

    def _xattrs(self, look: Look) -> Mapping[str, bytes]:
        segment, found = self._last(look)
        segment.check_log()
        if not isinstance(found, Batch):
            return extended({"segment": segment.log_name, "position": found.position, "size": found.size})
        offset = self._target.leads_to(look)
        return batch_xattrs(segment, found, offset)


class RawRange(NoXattrs):
    """All batches that overlap a range; without an end it grows with the log."""

    def __init__(self, view: PartitionView, target: RangeTarget) -> None:
        self._view = view
        self._target = target
        # the meaning of the name moves with the log: an `open` gives this range
        self._shown: tuple[int, int | None] | None = None

    def attributes(self) -> Attributes:
        """The exact size as of now; the largest timestamp that the indexes tell. Kept no moment where it may grow."""
        return self._view.ask(self._attributes)

    def _attributes(self, look: Look) -> Attributes:
        start, end = self._shown = self._target.offsets(look, isolated=False)
        extents = Extent.between(look.log, start, end)
        size = sum(extent.end - extent.position for extent in extents)
        settled = end is not None and end < look.log.end_offset
        timestamp_ms = look.log.indexed_timestamp(start, end)
        keep_s = KEEP_S if settled else 0.0
        of_bytes = [extent.segment for extent in extents]
        segments = of_bytes or [*look.log.segments_between(start, end)] or look.log.growing()
        about = self._view.file_attributes((segment.log() for segment in segments), size, timestamp_ms, keep_s)
        return about._replace(version=_version(extents, end))

    def open(self) -> RawContent:
        """The content that is there now. Without an end, it grows as it is read. For whether pages are kept see
        `_kept_as`."""
        return self._view.ask(self._open)

    def _open(self, look: Look) -> RawContent:
        self._target.check_end(look, isolated=False)
        start, end = self._shown or self._target.offsets(look, isolated=False)
        growth = Growth(self._view, look, self._target) if end is None else None
        extents = Extent.between(look.log, start, end)
        extents = [extent.hold() for extent in extents[:HELD]] + extents[HELD:]
        kept_as = _kept_as(self._view, self._target, extents)
        if kept_as is None and sum(extent.end - extent.position for extent in extents) <= self._view.options.exact:
            kept_as = PagesWhileOpen(_version(extents, look.log.end_offset))  # to be mapped, too
        return RawContent(extents, growth, _version(extents, end), kept_as, self._view.resources.prefetch)


def _version(extents: Sequence[Extent], end: int | None) -> Hashable:
    """The identity of a range among those of the same name: where it begins and ends in which generations of which
    segments.

    For a range that grows, not its end but its last segment counts: the range is the same as long as that is."""
    places = [(extent.segment.number, extent.position, extent.end) for extent in extents]
    if end is None and places:
        places[-1] = (*places[-1][:2], -1)
    return hash(tuple(places))


def _kept_as(view: PartitionView, target: PointTarget | RangeTarget, extents: Sequence[Extent]) -> Hashable:
    """The identity of the bytes, if the kernel may keep them: see `node.Content`.

    A segment that was cut or compacted is another one as soon as somebody looks, and the time of change of its file,
    which nobody can set back, tells before that: but for what changed within the last tick of the clock. A name that
    means other offsets as the log grows is not worth it: `latest`, and `now` and `-1h`, which are but times here.
    """
    if not view.options.cache_keep:
        return None
    match target:
        case AtOffset(Anchor.ABSOLUTE) | BetweenOffsets(AtOffset(Anchor.ABSOLUTE), AtOffset(Anchor.ABSOLUTE)):
            pass
        case _:
            return None
    held = [extent.held for extent in extents if extent.held is not None]
    if len(held) < len(extents):
        return None
    times = [file.stat().st_ctime_ns for file in held]
    if max(times, default=0) > time.time_ns() - SETTLED_NS:
        return None
    return tuple((each.segment.number, each.position, each.end, at) for each, at in zip(extents, times, strict=True))


def batch_xattrs(segment: Segment, batch: Batch, offset: int | None) -> Mapping[str, bytes]:
    """The extended attributes of a point: its batch, and the offset that the point leads to."""
    base_offset, records = segment.contents(batch)
    return extended({
        "segment": segment.log_name,
        "position": batch.position,
        "size": batch.size,
        "base_offset": base_offset,
        "last_offset": batch.last_offset,
        "records": records,
        "codec": CODECS[batch.codec] if batch.codec < len(CODECS) else batch.codec,
        "max_timestamp": batch.max_timestamp,
        "producer_id": batch.producer_id,
        "offset": offset,
    })  # fmt: skip


def extended(values: Mapping[str, object]) -> Mapping[str, bytes]:
    """Extended attributes by their full names; what is None has none."""
    return {f"user.kafkafs.{name}": str(value).encode() for name, value in values.items() if value is not None}
