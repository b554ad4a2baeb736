"""The voice that explains a lookup: which only `.explain` listens to."""

from collections.abc import Callable

Trace = Callable[[str], None]
"""Hears what a lookup does, a sentence a step."""


def no_trace(_: str) -> None:
    """The `Trace` of lookups that need no explanation."""
