"""What is in a segment: `.batches.jsonl` and `kafkafs dump` against the real kafka-dump-log."""

from collections.abc import Iterator
from pathlib import Path

from tests.bench import mounts, peers
from tests.bench.data import CODECS, SMALL, Bench, topic_of
from tests.bench.measure import Result, in_turns, seconds
from tests.bench.sections.points import warm
from tests.mounting import KAFKAFS

_HEADERS_GOAL, _RECORDS_GOAL, _PACKED_GOAL = 2.0, 15.0, 8.0


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
    yield _records(bench, SMALL, _RECORDS_GOAL, min(rounds, 3))
    for codec in CODECS:
        yield _records(bench, topic_of(codec), _RECORDS_GOAL if codec == "none" else _PACKED_GOAL, 1)


def _records(bench: Bench, topic: str, goal: float, rounds: int) -> Result:
    """All records of a topic's first segment; the tool takes its time for nine million."""
    log = bench.log(topic)
    warm(log.parent)
    command: list[str | Path] = [KAFKAFS, "dump", "--print-data-log", "--files", log]
    found = in_turns({
        "ours": lambda: 1 / seconds(lambda: peers.run(command)),
        "theirs": lambda: 1 / seconds(lambda: peers.dump_log("--print-data-log", "--files", log)),
    }, rounds, warm=rounds > 1)  # fmt: skip
    what = f"dump --print-data-log, {topic}, {bench.records(topic) / 1e6:g} M records"
    return Result("dump", what, "runs/s", found["ours"], "kafka-dump-log", found["theirs"], goal)
