"""What a `.follow.jsonl` reads from: the log as it is at each moment, as long as it still is the one it began with."""

from kafkafs.errors import Vanished
from kafkafs.log.lineage import Lineage
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.targets import LogSnapshot, RangeTarget


class Follower:
    """One follower. Its text goes on with what the log gets; what it has given out cannot change any more."""

    def __init__(self, view: PartitionView, snapshot: LogSnapshot, target: RangeTarget) -> None:
        self._view = view
        self._target = target
        self._start = target.start(snapshot, isolated=True)
        self.earliest = max(
            snapshot.visible.visible_end if self._start is None else self._start, snapshot.log.start_offset
        )
        """Nothing below this offset is ever given out."""
        self._lineage = Lineage(snapshot.log)
        self._files: dict[int, int] = {}  # each segment's inode when something of it was given out first
        self._given = -1
        self._reached = -1  # the end of the last snapshot that was read to its end
        self._seen = -1

    def has_more(self) -> bool:
        """Whether there may be records behind those of the last snapshot by now. Vanished where it is another log.

        Threads may ask at once, as `Stream` does so outside of its lock. A log that one of them got earlier and follows
        later looks cut, and is Vanished too: `Partition.answer` heals that, since it asks again of the newest.
        """
        return self._now().visible.visible_end > self._seen

    def start(self, snapshot: LogSnapshot) -> int | None:
        """Where the target begins; None as long as the log has not got so far. Once it begins it stays."""
        if self._start is None:
            self._start = self._target.start(snapshot, isolated=True)
        return self._start

    def give(self, end: int) -> None:
        """The records below `end` are given out."""
        if end > self._given:
            self._given = end

    def reach(self, snapshot: LogSnapshot) -> None:
        """All visible records of this snapshot are given out."""
        self._reached = snapshot.visible.visible_end

    def snapshot_from(self, offset: int) -> LogSnapshot:
        """The log to read from `offset` on.

        A reader that goes back must find what was there, and one that goes on what came next. Compaction, retention
        or a deletion of records may have taken either away: then it is Vanished.
        """
        snapshot = self._now()
        files = {segment.base_offset: segment.listed["log"].inode for segment in snapshot.log.segments}
        first = min(files, default=0)
        before = {base: inode for base, inode in self._files.items() if first <= base < self._given}
        if offset < self._given:
            changed = any(inode != files.get(base) for base, inode in before.items())
            if changed or offset < snapshot.log.start_offset:
                raise Vanished(f"{self._view.shown_as} was compacted or cut while it was followed; open it again")
        elif self._missed(snapshot, offset):
            raise Vanished(f"{self._view.shown_as}: records were deleted before they were read; open it again")
        self._files = {**files, **before}
        self._seen = snapshot.visible.visible_end
        return snapshot

    def _missed(self, snapshot: LogSnapshot, offset: int) -> bool:
        """Whether the log starts behind the next record by now, for a reader that has begun."""
        start = self.start(snapshot)
        has_begun = max(self._given, self._reached) >= 0
        return has_begun and start is not None and snapshot.log.start_offset > max(start, offset, self._reached)

    def _now(self) -> LogSnapshot:
        """The log as it is now; Vanished where it is not the same any more."""
        return self._view.go_on(self._followed)

    def _followed(self, snapshot: LogSnapshot) -> LogSnapshot:
        self._lineage.follow(snapshot.log)
        return snapshot
