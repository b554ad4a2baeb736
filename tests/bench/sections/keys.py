"""Keys: making their index on Spark, lookups through a mount with it, and the scan that stands in for it."""

import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from kafkafs.disk.budget import Budget
from kafkafs.errors import NotFound
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.look import Reader
from kafkafs.log.outcomes import OpenTransactions
from kafkafs.log.read_options import ReadOptions
from kafkafs.search.partition_keys import KEY_MEMORY, PartitionKeys
from kafkafs.spark.reindex_keys import reindex_keys
from kafkafs.spark.session import session
from tests.bench import mounts
from tests.bench.data import KEYED, Bench, key_of
from tests.bench.measure import Result, Spread, seconds
from tests.bench.sections.points import warm

NAMES = 2000
MASTER = "local[2]"
_MEDIAN_MS, _P99_MS = 1.5, 10.0
_BUILD_GOAL, _SCAN_GOAL = 1.5, 5.0
_KEY_BYTES = 16.0


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    warm(bench.path / f"{KEYED}-0")
    with _alone(bench) as data:
        indexes = data.parent / "indexes"
        yield from _build(data, indexes, bench.records(KEYED), min(rounds, 3))
        yield _scan(data, bench.records(KEYED), rounds)
        yield from _lookups(data, indexes, bench.records(KEYED), rounds)


@contextmanager
def _alone(bench: Bench) -> Iterator[Path]:
    """A data directory that has the topic with keys and no other: the same files, linked."""
    with tempfile.TemporaryDirectory(prefix="keys-", dir=bench.home) as place:
        data = Path(place) / "data"
        shutil.copytree(bench.path / f"{KEYED}-0", data / f"{KEYED}-0", copy_function=os.link)
        shutil.copy(bench.path / "meta.properties", data)
        yield data


def _build(data: Path, indexes: Path, count: int, rounds: int) -> Iterator[Result]:
    """The whole job, without the start of Spark; the last round's indexes stay."""
    rates = []
    with session(MASTER, "bench") as spark:
        for _ in range(rounds + 1):
            shutil.rmtree(indexes, ignore_errors=True)
            rates.append(count / seconds(lambda: reindex_keys(spark, [data], indexes)) / 1e6)
    size = sum(file.stat().st_size for file in indexes.rglob("*.keys"))
    segments = len(list((data / f"{KEYED}-0").glob("*.log")))
    yield Result("keys", f"reindex --keys, {MASTER}", "M records/s", Spread(tuple(rates[1:])), goal=_BUILD_GOAL)
    yield Result("keys", f"key index, {segments} segments", "bytes a key", Spread((size / count,)), goal=_KEY_BYTES,
                 at_most=True)  # fmt: skip


def _scan(data: Path, count: int, rounds: int) -> Result:
    """The first lookup of a key that is not there, by the processor time of its one thread."""
    reader = Reader(
        open_data_directory(data, ReadOptions()).partition(f"{KEYED}-0").log(), ReadOptions(), OpenTransactions()
    )

    def once() -> float:
        keys, started = PartitionKeys(Budget(KEY_MEMORY)), time.process_time()
        with suppress(NotFound):
            keys.last(reader, b"nobody")
        return count / (time.process_time() - started) / 1e6

    rates = Spread(tuple(once() for _ in range(rounds + 1))[1:])
    return Result("keys", "first lookup without index, one core", "M records/s", rates, goal=_SCAN_GOAL)


def _lookups(data: Path, indexes: Path, count: int, rounds: int) -> Iterator[Result]:
    """Names nobody has asked for before: of keys that are there, and of keys that are not."""
    chance = random.Random(1)
    there: Callable[[], str] = lambda: key_of(chance.randrange(count)).decode()  # noqa: E731
    missing: Callable[[], str] = lambda: f"nobody-{chance.randrange(1 << 60)}"  # noqa: E731
    with mounts.kafkafs(data, [f"index_dir={indexes}"]) as ours:
        place = f"{ours.path}/{KEYED}-0/by-key"
        _times(place, there, 100)
        found = {name: [_times(place, ask, NAMES) for _ in range(rounds)] for name, ask in
                 (("a key", there), ("a missing key", missing))}  # fmt: skip
    for name, taken in found.items():
        for what, at, goal in (("median", 0.5, _MEDIAN_MS), ("p99", 0.99, _P99_MS)):
            spread = Spread(tuple(times[int(len(times) * at)] for times in taken))
            yield Result("keys", f"open, read, close of {name}'s .jsonl, {what}", "ms", spread, goal=goal, at_most=True)


def _times(place: str, ask: Callable[[], str], count: int) -> Sequence[float]:
    """How long each of `count` visits takes, in ms, the shortest first."""
    took = []
    for name in [f"{place}/{ask()}.jsonl" for _ in range(count)]:
        started = time.perf_counter()
        with suppress(FileNotFoundError):
            descriptor = os.open(name, os.O_RDONLY)
            os.read(descriptor, 4096)
            os.close(descriptor)
        took.append((time.perf_counter() - started) * 1e3)
    return sorted(took)
