"""Why a broker keeps a segment, as far as the disk tells: what stands in the way of `retention.ms`.

A segment goes when the newest of its records is older than `retention.ms`; so one record from the future keeps all of
it. The segment that is written to stays, and what lies below the log start goes at the broker's next look, whatever its
age. Sources: UnifiedLog.deleteRetentionMsBreachedSegments, deleteLogStartOffsetBreachedSegments.
"""

from dataclasses import dataclass

from kafkafs.spark.segments import SegmentSnapshot


@dataclass(slots=True)
class Kept:
    """Bytes of segments by why they are still there, made to be added up."""

    active: int = 0
    """Of segments that are written to."""
    future: int = 0
    """Of closed ones whose newest record lies in the future."""
    below_start: int = 0
    """Of those wholly below the log start."""
    untimed: int = 0
    """Of those without times: the age of the file counts."""
    waiting: int = 0
    """Of all others: `retention.ms` counts from the newest record."""
    future_until_ms: int | None = None
    """The latest of the future records."""
    waits_since_ms: int | None = None
    """Of the segments that wait the smallest newest timestamp: this one is the next to go."""

    def add(self, other: "Kept") -> None:
        """Adds those of another segment."""
        for name in ("active", "future", "below_start", "untimed", "waiting"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        untils = [each for each in (self.future_until_ms, other.future_until_ms) if each is not None]
        sinces = [each for each in (self.waits_since_ms, other.waits_since_ms) if each is not None]
        self.future_until_ms, self.waits_since_ms = max(untils, default=None), min(sinces, default=None)


def why_kept(snapshot: SegmentSnapshot, newest_ms: int | None, now_ms: int) -> Kept:
    """Of one segment whose newest record is of `newest_ms`; None where no record has a time."""
    next_base, size = snapshot.segment.next_base, snapshot.size
    if next_base is None:
        return Kept(active=size)
    if next_base <= snapshot.log.start_offset:
        return Kept(below_start=size)
    if newest_ms is None:
        return Kept(untimed=size)
    if newest_ms > now_ms:
        return Kept(future=size, future_until_ms=newest_ms)
    return Kept(waiting=size, waits_since_ms=newest_ms)
