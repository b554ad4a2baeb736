"""What is in a segment: `.batches.jsonl` and `kafkafs dump` against the real kafka-dump-log."""

import sys
from collections.abc import Iterator
from pathlib import Path

from tests.bench import mounts, peers
from tests.bench.data import SMALL, Bench, topic_of
from tests.bench.measure import Result, in_turns, seconds
from tests.bench.sections.points import warm

_HEADERS_GOAL, _RECORDS_GOAL = 2.0, 8.0


def run(bench: Bench, rounds: int) -> Iterator[Result]:
    with mounts.kafkafs(bench.path) as ours:
        for topic in (SMALL, topic_of("none")):
            log = bench.log(topic)
            warm(log.parent)
            view = ours.path / log.parent.name / f"by-offset/0..{bench.records(topic)}.batches.jsonl"
            found = in_turns({
                "ours": lambda view=view: 1 / seconds(lambda: peers.run(["cat", view])),  # type: ignore[misc]
                "theirs": lambda log=log: 1 / seconds(lambda: peers.dump_log("--files", log)),  # type: ignore[misc]
            }, rounds)  # fmt: skip
            yield Result("dump", f".batches.jsonl, {topic}", "runs/s", found["ours"], "kafka-dump-log", found["theirs"],
                         _HEADERS_GOAL)  # fmt: skip
    log = bench.log(SMALL)
    command: list[str | Path] = [Path(sys.executable).with_name("kafkafs"), "dump", "--print-data-log", "--files", log]
    found = in_turns({
        "ours": lambda: 1 / seconds(lambda: peers.run(command)),
        "theirs": lambda: 1 / seconds(lambda: peers.dump_log("--print-data-log", "--files", log)),
    }, min(rounds, 3))  # fmt: skip
    yield Result("dump", "dump --print-data-log, 1 M records", "runs/s", found["ours"], "kafka-dump-log",
                 found["theirs"], _RECORDS_GOAL)  # fmt: skip
