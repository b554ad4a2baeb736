"""`kafkafs revive` beside `cp -a` of the same data directory, on one disk, both until all of it is there: it reads,
checks and indexes besides."""

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.bench import peers
from tests.bench.data import Bench
from tests.bench.measure import Result, in_turns, seconds
from tests.mounting import KAFKAFS

_GOAL, _TARGET = 0.9, "TARGET"


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="kafkafs-bench-", dir=bench.home) as scratch:
        targets = (Path(scratch) / str(number) for number in itertools.count())

        def timed(*command: str | Path) -> Callable[[], float]:
            """Copies a second, each into a directory of its own, and nothing of the one before left to be written."""

            def measure() -> float:
                target = next(targets)
                os.sync()
                copying = partial(peers.run, [each if each != _TARGET else target for each in command])
                taken = seconds(copying) + seconds(partial(peers.run, ["sync", "-f", target]))
                _empty(target)
                return 1 / taken

            return measure

        found = in_turns({
            "ours": timed(KAFKAFS, "revive", bench.path, "--to", _TARGET, "--copy", "--corrupt", "skip"),
            "theirs": timed("cp", "-a", "--reflink=never", bench.path, _TARGET),
        }, rounds)  # fmt: skip
    size = sum(file.stat().st_size for file in bench.path.rglob("*.log"))
    yield Result("revive", f"revive --copy, {size / 1e9:.2g} GB of logs", "runs/s", found["ours"], "cp, sync",
                 found["theirs"], _GOAL)  # fmt: skip


def _empty(place: Path) -> None:
    """Gives the room back and lets the names stand: where files were just deleted, ext4 looks long for each new one."""
    for file in place.rglob("*"):
        if file.is_file():
            os.truncate(file, 0)
