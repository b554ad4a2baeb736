"""Listings by `os.scandir`: of a root with 10,000 partitions, and of a partition with 1,000 segments."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench import many, mounts
from tests.bench.data import SEGMENTED, Bench
from tests.bench.measure import Result, in_turns, seconds
from tests.bench.sections.scale import PARTITIONS

_GOAL = 300_000.0


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    with mounts.kafkafs(many.make(bench, PARTITIONS)) as ours:
        yield _listed("root of 10,000 partitions", ours.path, rounds)
    with mounts.kafkafs(bench.path) as ours:
        place = ours.path / f"{SEGMENTED[1000]}-0"
        for name in ("by-offset", "by-time", "segments"):
            yield _listed(f"{name} of 1,000 segments", place / name, rounds)


def _listed(what: str, path: Path, rounds: int) -> Result:
    found = in_turns({"scandir": _rate(path, lambda: sum(1 for _ in os.scandir(path)))}, rounds)
    return Result("listing", what, "entries/s", found["scandir"], goal=_GOAL)


def _rate(path: Path, action: Callable[[], object]) -> Callable[[], float]:
    count = len(os.listdir(path))
    return lambda: count / seconds(action)
