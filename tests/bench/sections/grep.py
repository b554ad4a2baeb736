"""`kafkafs grep` beside `kcat -J | grep` and `cat by-offset/0...jsonl | grep`; and what one core of it does."""

import time
from collections.abc import Iterator

from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.places import Between
from kafkafs.search.search_units import OPTIONS, Searched, selected
from kafkafs.search.selection import Pattern, Selection
from tests.bench import mounts, peers
from tests.bench.data import Bench, topic_of
from tests.bench.measure import Result, Spread, in_turns, rate
from tests.bench.sections.points import warm
from tests.kafka.broker import Broker
from tests.mounting import KAFKAFS

RARE = "user-77777"
"""Stands in one of some hundred thousand records."""

_KCAT_GOAL, _CAT_GOAL, _CORE_GOAL = 40.0, 2.0, 0.8


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    with bench.broker() as broker, mounts.kafkafs(bench.path) as ours:
        for codec in ("none", "zstd"):
            yield from _beside(bench, broker, ours, codec, rounds)
    for text in (RARE, 'user-7+7"'):
        yield _core(bench, text, rounds)


def _beside(bench: Bench, broker: Broker, ours: mounts.Mounted, codec: str, rounds: int) -> Iterator[Result]:
    topic = topic_of(codec)
    count = bench.records(topic)
    warm(bench.path / f"{topic}-0")
    path = ours.path / f"{topic}-0/by-offset/0..{count}.jsonl"

    found = in_turns({
        "grep": rate(count, lambda: peers.run([KAFKAFS, "grep", "-F", RARE, "--topics", topic, bench.path])),
        "cat": rate(count, lambda: peers.run(["sh", "-c", f"cat {path} | grep -F {RARE}"])),
    }, rounds)  # fmt: skip
    slow = in_turns({"kcat": rate(count, lambda: peers.kcat_grep(broker, topic, RARE))}, 1, warm=False)
    for peer, theirs, goal in (
        ("kcat -J | grep", Spread(slow["kcat"].values * rounds), _KCAT_GOAL),
        ("cat .jsonl | grep", found["cat"], _CAT_GOAL),
    ):
        judged = goal if codec == "none" else None
        yield Result("grep", f"grep -F, {codec}", "M records/s", found["grep"], peer, theirs, judged)


def _core(bench: Bench, text: str, rounds: int) -> Result:
    """Everything that one process does with its units, by its processor time."""
    topic = topic_of("none")
    partition = open_data_directory(bench.path, OPTIONS).partition(f"{topic}-0")
    fixed = text == RARE
    selection, size = Selection(Pattern(text, fixed)), bench.log(topic).stat().st_size

    def once() -> float:
        started = time.process_time()
        for unit in Searched(partition, Between()).units():
            for _ in selected(unit, selection, lambda _: None):
                pass
        return size / (time.process_time() - started) / 1e9

    rates = Spread(tuple(once() for _ in range(rounds + 1))[1:])
    what = "a fixed string" if fixed else "an expression"
    return Result("grep", f"{what}, one core", "GB/s", rates, goal=_CORE_GOAL if fixed else None)
