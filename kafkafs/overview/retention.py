"""The segments of a partition that a broker would delete at a moment, and why the others stay.

The rules are those of UnifiedLog.deleteOldSegments, read in 4.3.1: segments below the log start go under every policy,
then the size decides, then the time. Each step begins at the oldest segment and ends at the first that stays. No step
passes the high watermark. An active segment goes like any other, unless it is empty: the broker rolls it first.
"""

from collections import Counter
from collections.abc import Sequence
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
    first = _below_start(segments, log_start, passable)
    if limits.is_limited:
        first = _too_large(segments, limits.retention_bytes, passable, first)
        first = _too_old(segments, limits.retention_ms, passable, first, at_ms)
    deletable = sum(segment.size for segment in segments[:first])
    kept: Counter[Reason] = Counter()
    reason: Reason = "size"
    for number in range(first, len(segments)):
        reason = _reason(segments[number], limits, passable[number], at_ms) or reason
        kept[reason] += segments[number].size
    return Retention(first, deletable, +kept, _next_deletion(segments, limits, passable, first))


def _below_start(segments: Sequence[SegmentFacts], log_start: int, passable: Sequence[bool]) -> int:
    first = 0
    while first + 1 < len(segments) and passable[first] and segments[first + 1].base_offset <= log_start:
        first += 1
    return first


def _too_large(segments: Sequence[SegmentFacts], limit: int, passable: Sequence[bool], first: int) -> int:
    left = sum(segment.size for segment in segments[first:]) - limit
    if limit < 0 or left < 0:
        return first
    while first < len(segments) and passable[first] and left - segments[first].size >= 0:
        if _is_empty_end(segments, first):
            break
        left -= segments[first].size
        first += 1
    return first


def _too_old(segments: Sequence[SegmentFacts], limit_ms: int, passable: Sequence[bool], first: int, at_ms: int) -> int:
    if limit_ms < 0:
        return first
    while first < len(segments) and passable[first] and at_ms - segments[first].largest_ms > limit_ms:
        if _is_empty_end(segments, first):
            break
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
