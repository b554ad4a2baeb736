"""What a `.follow.jsonl` reads from: the log as it is at each moment, as long as it still is the one it began with."""

from kafkafs.errors import Vanished
from kafkafs.log.lineage import Lineage
from kafkafs.view.scene import Scene
from kafkafs.view.targets import RangeTarget, Sight


class Following:
    """One follower. Its text goes on with what the log gets; what it has given out cannot change any more."""

    def __init__(self, scene: Scene, sight: Sight, target: RangeTarget) -> None:
        self._scene = scene
        self._target = target
        self._start = target.start(sight, decoded=True)
        self.earliest = max(sight.decoded.end_offset if self._start is None else self._start, sight.log.start_offset)
        """Nothing below this offset is ever given out."""
        self._lineage = Lineage(sight.log)
        self._files: dict[int, int] = {}
        self._given = -1
        self._seen = -1

    def has_more(self, _: int) -> bool:
        """Whether there may be records behind those of the last sight by now. Vanished where it is another log."""
        return self._now().decoded.end_offset > self._seen

    def start(self, sight: Sight) -> int | None:
        """Where the target begins; None as long as the log has not got so far. Once it begins it stays."""
        if self._start is None:
            self._start = self._target.start(sight, decoded=True)
        return self._start

    def give(self, end: int) -> None:
        """The records below `end` are given out."""
        if end > self._given:
            self._given = end

    def sight_from(self, offset: int) -> Sight:
        """The log to read from `offset` on.

        Who goes back must find what was there: compaction may have taken records away, and then it is Vanished.
        """
        sight = self._now()
        files = {segment.base_offset: segment.files["log"].inode for segment in sight.log.segments}
        if offset < self._given and any(
            inode != files.get(base) for base, inode in self._files.items() if base < self._given
        ):
            raise Vanished(f"{self._scene.shown_as} was compacted while it was followed; open it again")
        self._files = files
        self._seen = sight.decoded.end_offset
        return sight

    def _now(self) -> Sight:
        def now(sight: Sight) -> Sight:
            self._lineage.follow(sight.log)
            return sight

        return self._scene.go_on(now)
