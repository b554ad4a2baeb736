"""Small values that lookups share: a trusted place to start, and the voice that explains."""

from collections.abc import Callable
from dataclasses import dataclass

Trace = Callable[[str], None]
"""Where a lookup says what it does, for `.explain`."""


def no_trace(_: str) -> None:
    """The `Trace` of lookups that nobody wants explained."""


@dataclass(frozen=True, slots=True)
class Start:
    """A place to scan from: every batch before `position` ends below `first_offset`."""

    position: int
    first_offset: int
