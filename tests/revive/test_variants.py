"""Clusters with what few have: settings that a newer release does not take, what compaction leaves of a log, and topics
that were being moved or deleted. `scripts/soak revive`.
"""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic, OffsetSpec

from kafkafs.revive.job import planned
from tests.kafka import broker as nodes
from tests.kafka import jars, truth
from tests.kafka.writer import Record, Topic, Writer, create
from tests.revive.nodes import choices, revived
from tests.revive.test_brokers import WHOLE
from tests.revive.test_night import three_brokers, value_of

pytestmark = pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")
COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.bytes": "2000"}
TOPICS = {
    "small": Topic(2, {"segment.bytes": 1000, "index.interval.bytes": 1}),
    "smallest": Topic(1, {"segment.bytes": 14}),
    "cleaned": Topic(1, COMPACTED | {"delete.retention.ms": "0"}),
    "former": Topic(1, {"message.downconversion.enable": "false", "message.format.version": "3.0-IV1"}),
    "l" * 120 + "." + "_" * 128: Topic(1, {"compression.type": "zstd", "cleanup.policy": "compact,delete"}),
    "many": Topic(100),
}
WRITTEN = [name for name in TOPICS if name != "smallest"]  # no batch is as small as its segments


@pytest.mark.parametrize("target", ["3.9.1", "4.4.0"])
def test_settings_that_only_an_older_release_takes(target, tmp_path):
    """On two disks, killed: it starts, and each partition begins and ends where it did, with the records it had."""
    home = tmp_path / "source"
    home.mkdir()
    disks = [home / "data", home / "data2"]
    with nodes.running("3.9.1", home, {"log.dirs": ",".join(map(str, disks))}) as source:
        create(source, TOPICS)
        writer = Writer(source)
        for number in range(10):
            for topic in (name for name in WRITTEN if name != "cleaned"):
                writer.batch(topic, [Record(os.urandom(200), b"%d" % number)])
            writer.batch("cleaned", [Record(b"x" * 500, b"%d" % each) for each in range(3)])
        add = ("--alter", "--add-config", "log.segment.bytes=1000")
        server = ("--bootstrap-server", source.address, "--entity-type", "brokers", "--entity-default")
        jars.run("3.9.1", "kafka.admin.ConfigCommand", *server, *add)
        first = next(disk / "cleaned-0" for disk in disks if (disk / "cleaned-0").is_dir()) / f"{0:020}.log"
        nodes.wait_until(lambda: first.stat().st_size == 0, "the cleaner to leave nothing of the first segment")
        time.sleep(1.5)  # checkpoints are written each second
        before = reported(source)
        source.stop(signal.SIGKILL)
    with revived(target, tmp_path, disks) as node:
        assert reported(node.broker) == before
        writer = Writer(node.broker)
        for name in WRITTEN:
            writer.batch(name, [Record(b"new", b"k")])
    assert node.complaints() == []


def test_topics_that_were_being_moved_and_deleted(tmp_path):
    """One disk has a tenth of the moved one: without the other that is said. What was deleted does not come back."""
    with three_brokers("4.3.1", tmp_path / "source") as brokers:
        admin = brokers[1].admin
        made = [NewTopic("moved", 1, replica_assignment=[[1]]), NewTopic("again", 1, 3), NewTopic("deleted", 2, 3)]
        for future in admin.create_topics(made).values():
            future.result(30)
        writer, values = Writer(brokers[1]), [os.urandom(2000) for _ in range(2000)]
        for first in range(0, len(values), 50):
            writer.batch("moved", [Record(value) for value in values[first : first + 50]])
        writer.batch("again", [Record(b"old")])
        writer.batch("deleted", [Record(b"gone")])
        move(brokers[1], tmp_path / "move.json", "moved", 3)
        again(brokers[1])
        disks = {number: each.data for number, each in brokers.items()}
        nodes.wait_until(lambda: any((disks[3] / "moved-0").glob("*.log")), "the move to begin")
        for future in admin.delete_topics(["deleted"]).values():
            future.result(30)
        for each in brokers.values():
            each._processes[0].kill()
    left = planned([disks[2], disks[3]], choices(tmp_path / "plan"))["leftOut"]
    sentence = "moved-0: no disk has a replica that was in sync (of broker 1), so its last records may be missing; '"
    assert any(each.startswith(sentence) and str(disks[3] / "moved-0") in each for each in left)
    with revived("3.9.1", tmp_path, [disks[1], disks[3]]) as node:
        assert not any("in sync" in sentence for sentence in node.report["leftOut"])
        assert {each for each, _ in truth.all_partitions(node.broker) if not each.startswith("__")} == {
            "moved",
            "again",
        }
        found = truth.read(node.broker, [("moved", 0), ("again", 0)], "read_committed")
        assert [value_of(row) for row in found["moved", 0]] == values
        assert [value_of(row) for row in found["again", 0]] == [b"new"]
    assert node.complaints() == []


def move(source: nodes.Broker, plan: Path, topic: str, to: int) -> None:
    """So slowly that it does not come to its end."""
    partition = {"topic": topic, "partition": 0, "replicas": [to]}
    plan.write_text(json.dumps({"version": 1, "partitions": [partition]}))
    command = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand", "--bootstrap-server", source.address
    jars.run(jars.NEWEST, *command, "--reassignment-json-file", plan, "--execute", "--throttle", "20000")


def again(source: nodes.Broker) -> None:
    """A topic is deleted, and another made of the same name."""
    for future in source.admin.delete_topics(["again"]).values():
        future.result(30)
    nodes.wait_until(lambda: "again" not in source.admin.list_topics(timeout=5).topics, "the topic to be gone")
    for future in source.admin.create_topics([NewTopic("again", 1, 3)]).values():
        future.result(30)
    Writer(source).batch("again", [Record(b"new")])


def reported(source: nodes.Broker) -> dict[str, object]:
    """Records in both isolation levels, and where partitions begin and end."""
    partitions = [each for each in truth.all_partitions(source) if not each[0].startswith("__")]
    found: dict[str, object] = {each: truth.read(source, partitions, each) for each in truth.ISOLATIONS}
    for name, spec in (("earliest", OffsetSpec.earliest()), ("latest", OffsetSpec.latest())):
        found[name] = truth.ask(source.admin, dict.fromkeys(partitions, spec))
    return found
