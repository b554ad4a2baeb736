"""Points: `stat`, and `open`, 4 KiB `read`, `close`, of names nobody has asked for before, against the floor."""

import contextlib
import itertools
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from kafkafs.disk.local_directory import IDLE_S
from kafkafs.fuse.serve.sweeping import EVERY_S
from tests.bench import mounts
from tests.bench.data import SEGMENTED, SMALL, Bench, topic_of
from tests.bench.measure import Result, in_turns
from tests.kafka.writer import START_MS

NAMES = 2000
"""A round of them lasts a few tenths of a second: the kernel has time to let who asks and who answers share a processor
or not, which changes either's time by a factor of three."""

READ_SIZE = 4096
_NAMES = ("offset", "time", "offset .jsonl", "time .jsonl")
_STAT_GOALS = dict.fromkeys(_NAMES, 5.0)
"""A `stat` of the floor takes 25 us, and 100 more are granted."""
_READ_GOALS = {"offset": 2.0, "time": 2.5, "offset .jsonl": 3.0, "time .jsonl": 3.0}
_LARGE_GOALS = dict.fromkeys(_NAMES, 6.0)
"""Of points in batches of 850 KB, which are read and decoded whole; their `stat` has to do that, too."""
_BEFORE_GOAL = 1.25
"""`before-` against the time point of the same time: both are one search in the time index."""
Visit = Callable[[str], object]


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    topics = ((SMALL, "16 KiB batches", _READ_GOALS), (topic_of("none"), "850 KB batches", _LARGE_GOALS))
    for topic, shape, goals in topics:
        yield from _against_floor(bench, topic, shape, goals, rounds)
    with _one_processor():
        for topic, shape, goals in topics:
            yield from _against_floor(bench, topic, f"{shape}, one processor", goals, rounds)
        yield from _by_segments(bench, rounds)


def _against_floor(
    bench: Bench, topic: str, shape: str, read_goals: Mapping[str, float], rounds: int
) -> Iterator[Result]:
    warm(bench.log(topic).parent)
    with mounts.kafkafs(bench.path) as ours, mounts.floor(bench.log(topic)) as floor:
        offsets = _numbers(bench.records(topic))
        place = f"{ours.path}/{topic}-0"
        names: dict[str, Callable[[int], str]] = {
            "floor": lambda number: f"{floor.path}/{number}",
            "offset": lambda number: f"{place}/by-offset/{number}",
            "time": lambda number: f"{place}/by-time/{START_MS + number}",
            "offset .jsonl": lambda number: f"{place}/by-offset/{number}.jsonl",
            "time .jsonl": lambda number: f"{place}/by-time/{START_MS + number}.jsonl",
            "before": lambda number: f"{place}/by-time/before-{START_MS + number}",
            "before .jsonl": lambda number: f"{place}/by-time/before-{START_MS + number}.jsonl",
        }
        stat_goals = _STAT_GOALS if read_goals is _READ_GOALS else {}
        for verb, visit, goals in (("stat", os.stat, stat_goals), ("open, read, close", _read, read_goals)):
            found = in_turns({name: _visits(visit, name_of, offsets) for name, name_of in names.items()}, rounds)
            for name in _NAMES:
                goal = goals.get(name)
                yield Result("points", f"{verb} of {name}, {shape}", "us", found[name], "floor", found["floor"], goal,
                             at_most=True)  # fmt: skip
            for name in ("before", "before .jsonl"):
                time_point = name.replace("before", "time")
                yield Result("points", f"{verb} of {name}, {shape}", "us", found[name], time_point, found[time_point],
                             _BEFORE_GOAL, at_most=True)  # fmt: skip


@contextlib.contextmanager
def _one_processor() -> Iterator[None]:
    """Who asks and who answers share one: what is left is work, without the time that it takes to wake another one."""
    all_of_them = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(all_of_them)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_of_them)


def _by_segments(bench: Bench, rounds: int) -> Iterator[Result]:
    """A point costs the same however many segments there are, whether its segment's files are open or not yet."""
    few, many = (SEGMENTED[number] for number in sorted(SEGMENTED))
    for topic in (few, many):
        warm(bench.path / f"{topic}-0")
    with mounts.kafkafs(bench.path) as ours:
        places = {topic: f"{ours.path}/{topic}-0/by-offset" for topic in (many, few)}
        for files, visits in (("its files open", _visits_to_open), ("its files not open yet", _first_visits)):
            found = in_turns({topic: visits(place, bench.records(topic)) for topic, place in places.items()}, rounds)
            yield Result("points", f"open, read, close of offset, {files}, 1,000 segments, one processor", "us",
                         found[many], "10 segments", found[few], 1.25, at_most=True)  # fmt: skip


def _visits_to_open(place: str, count: int) -> Callable[[], float]:
    """The median of a round of visits, each in a segment that was visited a moment before."""
    visits = _visits(_read, lambda number: f"{place}/{number}", _numbers(count))

    def measure() -> float:
        for base in _bases(place):
            _read(f"{place}/{base}")
        return visits()

    return measure


def _first_visits(place: str, count: int) -> Callable[[], float]:
    """The median of ten visits, each in another segment, none of which was visited in the last moment."""
    bases = _bases(place)
    chance, width = random.Random(1), count // len(bases) // 2

    def measure() -> float:
        time.sleep(IDLE_S + 2 * EVERY_S)
        paths = [f"{place}/{base + chance.randrange(width)}" for base in chance.sample(bases, min(SEGMENTED))]
        return statistics.median(_times(_read, paths)) * 1e6

    return measure


def _bases(place: str) -> list[int]:
    """The base offsets of the segments, by the names of their ranges."""
    return [int(name.split("..")[0]) for name in os.listdir(place)]


def _numbers(count: int) -> Iterator[int]:
    chance = random.Random(1)
    return (chance.randrange(count) for _ in itertools.count())


def _visits(visit: Visit, name_of: Callable[[int], str], numbers: Iterator[int]) -> Callable[[], float]:
    """The median of a round of visits, in microseconds."""

    def measure() -> float:
        return statistics.median(_times(visit, [name_of(next(numbers)) for _ in range(NAMES)])) * 1e6

    return measure


def _times(visit: Visit, names: Sequence[str]) -> Iterator[float]:
    for name in names:
        started = time.perf_counter()
        visit(name)
        yield time.perf_counter() - started


def _read(name: str) -> None:
    descriptor = os.open(name, os.O_RDONLY)
    os.pread(descriptor, READ_SIZE, 0)
    os.close(descriptor)


def warm(directory: Path) -> None:
    """Brings the files of a partition into memory, to stay there.

    Anew: of what was read with RWF_DONTCACHE before, pages that were read ahead are there still, and go with the next
    such read of them, whoever has read them meanwhile (Linux 6.18). A few of these make every third point wait.
    """
    for path in directory.iterdir():
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            file.read()
