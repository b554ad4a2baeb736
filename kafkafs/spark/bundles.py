"""Units of a job's work, bundled: neighbours together, so that small ones do not each cost a task."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

_MOST_UNITS = 64  # in a bundle


class Unit(Protocol):
    """A piece of a job's work: a picklable value."""

    @property
    def weight(self) -> int:
        """Bytes that it will read, about."""
        ...


Work = TypeVar("Work", bound=Unit)


def bundles(units: Sequence[Work], enough: int) -> list[list[Work]]:
    """The units in their order, in lists of about `enough` bytes."""
    found: list[list[Work]] = []
    size = enough
    for unit in units:
        if size >= enough or len(found[-1]) >= _MOST_UNITS:
            found.append([])
            size = 0
        found[-1].append(unit)
        size += unit.weight
    return found
