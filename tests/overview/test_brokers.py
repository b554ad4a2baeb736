"""What `du` calls deletable is what a real broker of 4.3.1 deletes once its retention runs. By hand:

KAFKAFS_DU=1 pytest -q tests/overview/test_brokers.py
"""

import contextlib
import json
import os
import signal
import time

import pytest

from tests.kafka import broker as node
from tests.kafka.broker import CENTURY_MS, wait_until
from tests.kafka.writer import Record, Topic, Writer, configure, create, delete_records, now_ms
from tests.mounting import KAFKAFS, run
from tests.overview.retention_cases import CASES, HOUR_MS, SIZE

pytestmark = pytest.mark.skipif(not os.environ.get("KAFKAFS_DU"), reason="starts brokers anew: by hand")
RELEASE = "4.3.1"
USUAL = {key: value for key, value in node.SETTINGS.items() if key != "log.retention.ms"}
STILL = USUAL | {"log.initial.task.delay.ms": CENTURY_MS, "log.cleaner.enable": "false"}
"""Neither retention nor the cleaner runs, which deletes compacted topics; no checkpoint is written before the end."""

BUSY = USUAL | {
    "log.initial.task.delay.ms": 500, "log.retention.check.interval.ms": 500, "log.cleaner.backoff.ms": 300,
    "log.segment.delete.delay.ms": 100,
}  # fmt: skip
COMMON = {
    "internal.segment.bytes": SIZE + SIZE // 2, "message.timestamp.after.max.ms": 2**62, "segment.ms": CENTURY_MS,
    "min.compaction.lag.ms": 2**62,
}  # fmt: skip


def bases(data, cases):
    """The base offsets of each topic's segments."""
    return {name: sorted(int(file.stem) for file in (data / f"{name}-0").glob("*.log")) for name in cases}


def fill(broker, cases):
    """All topics, a segment for each age."""
    create(broker, {name: Topic(1, {**COMMON, **case.settings}) for name, case in cases.items()})
    writer, now = Writer(broker), now_ms()
    for name, case in cases.items():
        for number, age in enumerate(case.ages):
            value = b"%d" % number + b"." * (SIZE - 80)
            writer.batch(name, [Record(value, b"key", now - age * HOUR_MS)])
        if case.below_start:
            delete_records(broker, name, case.below_start)
        if case.later:
            configure(broker, name, **{key.replace(".", "_"): value for key, value in case.later.items()})


def asked(data, *words):
    """The rows of `du`, by topic."""
    rows = map(json.loads, run(KAFKAFS, "du", "--json", "--partitions", *words, data).stdout.splitlines())
    return {row["topic"]: row for row in rows if row["path"] is None}


def differing(found, expected):
    """What is not as expected, by topic."""
    return {name: (found[name], expected[name]) for name in expected if found[name] != expected[name]}


@pytest.mark.parametrize("is_killed", [False, True], ids=["stopped", "killed"])
def test_a_broker_deletes_what_is_deletable(is_killed, tmp_path, monkeypatch):
    cases = {name: case for name, case in CASES.items() if not (is_killed and case.below_start)}
    monkeypatch.setattr(node, "SETTINGS", STILL)
    with node.running(RELEASE, tmp_path) as broker:
        fill(broker, cases)
        if is_killed:
            broker.stop(signal.SIGKILL)
    data = tmp_path / "data"
    before, reported = bases(data, cases), asked(data)
    sizes = {
        name: [(data / f"{name}-0" / f"{base:020}.log").stat().st_size for base in found]
        for name, found in before.items()
    }
    expected = {name: before[name][case.deleted :] for name, case in cases.items()}

    def wrong():
        """Where the broker has other segments left than it should, of those that were there."""
        found = bases(data, cases)
        return differing({name: [base for base in found[name] if base in before[name]] for name in cases}, expected)

    monkeypatch.setattr(node, "SETTINGS", BUSY)
    with node.running(RELEASE, tmp_path):
        with contextlib.suppress(TimeoutError):
            wait_until(lambda: not wrong(), "retention", 40)
        assert wrong() == {}
        time.sleep(3)  # some more runs of retention, which must find nothing
        assert wrong() == {}
    for name, case in cases.items():
        assert reported[name]["deletable"] == sum(sizes[name][: case.deleted]), name
        assert sum(reported[name]["kept"].values()) == sum(sizes[name][case.deleted :]), name
        assert reported[name]["records"] == len(case.ages) - case.below_start, name
