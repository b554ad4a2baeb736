"""Values of topics' settings with which no broker starts are left out, and named; all that a broker takes stays."""

import pytest

from kafkafs.format.names import METADATA_LOG
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from kafkafs.revive.job import revive
from kafkafs.revive.metadata_log import read_metadata
from kafkafs.revive.plan import Choices
from kafkafs.revive.refused_settings import is_taken, is_taken_of_broker
from kafkafs.revive.topics import made_up_id
from tests.cluster.writing import Data, metadata
from tests.revive.replicas import Made, disk
from tests.revive.test_fingerprint import topic_records

ONE = made_up_id("one")
TAKEN = {
    "retention.ms": ["-1", "0", " 7 ", "+5", str(2**63 - 1)], "retention.bytes": ["-1"], "segment.bytes": ["14"],
    "cleanup.policy": ["compact", "delete", "compact,delete", "delete, compact", ""], "preallocate": ["TRUE", "false"],
    "min.cleanable.dirty.ratio": ["0", "0.01", "1.0", "1e-3"], "compression.type": ["producer", "zstd"],
    "compression.gzip.level": ["-1", "9"], "compression.zstd.level": ["-7"], "message.format.version": ["3.0-IV1"],
    "leader.replication.throttled.replicas": ["*", "", "0:1,1:2"], "of.a.newer.release": ["../../x"],
}  # fmt: skip
REFUSED = {
    "retention.ms": ["-2", "", "x", "1.5", str(2**63), "7\nlog.dirs=/x", "\u0667"], "max.message.bytes": [str(2**31)],
    "segment.bytes": ["13"], "segment.ms": ["0"], "cleanup.policy": ["../../x", "compact,x"], "preallocate": ["1"],
    "min.cleanable.dirty.ratio": ["1.1", "-0.1", "nan", ""], "compression.type": ["none", "ZSTD"],
    "compression.gzip.level": ["0"], "message.timestamp.type": ["createtime"], "message.format.version": ["x"],
    "leader.replication.throttled.replicas": ["a:b"], "min.insync.replicas": ["0"],
}  # fmt: skip


@pytest.mark.parametrize(("values", "is_good"), [(TAKEN, True), (REFUSED, False)])
def test_values_are_those_of_kafka(values, is_good):
    found = {(name, each): is_taken(name, each) for name, some in values.items() for each in some}
    assert {*found.values()} == {is_good}, found


def test_values_of_brokers_are_those_of_kafka():
    taken = [
        ("log.retention.bytes", "-1"),
        ("log.cleanup.policy", "compact"),
        ("num.io.threads", "8"),
        ("max.connections", "9"),
    ]
    refused = [
        ("log.retention.bytes", "x"),
        ("min.insync.replicas", "0"),
        ("num.io.threads", "0"),
        ("background.threads", "99999"),
    ]
    assert [is_taken_of_broker(*each) for each in (*taken, *refused)] == [True] * 4 + [False] * 4


def test_a_refused_value_is_named_and_its_topic_keeps_its_records(tmp_path):
    """Regression: the revived broker ended at its start. Without a retention time of its own, the topic gets -1."""
    path = tmp_path / "disk"
    disk(path, 1, {"a-0": Made([(0, 20)], ONE)})
    settings = {"retention.ms": "x\ny", "segment.bytes": "2000000"}
    records = [metadata("ConfigRecord", resourceType=2, resourceName="a", name=name, value=value)
               for name, value in settings.items()]  # fmt: skip
    Data(path).write(METADATA_LOG, [*topic_records("a", ONE), *records])
    report = revive([path], Choices(to=tmp_path / "new"))
    assert r"the setting retention.ms='x\ny' of a is left out: no Kafka takes such a value" in report["leftOut"]
    assert report["retentionAdded"] == ["a"]
    image = read_metadata([open_data_directory(tmp_path / "new")], ReadOptions()).image
    assert image is not None
    assert image.configs[2, "a"] == {"retention.ms": "-1", "segment.bytes": "2000000"}
