"""The facts that uploads tell before they are counted: their epochs, their ends, and the lineage of the newest.

The metadata topic tells all of it. Without that topic it is read from the tier, once for each upload: nothing in a tier
is ever overwritten.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from kafkafs.errors import Lost, NotFound, Vanished
from kafkafs.format.tiers.tier_names import MANIFEST, TierPartition
from kafkafs.log.log import find_tail
from kafkafs.log.segment import Segment
from kafkafs.log.tier.counting import Piece, epoch_at
from kafkafs.log.tier.layouts import Layout
from kafkafs.log.tier.remote_files import RemoteFiles
from kafkafs.log.tier.upload import Epochs, Upload


class ToldUploads:
    """The facts that were read of one partition's uploads. Its user holds a lock, or can do without what another thread
    reads."""

    def __init__(self) -> None:
        self._told: dict[object, Upload] = {}
        self._ends: dict[object, int | None] = {}

    def told(self, layout: Layout, uploads: Iterable[Upload]) -> list[Upload]:
        """The uploads with their epochs. An upload that cannot be read stays as it is: whoever opens it hears why."""
        before, self._told = self._told, {}
        return [self._of(layout, each, before) for each in uploads]

    def _of(self, layout: Layout, upload: Upload, before: dict[object, Upload]) -> Upload:
        if upload.epochs is not None or upload.trouble:
            return upload
        key = _identity(upload)
        if (told := before.get(key)) is None:
            try:
                told = layout.told(upload)
            except (NotFound, Lost):
                return upload
        self._told[key] = told
        return told

    def with_ends(self, layout: Layout, uploads: Iterable[Upload]) -> list[Upload]:
        """The uploads with their ends, which a log tells if nothing else does."""
        before, self._ends = self._ends, {}
        found = []
        for each in uploads:
            if each.end_offset is None and not each.trouble:
                key = _identity(each)
                end = self._ends[key] = before[key] if key in before else end_of(layout, each)
                found.append(each._replace(end_offset=end))
            else:
                found.append(each)
        return found


def _identity(upload: Upload) -> object:
    return upload.base_offset, upload.segment_id, upload.files.get("log"), upload.files.get(MANIFEST)


def end_of(layout: Layout, upload: Upload) -> int | None:
    """The last offset in an upload's log; None if it cannot be read."""
    segment = Segment(RemoteFiles(layout, Piece(upload, None), (), set()), None)
    try:
        tail = find_tail(segment, None)
    except (Lost, NotFound, Vanished):
        return None
    if tail.last is None:
        return tail.end_offset - 1
    return max(tail.last.last_offset, tail.last.base_offset + tail.last.count - 1)  # see `overlaps`


def newest_lineage(layout: Layout, partition: TierPartition, uploads: Sequence[Upload]) -> Epochs:
    """The epochs that the newest upload's broker knew, for a partition that is on no disk. Earlier uploads of the
    lineage have a part of them."""
    there = [each for each in uploads if not each.trouble]
    newest = max(there, key=lambda each: (_last_epoch(each), each.base_offset), default=None)
    if newest is None:
        return ()
    lineage, own = Epochs(), newest.epochs or ()
    with suppress(NotFound, Lost):
        lineage = layout.lineage(partition, newest)
    is_its_own = all(epoch_at(lineage, max(start, newest.base_offset)) == epoch for epoch, start in own[-1:])
    return lineage if lineage and is_its_own else own


def _last_epoch(upload: Upload) -> int:
    return upload.epochs[-1][0] if upload.epochs else -1
