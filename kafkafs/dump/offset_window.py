"""Which part of a log is dumped: offsets, and the position from which they can be read.

A window never changes while a log is dumped. Of its bounds, `start` and `position` cut what comes first, `stop` ends
the pass: once a run holds an entry behind it (`runs.within`), the one that shows the log says `is_past`, and no more is
read. Entries are kept whole; which of their records are shown, `of` and `has` tell.
"""

from dataclasses import dataclass

from kafkafs.format.records import Records

MAX_OFFSET = 2**63 - 1


@dataclass(frozen=True, slots=True)
class OffsetWindow:
    """Offsets in [start, stop); a bound that is None is no bound. `position`: what stands before is not looked at."""

    start: int | None = None
    stop: int | None = None
    position: int = 0

    def of(self, found: Records) -> Records:
        """Those of the records that are in it."""
        if self.start is None and self.stop is None:
            return found
        return found.between(0 if self.start is None else self.start, MAX_OFFSET if self.stop is None else self.stop)

    def has(self, offset: int) -> bool:
        """Whether a record of that offset is wanted."""
        return (self.start is None or offset >= self.start) and (self.stop is None or offset < self.stop)


WHOLE = OffsetWindow()
