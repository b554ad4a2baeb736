"""A partition of many segments: `info.json`, and the first lookup of a mount; both in wall time, from a fresh mount.

What the machine does besides is in it: on a busy one the ratio between the sizes tells more than the milliseconds.
"""

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.bench import many, mounts
from tests.bench.data import Bench
from tests.bench.measure import Result, Spread, in_turns, seconds

_INFO_GOALS_MS = {1_000: 150.0, 20_000: 3_000.0}
_AGAIN_GOAL_MS = 300.0
_LATER_S = 1.0
"""Of the most segments, once more: so much later that nothing of the first look counts as that of now."""
_SIZES = (1_000, 4_000, 8_000)
_LINEAR = 2.2
"""Twice the segments in at most so many times the time: linear, with room for noise."""


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    for count, goal in _INFO_GOALS_MS.items():
        data = many.make_segments(bench, count)
        took = in_turns({"ours": partial(_fresh, data, _read_info)}, rounds)["ours"]
        yield Result("segments", f"info.json of {count:,} segments", "ms", took, goal=goal, at_most=True)
    most = max(_INFO_GOALS_MS)
    took = in_turns({"ours": partial(_again, many.make_segments(bench, most))}, rounds)["ours"]
    yield Result("segments", f"info.json of {most:,} segments, again", "ms", took, goal=_AGAIN_GOAL_MS, at_most=True)
    places = {str(count): many.make_segments(bench, count) for count in _SIZES}
    lookups: dict[str, Spread] = in_turns(
        {name: partial(_fresh, data, _stat_point) for name, data in places.items()}, rounds
    )
    small, middle, large = (lookups[str(count)] for count in _SIZES)
    yield Result("segments", "first lookup in 1,000 segments", "ms", small)
    yield Result("segments", "first lookup in 8,000 segments", "ms", large, "4,000", middle, _LINEAR, at_most=True)


def _fresh(data: Path, action: Callable[[Path], object]) -> float:
    """Milliseconds of the first action in a new mount."""
    with mounts.kafkafs(data) as ours:
        return 1000 * seconds(partial(action, ours.path / "many-0"))


def _again(data: Path) -> float:
    """Milliseconds of the second read in a mount."""
    with mounts.kafkafs(data) as ours:
        _read_info(ours.path / "many-0")
        time.sleep(_LATER_S)
        return 1000 * seconds(partial(_read_info, ours.path / "many-0"))


def _read_info(place: Path) -> object:
    return (place / "info.json").read_bytes()


def _stat_point(place: Path) -> object:
    return os.stat(place / "by-offset/500")
