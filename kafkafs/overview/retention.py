"""The segments of a partition that a broker would delete at a moment, and why the others stay.

The rules are those of UnifiedLog.deleteOldSegments, read in 4.3.1: segments below the log start go under every policy,
then the size decides, then the time. Each step begins at the oldest segment and ends at the first that stays. No step
passes the high watermark. An active segment goes like any other, unless it is empty: the broker rolls it first.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

Reason = Literal["time", "size", "compact-only", "future-timestamp", "high-watermark", "unlimited"]


class SegmentFacts(NamedTuple):
    """The facts that decide about a segment. `largest_ms` is its largest timestamp, else the time of its last write."""

    base_offset: int
    size: int
    largest_ms: int


class Limits(NamedTuple):
    """The settings of a topic that decide. `delete` and `compact` are its cleanup policy; -1 means no limit."""

    delete: bool
    compact: bool
    retention_ms: int
    retention_bytes: int

    @property
    def is_limited(self) -> bool:
        """True if a segment can ever be too old, or the log too large."""
        return self.delete and (self.retention_ms >= 0 or self.retention_bytes >= 0)


class Retention(NamedTuple):
    """The answer: how many segments go, their bytes, the bytes that stay by reason, and when the next one may go."""

    segments: int
    deletable: int
    kept: Counter[Reason]
    next_deletion_ms: int | None


def retention(
    segments: Sequence[SegmentFacts],
    limits: Limits,
    log_start: int,
    log_end: int,
    high_watermark: int | None,
    at_ms: int,
) -> Retention:
    """Return what a broker deletes of a log at `at_ms`. `high_watermark` is None if it does not count."""
    bounds = [segment.base_offset for segment in segments[1:]] + [log_end] * bool(segments)
    passable = [high_watermark is None or high_watermark >= bound for bound in bounds]
    behind = list(accumulate((segment.size for segment in reversed(segments)), initial=0))[-2::-1]  # bytes behind each
    first = _passed(segments, passable, 0, lambda number: bounds[number] <= log_start and number + 1 < len(segments))
    if limits.delete and limits.retention_bytes >= 0:
        first = _passed(segments, passable, first, lambda number: behind[number] >= limits.retention_bytes)
    if limits.delete and limits.retention_ms >= 0:
        first = _passed(
            segments, passable, first, lambda number: at_ms - segments[number].largest_ms > limits.retention_ms
        )
    deletable = sum(segment.size for segment in segments[:first])
    kept: Counter[Reason] = Counter()
    reason: Reason = "size"
    for number in range(first, len(segments)):
        reason = _reason(segments[number], limits, passable[number], at_ms) or reason
        kept[reason] += segments[number].size
    return Retention(first, deletable, +kept, _next_deletion(segments, limits, passable, first))


def _passed(segments: Sequence[SegmentFacts], passable: Sequence[bool], first: int, goes: Callable[[int], bool]) -> int:
    """The first segment that stays, from number `first` on. `goes`: true if a segment is to be deleted."""
    while first < len(segments) and passable[first] and not _is_empty_end(segments, first) and goes(first):
        first += 1
    return first


def _is_empty_end(segments: Sequence[SegmentFacts], number: int) -> bool:
    return number == len(segments) - 1 and not segments[number].size


def _reason(segment: SegmentFacts, limits: Limits, is_passable: bool, at_ms: int) -> Reason | None:
    """Why one stays; None if it is past its limit, and waits for an earlier segment only."""
    if not limits.delete:
        return "compact-only" if limits.compact else "unlimited"
    if not limits.is_limited:
        return "unlimited"
    if not is_passable:
        return "high-watermark"
    if limits.retention_ms < 0:
        return "size"
    if segment.largest_ms > at_ms:
        return "future-timestamp"
    return "time" if at_ms - segment.largest_ms <= limits.retention_ms else None


def _next_deletion(
    segments: Sequence[SegmentFacts], limits: Limits, passable: Sequence[bool], first: int
) -> int | None:
    if not limits.delete or limits.retention_ms < 0 or first == len(segments):
        return None
    if not passable[first] or _is_empty_end(segments, first):
        return None
    return segments[first].largest_ms + limits.retention_ms + 1
