"""How soon a command answers without a mount: beside Python with numpy, which everything here needs."""

import subprocess
import sys
from collections.abc import Iterator

from tests.bench.data import SMALL, Bench
from tests.bench.measure import Result, Spread, in_turns, seconds
from tests.mounting import KAFKAFS

_GOAL_MS = 150.0
_FLOOR = [sys.executable, "-c", "import numpy"]


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    """The time that each command takes on top of that, round by round."""
    place = f"{SMALL}-0"
    commands = {
        "cat of one record": ["cat", bench.path, f"{place}/by-offset/latest.jsonl"],
        "stat of one record": ["stat", bench.path, f"{place}/by-offset/latest"],
        "ls -l": ["ls", "-l", bench.path],
        "cat .cluster/state.json": ["cat", bench.path, ".cluster/state.json"],
    }
    contestants = {"numpy": _FLOOR} | {what: [KAFKAFS, *words] for what, words in commands.items()}
    found = in_turns({what: lambda words=words: _milliseconds(words) for what, words in contestants.items()},  # type: ignore[misc]
                     max(rounds, 9))  # fmt: skip
    for what in commands:
        more = Spread(tuple(a - b for a, b in zip(found[what].values, found["numpy"].values, strict=True)))
        goal = _GOAL_MS if what == "cat of one record" else None
        yield Result("starting", f"{what}, more than importing numpy", "ms", more, goal=goal, at_most=True)


def _milliseconds(words: list[object]) -> float:
    return 1000 * seconds(lambda: subprocess.run(list(map(str, words)), stdout=subprocess.DEVNULL, check=True))
