"""Decoded ranges: `.jsonl` through `cat` against `kcat -J` and confluent-kafka; time to the first byte; memory."""

import os
import time
from collections.abc import Iterator

from tests.bench import mounts, peers
from tests.bench.data import CODECS, Bench, topic_of
from tests.bench.measure import Result, Spread, in_turns, rate
from tests.bench.sections.points import warm
from tests.kafka.broker import Broker

_GOALS = {"none": 30.0, "lz4": 30.0, "zstd": 20.0, "gzip": 10.0}
_FIRST_BYTE_MS = 50.0
_MEMORY_MB = 150.0


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    with bench.broker() as broker, mounts.kafkafs(bench.path) as ours:
        for codec in CODECS:
            yield from _one(bench, broker, ours, codec, rounds)


def _one(bench: Bench, broker: Broker, ours: mounts.Mounted, codec: str, rounds: int) -> Iterator[Result]:
    topic = topic_of(codec)
    count = bench.records(topic)
    warm(bench.path / f"{topic}-0")
    path = ours.path / f"{topic}-0/by-offset/0..{count}.jsonl"

    found = in_turns({"cat": rate(count, lambda: peers.run(["cat", path]))}, rounds)
    resident = ours.resident() / 1e6
    slow = in_turns({
        "kcat": rate(count, lambda: peers.kcat(broker, topic)),
        "confluent": rate(count, lambda: peers.confluent(broker, topic, count)),
    }, 1, warm=False)  # fmt: skip
    for peer, goal in (("kcat -J", _GOALS[codec]), ("confluent-kafka", None)):
        theirs = Spread(slow[peer.split("-")[0].split(" ")[0]].values * rounds)
        yield Result("decoded", f".jsonl, {codec}", "M records/s", found["cat"], peer, theirs, goal)
    first = Spread(tuple(_first_byte_ms(str(path)) for _ in range(rounds)))
    yield Result("decoded", f".jsonl, {codec}, first byte", "ms", first, goal=_FIRST_BYTE_MS, at_most=True)
    yield Result("decoded", f".jsonl, {codec}, memory of the mount", "MB", Spread((resident,)), goal=_MEMORY_MB,
                 at_most=True)  # fmt: skip


def _first_byte_ms(path: str) -> float:
    started = time.perf_counter()
    descriptor = os.open(path, os.O_RDONLY)
    os.read(descriptor, 1)
    took = time.perf_counter() - started
    os.close(descriptor)
    return took * 1e3
