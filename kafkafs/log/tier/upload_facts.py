"""The facts that uploads tell before they are counted: their epochs, their ends, and the lineage of the newest.

The metadata topic has all of it. Without that topic it is read from the tier, once for each upload: nothing in a tier
is ever overwritten.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress

import numpy as np

from kafkafs.errors import Lost, NotFound, Vanished
from kafkafs.format.batch import LARGEST_HEADER
from kafkafs.format.index import LARGEST_LOG, OffsetIndex, TimeIndex
from kafkafs.format.tiers.tier_names import EPOCHS, MANIFEST, TierPartition
from kafkafs.log.segment import Segment
from kafkafs.log.tail import find_tail, last_offset_of
from kafkafs.log.tier.counting import Piece, epoch_at
from kafkafs.log.tier.layouts import Layout
from kafkafs.log.tier.opening import Epochs, Upload
from kafkafs.log.tier.remote_files import RemoteFiles

_MOST_ENTRIES = 1 << 20
"""Most entries of an index that is read whole: Kafka's default limit for the file is 10 MiB."""


class UploadFacts:
    """The facts that were read of one partition's uploads. Its user holds a lock, or can do without what another thread
    reads."""

    def __init__(self) -> None:
        self._completed: dict[object, Upload] = {}
        self._ends: dict[object, int | None] = {}
        self._last: tuple[object, int] | None = None

    def completed(self, layout: Layout, uploads: Iterable[Upload]) -> list[Upload]:
        """The uploads with their epochs. An upload that cannot be read stays as it is: whoever opens it hears why."""
        before, self._completed = self._completed, {}
        return [self._of(layout, each, before) for each in uploads]

    def _of(self, layout: Layout, upload: Upload, before: dict[object, Upload]) -> Upload:
        if upload.epochs is not None or (upload.trouble and EPOCHS not in upload.files):
            return upload
        key = _identity(upload)
        if (completed := before.get(key)) is None:
            try:
                completed = layout.completed(upload)
            except (NotFound, Lost):
                return upload
        self._completed[key] = completed
        return completed

    def with_ends(self, layout: Layout, uploads: Iterable[Upload]) -> list[Upload]:
        """The uploads with their end offsets. The log gives an end if nothing else does."""
        before, self._ends = self._ends, {}
        found = []
        for each in uploads:
            key = _identity(each)
            if each.end_offset is None and not each.trouble:
                end = self._ends[key] = before[key] if key in before else end_of(layout, each)
                each = _with_end(layout, each, end)
            elif each.end_offset is None and {"index", "timeindex"} & each.files.keys():
                end = self._ends[key] = before[key] if key in before else _end_behind(layout, each) - 1
                each = each._replace(end_offset=end)
            found.append(each)
        return found

    def to_the_end(self, layout: Layout, piece: Piece) -> Piece:
        """The last piece of a partition that no disk goes on from, up to the offset behind it.

        No broker uploads an empty log. So an upload without a batch that can be read has lost at least one offset. An
        index entry that names an offset behind the last batch proves that the log was cut. DiskError if the store does
        not answer.
        """
        upload, stop = piece
        if stop is not None and (upload.trouble or upload.is_measured or stop - 1 != upload.end_offset):
            return piece
        key, end = _identity(upload), upload.base_offset + 1
        if self._last is not None and self._last[0] == key:
            end = self._last[1]
        elif not upload.trouble:
            end = _end_behind(layout, upload)
            self._last = key, end
        return piece if end == stop else Piece(upload._replace(end_offset=None), end)


def _identity(upload: Upload) -> object:
    return upload.base_offset, upload.segment_id, upload.files.get("log"), upload.files.get(MANIFEST)


def end_of(layout: Layout, upload: Upload) -> int | None:
    """The last offset in an upload's log; None if it cannot be read."""
    try:
        return last_offset_of(find_tail(_segment(layout, upload), None))
    except (Lost, NotFound, Vanished):
        return None


def _with_end(layout: Layout, upload: Upload, end: int | None) -> Upload:
    """The upload with that end. If no batch can be read in it, it counts for what no other upload has."""
    if end is None or end >= upload.base_offset:
        return upload._replace(end_offset=end)
    trouble = f"{upload.object!r} has no batch that can be read"
    return upload._replace(end_offset=_end_behind(layout, upload) - 1, trouble=trouble)


def _segment(layout: Layout, upload: Upload) -> Segment:
    return Segment(RemoteFiles(layout, Piece(upload, None), (), set()), None)


def _end_behind(layout: Layout, upload: Upload) -> int:
    """See `UploadFacts.to_the_end`, of an upload whose end nobody wrote down. Its indexes tell, if its log is lost."""
    whole = upload._replace(trouble="", size=upload.size if "log" in upload.files else LARGEST_LOG)
    segment, last = _segment(layout, whole), upload.base_offset
    with suppress(Lost, NotFound, Vanished):
        tail = find_tail(segment, None)
        rest = segment.log().read(tail.position, LARGEST_HEADER)
        last = max(last, last_offset_of(tail) + any(rest))  # bytes that are no batch: at least one offset is lost
    with suppress(Lost, NotFound, Vanished):
        last = max(last, _last_indexed(segment.indexes.offset_index), _last_indexed(segment.indexes.time_index))
    return last + 1


def _last_indexed(index: OffsetIndex | TimeIndex) -> int:
    """The last offset that an index names; -1 if it names none, or its entries do not ascend."""
    if not 0 < index.entries <= _MOST_ENTRIES:
        return -1
    entries = np.frombuffer(index.read_slots(index.entries), index.dtype)
    columns = [entries[name].astype(np.int64) for name in index.columns]
    if not len(entries) or entries["offset"][0] < 0 or not all((np.diff(each) > 0).all() for each in columns):
        return -1
    return index.base_offset + int(entries["offset"][-1])


def newest_lineage(layout: Layout, partition: TierPartition, uploads: Sequence[Upload]) -> Epochs:
    """The epochs that the newest upload's broker knew, for a partition that is on no disk. Earlier uploads of the
    lineage have a part of them. If the tier does not have them, those that are recorded for the upload itself follow
    on the lineage of the upload before."""
    known = [each for each in uploads if each.epochs or not each.trouble]
    recorded: list[Epochs] = []
    lineage = Epochs()
    for each in sorted(known, key=lambda each: (_last_epoch(each), each.base_offset), reverse=True):
        own = each.epochs or ()
        if not each.trouble:
            with suppress(NotFound, Lost):
                lineage = layout.lineage(partition, each)
            if lineage and all(epoch_at(lineage, max(start, each.base_offset)) == epoch for epoch, start in own[-1:]):
                break
            lineage = ()
        if own:
            recorded.append(own)
    for own in reversed(recorded):
        lineage = _followed_by(lineage, own)
    return lineage


def _followed_by(earlier: Epochs, own: Epochs) -> Epochs:
    """The epochs of an upload behind those of `earlier` that they did not cut. An upload that begins within an epoch
    notes its own base offset for that epoch."""
    first_epoch, base_offset = own[0]
    kept = tuple(each for each in earlier if each[0] <= first_epoch and each[1] <= base_offset)
    return kept + tuple(each for each in own if not kept or each[0] > kept[-1][0])


def _last_epoch(upload: Upload) -> int:
    return upload.epochs[-1][0] if upload.epochs else -1
