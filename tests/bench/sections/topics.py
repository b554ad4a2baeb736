"""All partitions of a topic merged by time, beside what their own ranges take one after the other; memory of 200.

Each partition is the same log under another number, so that the merge goes to another partition with every line.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.bench import mounts, peers
from tests.bench.data import SEGMENTED, Bench, topic_of
from tests.bench.many import made_once
from tests.bench.measure import Result, Spread, in_turns, rate
from tests.bench.sections.points import warm

_PARTITIONS = 8
_GOAL = 1.5
_MANY, _MANY_SEGMENTS = 200, 10
_MIB_EACH = 4.0


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    for topic, parts in ((topic_of("none"), _PARTITIONS), (topic_of("lz4"), _PARTITIONS), (SEGMENTED[10], 2)):
        data = _linked(bench, topic, parts)
        count = bench.records(topic) * parts
        with mounts.kafkafs(data) as ours:
            warm(data / "t-0")  # the others are the same files
            names = {"merged": [ours.path / ".topics/t/by-time/0...jsonl"],
                     "parts": [ours.path / f"t-{number}/by-time/0...jsonl" for number in range(parts)]}  # fmt: skip
            found = in_turns({name: _slowness(count, paths) for name, paths in names.items()}, rounds)
        yield Result("topics", f"{parts} x {topic} merged, .jsonl", "ns/record", found["merged"], "its parts",
                     found["parts"], _GOAL, at_most=True)  # fmt: skip
    with mounts.kafkafs(_linked(bench, SEGMENTED[1000], _MANY, _MANY_SEGMENTS)) as ours:
        before = ours.resident()
        peers.run(["cat", ours.path / ".topics/t/by-time/0...jsonl"])
        each = (ours.resident() - before) / _MANY / (1 << 20)
    yield Result("topics", f"memory a partition, {_MANY} merged", "MiB", Spread((each,)), goal=_MIB_EACH, at_most=True)


def _slowness(count: int, paths: Sequence[Path]) -> Callable[[], float]:
    return lambda: 1e3 / rate(count, lambda: peers.run(["cat", *paths]))()


def _linked(bench: Bench, topic: str, parts: int, segments: int | None = None) -> Path:
    """A data directory with the topic's log, or its first segments, as each partition of `t`."""

    def fill(place: Path) -> None:
        logs = sorted(bench.path.joinpath(f"{topic}-0").glob("*.log"))[:segments]
        for number in range(parts):
            (place / f"t-{number}").mkdir()
            for file in (file for log in logs for file in log.parent.glob(f"{log.stem}.*")):
                os.link(file, place / f"t-{number}" / file.name)

    return made_once(bench, f"{bench.home.name}-{topic}-{parts}", fill)
