"""Lookups beside heavy work: `stat` of points while four readers decode gzip."""

import os
import random
import subprocess
import time
from collections.abc import Iterator

from tests.bench import mounts
from tests.bench.data import SMALL, Bench, topic_of
from tests.bench.measure import Result, Spread
from tests.bench.sections.points import warm

READERS = 4
ROUND_S = 4.0
_GOAL_MS = 10.0


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    heavy = topic_of("gzip")
    warm(bench.log(heavy).parent)
    warm(bench.log(SMALL).parent)
    with mounts.kafkafs(bench.path) as ours:
        loop = f"while :; do cat {ours.path}/{heavy}-0/by-offset/0..{bench.records(heavy)}.jsonl >/dev/null; done"
        readers = [subprocess.Popen(["bash", "-c", loop]) for _ in range(READERS)]
        try:
            found = Spread(
                tuple(_p99_ms(f"{ours.path}/{SMALL}-0/by-offset", bench.records(SMALL)) for _ in range(rounds))
            )
        finally:
            for reader in readers:
                reader.kill()
                reader.wait()
    yield Result("latency", "p99 of stat beside four gzip decoders", "ms", found, goal=_GOAL_MS, at_most=True)


def _p99_ms(place: str, count: int) -> float:
    took, end = [], time.monotonic() + ROUND_S
    while time.monotonic() < end:
        name = f"{place}/{random.randrange(count)}"
        started = time.perf_counter()
        os.stat(name)
        took.append(time.perf_counter() - started)
        time.sleep(0.001)
    return sorted(took)[int(len(took) * 0.99)] * 1e3
