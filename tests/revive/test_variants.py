"""Clusters with what few have: settings that a newer release does not take, and what compaction leaves of a log.
`scripts/soak revive`.
"""

import os
import signal
import time

import pytest
from confluent_kafka.admin import OffsetSpec

from tests.kafka import broker as nodes
from tests.kafka import jars, truth
from tests.kafka.writer import Record, Topic, Writer, create
from tests.revive.nodes import revived
from tests.revive.test_brokers import WHOLE

pytestmark = [pytest.mark.timeout(400), pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")]
COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.bytes": "2000"}
TOPICS = {
    "small": Topic(2, {"segment.bytes": 1000, "index.interval.bytes": 1}),
    "smallest": Topic(1, {"segment.bytes": 14}),
    "cleaned": Topic(1, COMPACTED | {"delete.retention.ms": "0"}),
    "former": Topic(1, {"message.downconversion.enable": "false", "message.format.version": "3.0-IV1"}),
    "l" * 120 + "." + "_" * 128: Topic(1, {"compression.type": "zstd", "cleanup.policy": "compact,delete"}),
    "many": Topic(100),
}


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
            for topic in (name for name in TOPICS if name not in ("smallest", "cleaned")):
                writer.batch(topic, [Record(os.urandom(200), b"%d" % number)])
            writer.batch("cleaned", [Record(b"x" * 500, b"%d" % each) for each in range(3)])
        add = ("--alter", "--add-config", "log.segment.bytes=1000")
        server = ("--bootstrap-server", source.address, "--entity-type", "brokers", "--entity-default")
        jars.run("3.9.1", "kafka.admin.ConfigCommand", *server, *add)
        first = next(disk / "cleaned-0" for disk in disks if (disk / "cleaned-0").is_dir()) / f"{0:020}.log"
        nodes.wait_until(lambda: first.stat().st_size == 0, "the cleaner to leave nothing of the first segment")
        time.sleep(1.5)  # checkpoints are written each second
        before = told(source)
        source.stop(signal.SIGKILL)
    with revived(target, tmp_path, disks) as node:
        assert told(node.broker) == before
        writer = Writer(node.broker)
        for name in TOPICS:
            writer.batch(name, [Record(b"new", b"k")])
    assert node.complaints() == []


def told(source: nodes.Broker) -> dict[str, object]:
    """Records in both isolation levels, and where partitions begin and end."""
    partitions = [each for each in truth.all_partitions(source) if not each[0].startswith("__")]
    found: dict[str, object] = {each: truth.read(source, partitions, each) for each in truth.ISOLATIONS}
    for name, spec in (("earliest", OffsetSpec.earliest()), ("latest", OffsetSpec.latest())):
        found[name] = truth.ask(source.admin, dict.fromkeys(partitions, spec))
    return found
