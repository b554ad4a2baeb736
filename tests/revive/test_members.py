"""Members of share groups and of Kafka Streams that were at work when their broker was killed: where they had come to
is where they go on, by Kafka's own tools and by members of the same groups. `scripts/soak revive`.
"""

import base64
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkafs.revive.job import revive
from tests.kafka import broker as nodes
from tests.kafka import jars, truth
from tests.kafka.writer import Record, Topic, Writer, create
from tests.revive.nodes import choices, started
from tests.revive.test_brokers import WHOLE
from tests.revive.test_moments import is_over
from tests.revive.test_night import value_of

pytestmark = pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")
SETTINGS = {f"share.coordinator.state.topic.{name}": 1 for name in ("replication.factor", "min.isr", "num.partitions")}
SHARE = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
STREAMS = "org.apache.kafka.tools.streams.StreamsGroupCommand"
COUNT = 60


@contextmanager
def member(name: str, *words: object) -> Iterator[subprocess.Popen[bytes]]:
    """A program of tests/kafka/java, until the end of the context; then it is killed."""
    program = Path(nodes.__file__).parent / f"java/{name}.java"
    classpath = f"{jars.jars(jars.NEWEST)}/*:{jars.streams()}/*"
    command = ["java", jars.HEAP, *jars.QUICK_START, "-cp", classpath, str(program), *map(str, words)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def described(broker: nodes.Broker, command: str, group: str, *parts: str) -> list[list[str]]:
    """The words of what a tool prints of a group, its lines sorted."""
    group_is = ("--bootstrap-server", broker.address, "--describe", "--group", group)
    printed = [jars.run(jars.NEWEST, command, *group_is, part, "--verbose").stdout.decode() for part in parts]
    return sorted(line.split() for text in printed for line in text.splitlines())


@pytest.mark.parametrize(("source", "target"), [("4.3.1", "4.4.0"), ("4.4.0", "4.3.1")])
def test_what_a_share_group_had_decided_stays(source, target, tmp_path):
    """What was released comes again, as what its member said nothing of; what it accepted and rejected does not."""
    home, place = tmp_path / "source", tmp_path / "revived"
    home.mkdir()
    with nodes.running(source, home, SETTINGS) as broker:
        create(broker, {"t": Topic()})
        Writer(broker).batch("t", [Record(b"%d" % number) for number in range(COUNT)])
        about = ("--entity-type", "groups", "--entity-name", "sharing", "--alter", "--add-config")
        command = "org.apache.kafka.tools.ConfigCommand", "--bootstrap-server", broker.address
        jars.run(jars.NEWEST, *command, *about, "share.auto.offset.reset=earliest")
        with member("Sharer", broker.address, "sharing", "t", COUNT, "some") as sharer:
            assert sharer.stdout is not None
            assert sharer.stdout.readline().split() == [b"%d:1" % offset for offset in range(COUNT)]
            before = described(broker, SHARE, "sharing", "--offsets", "--members")
            broker.stop(signal.SIGKILL)
    report = revive([home / "data"], choices(place, target))
    for again in (False, True):
        with started(target, place, tmp_path / "home", report) as node:
            if not again:
                assert described(node.broker, SHARE, "sharing", "--offsets", "--members") == before
                wanted = [b"%d:%d" % (offset, 2 if offset % 4 == 1 else 1) for offset in range(COUNT) if offset % 2]
            else:
                Writer(node.broker).batch("t", [Record(b"new")])
                wanted = [b"%d:1" % COUNT]
            with member("Sharer", node.broker.address, "sharing", "t", len(wanted), "all") as sharer:
                assert sharer.stdout is not None
                assert sharer.stdout.readline().split() == wanted
            complaints = [each for each in node.complaints() if "Recovering unflushed segment" not in each]
            assert complaints == []


def test_streams_count_each_record_once(tmp_path):
    """Across the death of broker and members, within a transaction; once the new node may abort that."""
    home, place = tmp_path / "source", tmp_path / "revived"
    home.mkdir()
    with nodes.running("4.3.1", home, SETTINGS) as broker:
        create(broker, {"in": Topic(2), "out": Topic()})
        writer = Writer(broker, settings={"linger.ms": 5, "message.timeout.ms": 20_000})
        with member("Counter", broker.address, "streams", tmp_path / "state"):

            def write() -> bool:
                for number in range(200):
                    writer.stream("in", [Record(b"%c%d" % (97 + number % 7, number))], number % 2)
                writer.flush()
                return not is_over(broker, "out")

            for _ in range(3):
                nodes.wait_until(lambda: is_over(broker, "out"), "the end of a transaction")
                nodes.wait_until(write, "a transaction")
            before = described(broker, STREAMS, "counter", "--members")
            nodes.wait_until(write, "a transaction")
            broker.stop(signal.SIGKILL)
    report = revive([home / "data"], choices(place, "4.4.0"))
    with started("4.4.0", place, tmp_path / "home", report) as node:
        assert described(node.broker, STREAMS, "counter", "--members") == before
        assert not is_over(node.broker, "out")
    assert node.complaints() == []
    properties, line = place / "server.properties", "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    kept = [each for each in properties.read_text().splitlines() if not each.startswith(line)]
    properties.write_text("\n".join([*kept, ""]))
    with started("4.4.0", place, tmp_path / "home", report) as node:
        reported = truth.read(node.broker, [("in", 0), ("in", 1)], "read_committed")
        wanted = Counter(value_of(row)[:1] for rows in reported.values() for row in rows)
        with member("Counter", node.broker.address, "streams", tmp_path / "later"):

            def counted() -> list[tuple[bytes, int]]:
                rows = truth.read(node.broker, [("out", 0)], "read_committed")["out", 0]
                return sorted((base64.b64decode(row[3]), int(value_of(row))) for row in rows)

            def has_all() -> bool:
                return dict(counted()) == wanted

            nodes.wait_until(has_all, "counts", 120)
            found = counted()
        assert found == [(letter, each + 1) for letter in sorted(wanted) for each in range(wanted[letter])]
