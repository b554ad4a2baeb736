"""The uploads of one partition that count, as segments of its log; and the facts that decide which ones count.

Uploads tell one part of that (`upload_facts`), the partition's own files and the metadata topic the rest.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafkafs.disk.cached_value import ValidatedValue
from kafkafs.errors import DiskError, UsageError
from kafkafs.format.tiers.tier_names import TierPartition
from kafkafs.log.segment import Segment
from kafkafs.log.tier.counting import LeftOver, Piece, needs_ends, pieces
from kafkafs.log.tier.layouts import Layout
from kafkafs.log.tier.local_gaps import OnDisk, without_overlaps
from kafkafs.log.tier.opening import Epochs, Upload
from kafkafs.log.tier.remote_files import RemoteFiles
from kafkafs.log.tier.tier import Tier
from kafkafs.log.tier.upload_facts import UploadFacts, newest_lineage

if TYPE_CHECKING:
    from kafkafs.log.tier.remote_log_metadata import RecordedUploads  # it loads Kafka's schemas


class PartitionFacts:
    """The facts about a partition that is only in a tier, if nothing else tells of it. Subclasses ask disks, each time
    as of now."""

    def __init__(self, partition: TierPartition) -> None:
        self._partition = partition

    def in_tier(self, local_start: int | None) -> TierPartition | None:  # noqa: ARG002 (of no disk)
        """The partition, by the first offset that the disk has of it; None if it cannot be in the tier."""
        return self._partition

    def identified(self, partition: TierPartition) -> TierPartition:
        """The partition with a topic id that the disk has lost. This call may wait."""
        return partition

    def lineage(self) -> Epochs:
        """The leader epochs that the disk has; none if the uploads have them."""
        return ()

    def log_start(self) -> int | None:
        """The log start; None if it is unknown."""
        return None

    def recorded(self, partition: TierPartition) -> "RecordedUploads | None":  # noqa: ARG002 (nothing is recorded)
        """The uploads by the tier's metadata topic; None if it does not mention the partition."""
        return None


class RemoteSegments(NamedTuple):
    """The remote segments of the log: those below the disk's part, then those in each of its gaps."""

    disk: OnDisk
    remote: tuple[tuple[Segment, ...], ...]
    log_start: int | None = None  # set if nothing else was known
    end_offset: int | None = None  # behind the last offset that counts in the tier alone, if it is known


NOTHING = RemoteSegments(OnDisk(None), ((),))
"""The segments of a tier that was not asked yet."""


class PartitionUploads:
    """Makes a new list at each call. Its user holds a lock, or can do without what another thread finds out."""

    def __init__(self, tier: Tier, about: PartitionFacts, known: ValidatedValue[RemoteSegments]) -> None:
        """`known`: the last list, also of another thread that was faster."""
        self._tier = tier
        self._about = about
        self._known = known
        self._doubted: set[str] = set()  # ids of uploads that are otherwise than their names let expect
        self._facts = UploadFacts()

    def beside(self, disk: OnDisk) -> RemoteSegments:
        """The remote segments that go with that part of the disk; the known ones where they are the same. It waits for
        the tier. If that does not answer, the known ones count, and errors beside them; DiskError if the disk has
        nothing either."""
        nothing = RemoteSegments(disk, ((),) * (1 + len(disk.gaps)))
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
            return RemoteSegments(disk, self._unknown(str(error), disk))
        made = [_made(uploads, recorded, lineage, disk.start, start)]
        if disk.start is None and made[0]:
            made[0][-1] = self._facts.to_the_end(layout, made[0][-1])
        for gap in disk.gaps:
            made.append(_made(uploads, recorded, lineage, gap.stop, gap.start))
        known = {each.base_offset: each for part in (self._known.latest or NOTHING).remote for each in part}
        remote = tuple(
            tuple(_segment(layout, piece, lineage, self._doubted, known) for piece in part)
            for part in without_overlaps(made)
        )
        alone = _made(uploads, recorded, lineage, None, start)
        return RemoteSegments(disk, remote, end_offset=alone[-1].stop if alone else None)

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
        unknown ones."""
        if disk.start is None:
            raise DiskError(trouble)
        below = (self._known.latest or NOTHING).remote[0]
        kept = [each for each in below if each.next_base is not None and each.next_base <= disk.start]
        start = (kept[-1].next_base if kept else self._about.log_start()) or 0
        return (*kept, *self._error(trouble, start, disk.start)), *(self._error(trouble, *gap) for gap in disk.gaps)

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
    missing = LeftOver(made, lineage, local_start)
    filling = [each for each in uploads if each.segment_id not in recorded.finished and missing.are_in(each)]
    return pieces([*finished, *filling], lineage, local_start, start)


def _segment(layout: Layout, piece: Piece, lineage: Epochs, doubted: set[str], earlier: dict[int, Segment]) -> Segment:
    """The segment of a piece; the one of the look before, with all that it remembers, where it is the same."""
    known = earlier.get(piece.upload.base_offset)
    if known is not None and isinstance(known.files, RemoteFiles) and known.files.is_of(piece, lineage):
        return known
    return Segment(RemoteFiles(layout, piece, lineage, doubted), piece.stop)
