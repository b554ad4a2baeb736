"""A mount of 10,000 partitions of 10 segments: how soon it answers, and what it takes in memory."""

import os
import time
from collections.abc import Iterator

from tests.bench import many, mounts
from tests.bench.data import Bench
from tests.bench.measure import Result, Spread

PARTITIONS = 10_000
_GOAL_S, _GOAL_MB = 1.0, 150.0


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    place = many.make(bench, PARTITIONS)
    took, resident = [], []
    for _ in range(rounds):
        started = time.perf_counter()
        with mounts.kafkafs(place) as ours:
            os.stat(ours.path / f"many-{PARTITIONS - 1}/by-offset/5")
            took.append(time.perf_counter() - started)
            os.listdir(ours.path)
            resident.append(ours.resident() / 1e6)
    yield Result(
        "scale", "mount of 10,000 x 10 segments, first answer", "s", Spread(tuple(took)), goal=_GOAL_S, at_most=True
    )
    yield Result("scale", "mount of 10,000 x 10 segments, memory", "MB", Spread(tuple(resident)), goal=_GOAL_MB,
                 at_most=True)  # fmt: skip
