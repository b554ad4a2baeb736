"""Topics of which a real broker of 4.3.1 deleted that many segments. Their truth: `test_brokers.py`, run by hand.

A segment holds one batch of SIZE bytes, or a little more; its age is that of its only record. Empty: nothing was ever
written behind it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

HOUR_MS = 3_600_000
SIZE = 1000
"""About the bytes of a segment."""

FOREVER = 24 * 365 * 20


@dataclass(frozen=True)
class Case:
    """A topic: its settings, the ages of its segments in hours (below zero: in the future), the oldest first, how many
    segments lie below the log start, and how many segments the broker deleted."""

    settings: Mapping[str, object]
    ages: tuple[int, ...]
    deleted: int
    below_start: int = 0
    later: Mapping[str, object] = field(default_factory=dict)  # settings that it got once its records were deleted


DAY = {"retention.ms": 24 * HOUR_MS}
CASES: Mapping[str, Case] = {
    "by-time": Case(DAY, (90, 60, 30, 20, 10, 1), 3),
    "all-by-time": Case(DAY, (90, 60, 30), 3),
    "nothing-by-time": Case(DAY, (20, 10, 1), 0),
    "first-is-young": Case(DAY, (1, 90, 90, 90), 0),
    "young-between": Case(DAY, (90, 1, 90, 90), 1),
    "in-the-future": Case(DAY, (90, -1000, 90, 90), 1),
    "by-size": Case({"retention.ms": -1, "retention.bytes": 3 * SIZE + SIZE // 2}, (9, 8, 7, 6, 5, 4), 2),
    "size-is-large": Case({"retention.ms": -1, "retention.bytes": 100 * SIZE}, (9, 8, 7), 0),
    "no-bytes": Case({"retention.ms": -1, "retention.bytes": 0}, (9, 8, 7), 3),
    "size-then-time": Case({**DAY, "retention.bytes": 4 * SIZE + SIZE // 2}, (90, 60, 50, 40, 3, 2), 4),
    "time-is-stricter": Case({**DAY, "retention.bytes": 5 * SIZE + SIZE // 2}, (90, 80, 70, 60, 50, 2), 5),
    "size-is-stricter": Case({**DAY, "retention.bytes": 2 * SIZE + SIZE // 2}, (90, 20, 19, 18, 3, 2), 3),
    "compact": Case({"cleanup.policy": "compact", **DAY}, (90, 60, 30), 0),
    "compact-and-delete": Case({"cleanup.policy": "compact,delete", **DAY}, (90, 60, 30, 2), 3),
    "no-limit": Case({"retention.ms": -1}, (90, 60, 30), 0),
    "no-policy": Case({"cleanup.policy": "", **DAY}, (90, 60, 30), 0),
    "below-start": Case({"retention.ms": -1}, (9, 8, 7, 6), 2, 2),
    "below-start-compact": Case({"retention.ms": -1}, (9, 8, 7, 6), 2, 2, {"cleanup.policy": "compact"}),
    "below-start-then-size": Case(
        {"retention.ms": -1, "retention.bytes": 2 * SIZE + SIZE // 2}, (9, 8, 7, 6, 5, 4), 3, 2
    ),
    "by-defaults": Case({}, (900, 600, 300, 2), 3),
    "empty": Case(DAY, (), 0),
    "no-time": Case({"retention.ms": 0}, (90, 60, 1), 3),
    "size-in-the-future": Case({"retention.ms": -1, "retention.bytes": SIZE + SIZE // 2}, (9, -1000, 7, 6), 2),
    "compact-and-size": Case(
        {"cleanup.policy": "compact,delete", "retention.ms": -1, "retention.bytes": SIZE + SIZE // 2}, (9, 8, 7, 6), 2
    ),
    "below-start-no-policy": Case({"retention.ms": -1}, (9, 8, 7, 6), 2, 2, {"cleanup.policy": ""}),
    "below-start-then-time": Case(DAY, (90, 60, 50, 2), 3, 1),
    "below-start-all": Case({"retention.ms": -1}, (9, 8, 7), 2, 3),
}
