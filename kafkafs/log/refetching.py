"""Fetch again what arrived damaged from a remote tier: at once, and again for readers that come some seconds later."""

from collections.abc import Hashable, Iterator
from time import monotonic

from kafkafs.disk.data_file import DataFile
from kafkafs.log.batch_runs import BatchRun, Bounds, Damage, batch_runs

AGAIN_S = 5.0
"""How long a piece that arrived damaged twice is not fetched again."""


class Refetches:
    """The pieces that arrived damaged, and when each was fetched again. Any thread may ask: a race costs a fetch."""

    __slots__ = ("_not_before",)

    def __init__(self) -> None:
        self._not_before: dict[Hashable, float] = {}

    def is_due(self, name: Hashable) -> bool:
        """True if that piece is to be fetched again now. Then it is not due for the next `AGAIN_S`."""
        now = monotonic()
        is_due = now >= self._not_before.get(name, now)
        if is_due:
            self._not_before[name] = now + AGAIN_S
        return is_due


def fetched_again(
    file: DataFile, bounds: Bounds, runs: Iterator[BatchRun | Damage], refetches: Refetches
) -> Iterator[BatchRun | Damage]:
    """Yield the same walk through a remote log, without the damage that a second fetch mends."""
    tried = set[int]()  # a slow store can take longer than `AGAIN_S`
    while True:
        for item in runs:
            if isinstance(item, Damage) and item.position not in tried and refetches.is_due(item.position):
                tried.add(item.position)
                if file.forget(item.position, item.size):
                    runs = batch_runs(file, item.position, bounds._replace(first_offset=item.base_offset))
                    break
            yield item
        else:
            return
