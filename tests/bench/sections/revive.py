"""`kafkafs revive` beside `cp -a` of the same data directory, on one disk, both until all of it is there: it reads,
checks and indexes besides."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.bench import peers
from tests.bench.data import Bench
from tests.bench.measure import Result, in_turns, seconds
from tests.mounting import KAFKAFS

_GOAL = 0.9


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    with tempfile.TemporaryDirectory(prefix="kafkafs-bench-", dir=bench.home) as scratch:
        target = Path(scratch) / "new"

        def timed(*commands: list[str | Path]) -> Callable[[], float]:
            """Copies a second, with the target gone before, and nothing of the one before left to be written."""

            def measure() -> float:
                shutil.rmtree(target, ignore_errors=True)
                os.sync()
                return 1 / sum(seconds(partial(peers.run, command)) for command in commands)

            return measure

        found = in_turns({
            "ours": timed([KAFKAFS, "revive", bench.path, "--to", target, "--copy", "--corrupt", "skip"]),
            "theirs": timed(["cp", "-a", "--reflink=never", bench.path, target], ["sync", "-f", target]),
        }, rounds)  # fmt: skip
    size = sum(file.stat().st_size for file in bench.path.rglob("*.log"))
    yield Result("revive", f"revive --copy, {size / 1e9:.2g} GB of logs", "runs/s", found["ours"], "cp, sync",
                 found["theirs"], _GOAL)  # fmt: skip
