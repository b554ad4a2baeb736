"""Ranges that are files: what it costs to know a size, and DuckDB on a range in place of a copy of its text."""

import contextlib
import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench import mounts, peers
from tests.bench.data import Bench, topic_of
from tests.bench.measure import Result, Spread, in_turns, seconds
from tests.bench.sections.points import warm
from tests.mounting import KAFKAFS

_SMALL = 20_000
"""Records of a small range: some 2 MB of log."""

_SMALL_GOAL = 1.15
_DUCKDB_GOAL = 2.0
_MEMORY_MB = 200.0
_DUCKDB = KAFKAFS.with_name("duckdb")


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    for codec in ("none", "lz4"):
        topic = topic_of(codec)
        warm(bench.path / f"{topic}-0")
        with contextlib.ExitStack() as stack:
            files = stack.enter_context(mounts.kafkafs(bench.path, ["exact=all"]))
            streams = stack.enter_context(mounts.kafkafs(bench.path, ["exact=0"]))
            copy = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafkafs-bench-"))) / "copy.jsonl"
            of_files, of_streams = (mounted.path / f"{topic}-0/by-offset" for mounted in (files, streams))
            yield from _small(codec, of_files, of_streams, rounds)
            yield from _counted(codec, of_files, of_streams, bench.records(topic), copy, rounds)
            resident = Spread((files.resident() / 1e6,))
            yield Result("sizes", f"memory of the mount, {codec}", "MB", resident, goal=_MEMORY_MB, at_most=True)


def _small(codec: str, files: Path, streams: Path, rounds: int) -> Iterator[Result]:
    """`cat` of ranges that nobody has asked for before: it pays for a size that it does not use."""

    def reading(place: Path) -> Callable[[], float]:
        names = (place / f"{number}..{number + _SMALL}.jsonl" for number in itertools.count())
        return lambda: seconds(lambda: peers.run(["cat", next(names)])) * 1e3

    found = in_turns({"file": reading(files), "stream": reading(streams)}, 5 * rounds)
    yield Result("sizes", f"cat of a small range, {codec}", "ms", found["file"], "exact=0", found["stream"],
                 _SMALL_GOAL, at_most=True)  # fmt: skip


def _counted(codec: str, files: Path, streams: Path, count: int, copy: Path, rounds: int) -> Iterator[Result]:
    """A range that nobody has asked for before, its size and all, against a copy of the text and one reading of it."""
    numbers = itertools.count()

    def ours() -> float:
        return seconds(lambda: _count(files / f"{next(numbers)}..{count}.jsonl"))

    def theirs() -> float:
        whole = f"{streams}/0..{count}.jsonl"
        return seconds(lambda: _count(copy)) + seconds(lambda: peers.run(["sh", "-c", f"cat {whole} | wc -l"]))

    peers.run(["cp", streams / f"0..{count}.jsonl", copy])
    found = in_turns({"range": ours, "copy": theirs}, rounds)
    what = f"DuckDB's count(*), {codec}, {copy.stat().st_size / 1e9:.1f} GB of text"
    yield Result("sizes", what, "s", found["range"], "a copy, and cat | wc -l", found["copy"], _DUCKDB_GOAL,
                 at_most=True)  # fmt: skip


def _count(path: Path) -> None:
    peers.run([_DUCKDB, "-c", f"select count(*) from '{path}'"])
