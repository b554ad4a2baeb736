"""Ends of transactions that are lost with damaged bytes: readers of committed records see what they saw.

A real broker has them, another one starts from what is revived. Else a lost commit would hold readers for ever, and a
lost abort would hide what its producer committed later.
"""

import base64
import signal
from pathlib import Path

import pytest
from confluent_kafka import IsolationLevel
from confluent_kafka.admin import OffsetSpec

from kafkafs.format.transaction_index import AbortedTransaction
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.transaction_events import Event
from kafkafs.revive.job import revive
from kafkafs.revive.markers import Marker, ended_by, lost_behind, lost_between, no_coordinator
from tests.kafka import broker as nodes
from tests.kafka import truth
from tests.kafka.writer import Record, Topic, Writer, create, now_ms, transactional
from tests.revive.nodes import choices, started
from tests.revive.test_brokers import WHOLE

TOPIC = "paid"
COMMITS, ABORTS, AT_THE_END, MANY = range(4)
WAYS = {
    "skip": {COMMITS: [b"a", b"b", b"plain"], ABORTS: [b"y", b"z"], AT_THE_END: [b"a"], MANY: [b"a", b"z"]},
    "cut": {COMMITS: [b"a", b"b"], ABORTS: [], AT_THE_END: [b"a"], MANY: [b"a"]},
}
"""What a reader of committed records has to see."""


def records(*values: bytes) -> list[Record]:
    return [Record(value, timestamp_ms=now_ms()) for value in values]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The disk of a broker that was killed; its logs have lost markers."""
    home = tmp_path_factory.mktemp("source")
    with nodes.running("4.3.1", home) as broker:
        create(broker, {TOPIC: Topic(partitions=4)})
        payer, plain = transactional(broker, "payer"), Writer(broker)

        def within(number: int, end: str, *values: bytes) -> None:
            payer.begin()
            for each in records(*values):
                payer.batch(TOPIC, [each], number)
            getattr(payer, end)()
            nodes.wait_until(lambda: is_over(broker, number), "the marker")

        within(COMMITS, "commit", b"a", b"b")
        plain.batch(TOPIC, records(b"plain"), COMMITS)
        within(ABORTS, "abort", b"x")
        within(ABORTS, "commit", b"y")
        within(ABORTS, "commit", b"z")
        within(AT_THE_END, "commit", b"a")
        within(MANY, "commit", b"a")
        within(MANY, "abort", b"b")
        within(MANY, "commit", b"z")
        broker.stop(signal.SIGKILL)
    for number, (first, last) in {COMMITS: (2, 2), ABORTS: (1, 1), AT_THE_END: (1, 1), MANY: (1, 3)}.items():
        destroy(home / "data", number, first, last)
    return home / "data"


def is_over(broker: nodes.Broker, number: int) -> bool:
    """Whether nothing is open: a marker comes a moment after the producer was answered."""
    asked = {(TOPIC, number): OffsetSpec.latest()}
    return truth.ask(broker.admin, asked) == truth.ask(broker.admin, asked, IsolationLevel.READ_COMMITTED)


def destroy(data: Path, number: int, first: int, last: int) -> None:
    """Nothing but 0xff where the batches of these offsets were; of the first one, only its end."""
    log = open_data_directory(data).partition(f"{TOPIC}-{number}").log()
    rows = [row for _, item in log.walk(0, log.end_offset) if isinstance(item, BatchRun) for row in item.rows
            if first <= row["base_offset"] <= last]  # fmt: skip
    begin, end = int(rows[0]["position"]), int(rows[-1]["position"]) + int(rows[-1]["size"])
    begin += int(rows[0]["size"]) - 4 if first == last else 0
    file = data / f"{TOPIC}-{number}" / log.segments[-1].log_name
    content = bytearray(file.read_bytes())
    content[begin:end] = b"\xff" * (end - begin)
    file.write_bytes(content)


@pytest.mark.parametrize("way", WAYS)
def test_readers_of_committed_records_see_what_was_committed(source, tmp_path, way):
    if way == "cut" and not WHOLE:
        pytest.skip("scripts/soak revive")
    place = tmp_path / "revived"
    report = revive([source], choices(place, "4.3.1", corrupt=way))
    with started("4.3.1", place, tmp_path / "home", report) as node:
        assert committed(node.broker) == WAYS[way]
        node.broker.stop(signal.SIGKILL)
    if WHOLE:
        with started("4.3.1", place, tmp_path / "home", report) as node:  # which reads the last segments anew
            assert committed(node.broker) == WAYS[way]
            payer = transactional(node.broker, "payer")
            payer.begin()
            for number in WAYS[way]:
                payer.batch(TOPIC, records(b"new"), number)
            payer.commit()
            assert committed(node.broker) == {number: [*seen, b"new"] for number, seen in WAYS[way].items()}


def committed(broker: nodes.Broker) -> dict[int, list[bytes]]:
    found = truth.read(broker, [(TOPIC, number) for number in range(4)], "read_committed")
    return {where[1]: [base64.b64decode(row[4]) for row in rows] for where, rows in found.items()}


def aborted(producer: int, first: int, last: int) -> AbortedTransaction:
    return AbortedTransaction(producer, first, last, last + 1)


@pytest.mark.parametrize(
    ("begun", "recorded", "behind", "over", "wanted"),
    [
        ({}, [], {}, {1}, []),
        ({1: 5}, [aborted(1, 5, 12)], {}, set(), [Marker(12, 1, True)]),
        ({1: 5}, [], {}, {1}, [Marker(19, 1, False)]),
        ({1: 5}, [], {}, set(), []),
        ({1: 5}, [], {1: Event(30, 1, "commit")}, {1}, []),
        ({1: 5}, [], {1: Event(22, 1, "begin")}, {1}, []),
        ({1: 5}, [aborted(1, 12, 14)], {}, {1}, [Marker(11, 1, False), Marker(14, 1, True)]),
        ({1: 5}, [aborted(1, 5, 30)], {1: Event(30, 1, "abort")}, {1}, []),
        ({1: 5}, [aborted(1, 15, 30)], {1: Event(30, 1, "abort")}, {1}, [Marker(14, 1, False)]),
        ({1: 5}, [aborted(1, 25, 30)], {1: Event(30, 1, "abort")}, {1}, [Marker(19, 1, False)]),
        ({1: 5, 2: 6}, [aborted(3, 4, 19)], {}, {1, 2},
         [Marker(17, 2, False), Marker(18, 1, False), Marker(19, 3, True)]),
    ],
)  # fmt: skip
def test_which_ends_were_among_lost_offsets(begun, recorded, behind, over, wanted):
    """10 to 19 are lost."""
    assert lost_between(10, 19, begun, recorded, behind, over.__contains__) == wanted


def test_which_ends_were_behind():
    begun = {1: 3, 2: 5, 3: 4, 4: 6}
    recorded = [aborted(2, 5, 12), aborted(1, 8, 14), aborted(4, 0, 2)]
    found = lost_behind(10, begun, recorded, {}, {3}.__contains__)
    assert found == [Marker(10, 1, False), Marker(11, 3, False), Marker(12, 2, True)]
    behind = {1: Event(14, 1, "abort"), 3: Event(12, 3, "abort"), 4: Event(20, 4, "begin")}
    found = lost_behind(10, begun, recorded, behind, set[int]().__contains__)
    assert found == [Marker(10, 1, False), Marker(11, 3, True), Marker(12, 2, True)]


def test_as_of_a_moment_what_no_coordinator_knew_is_aborted(source):
    """Whether its end comes later, or nothing behind tells of one; what was known stays open."""
    log = open_data_directory(source).partition(f"{TOPIC}-{ABORTS}").log()
    (run,) = [item for _, item in log.walk(0, log.end_offset) if isinstance(item, BatchRun)][-1:]
    payer, runs = int(run.rows["producer_id"][-1]), [run._replace(rows=run.rows[-1:])]
    end, begun = log.end_offset - 1, {payer: log.end_offset - 2, payer + 1: 0, payer + 2: 0}

    def is_unknown(producer_id: int, ended_ms: int = 0) -> bool:
        return (producer_id, ended_ms) in ((payer, 7), (payer + 2, 0))

    assert ended_by(0, end, begun, runs, is_unknown, {payer: 7}) == [
        Marker(end, payer, True), Marker(end + 1, payer + 2, True),
    ]  # fmt: skip
    assert ended_by(2**62, end, begun, runs, no_coordinator, {}) == [Marker(end, payer, False)]
