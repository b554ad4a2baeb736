"""Raw streams: 1 MiB reads of a whole log, first (from disk) and second, against the floor."""

import mmap
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench import mounts
from tests.bench.data import AVRO, Bench, topic_of
from tests.bench.measure import Result, in_turns, seconds

READ_SIZE = 1 << 20
GOAL = 0.9


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    topic = topic_of("none")
    log = bench.log(topic)
    with mounts.kafkafs(bench.path) as ours, mounts.floor(log) as floor:
        range_ = ours.path / f"{topic}-0/by-offset/0..{bench.records(topic)}"
        places = {"floor": floor.path / "f", "range": range_, "segments": ours.path / f"{topic}-0/segments/{log.name}"}
        for number, prepare in (("first", _dropper(log)), ("second", lambda: None)):
            found = in_turns({name: rate(path, prepare) for name, path in places.items()}, rounds)
            for name in ("range", "segments"):
                yield Result(
                    "stream", f"{name}, {number} read", "MB/s", found[name], "floor, direct", found["floor"], GOAL
                )
    yield from _kept(bench, rounds)


def _kept(bench: Bench, rounds: int) -> Iterator[Result]:
    """A range, and a closed segment's log: of the last one, which is written, the kernel keeps no page."""
    plain = topic_of("none")
    places = {"segments": (AVRO, f"segments/{bench.log(AVRO).name}"),
              "range": (plain, f"by-offset/0..{bench.records(plain) - 1}")}  # fmt: skip
    for name, (topic, place) in places.items():
        with (
            mounts.kafkafs(bench.path, ["cache=keep"]) as ours,
            mounts.floor(bench.log(topic), direct=False) as floor,
        ):
            paths = {"floor": floor.path / "f", name: ours.path / f"{topic}-0" / place}
            found = in_turns({each: rate(path) for each, path in paths.items()}, rounds)
        yield Result("stream", f"{name}, cache=keep, second read", "MB/s", found[name], "floor, kernel cache",
                     found["floor"], GOAL)  # fmt: skip


def rate(path: Path, prepare: Callable[[], None] = lambda: None) -> Callable[[], float]:
    """What reads the file to its end, and tells the megabytes a second."""

    def measure() -> float:
        prepare()
        size = [0]
        took = seconds(lambda: size.append(read_through(path)))
        return size[-1] / took / 1e6

    return measure


def read_through(path: Path) -> int:
    """Reads a file to its end: how many bytes it has."""
    descriptor, buffer, size = os.open(path, os.O_RDONLY), mmap.mmap(-1, READ_SIZE), 0  # whole pages, as cat and dd
    try:
        while got := os.readv(descriptor, [buffer]):
            size += got
    finally:
        os.close(descriptor)
    return size


def _dropper(file: Path) -> Callable[[], None]:
    """Takes the file out of the page cache."""

    def drop() -> None:
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)

    return drop
