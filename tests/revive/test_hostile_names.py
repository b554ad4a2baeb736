"""Names and values in metadata, groups and transactions that no Kafka would take: nothing leads out of the new
directory, for `revive` or for the broker that starts there."""

import time

import pytest

from kafkafs.format.names import METADATA_LOG
from kafkafs.log.data_directory import open_data_directory
from kafkafs.revive.job import planned, revive
from kafkafs.revive.plan import Choices
from kafkafs.revive.topics import made_up_id
from tests.cluster.writing import Data, commit, metadata, pair, transaction
from tests.kafka.broker import wait_until
from tests.kafka.clusters import Cluster
from tests.revive.nodes import revived
from tests.revive.replicas import Made, disk
from tests.revive.test_brokers import WHOLE, consumed
from tests.revive.test_fingerprint import topic_records

NAMES = [
    "../../evil", "..", ".", "", "a/evil", "evil\0", "e" * 250, "../new/server.properties", "\u00e9vil", "evil\n",
    "/evil", "__cluster_metadata",
]  # fmt: skip
ONE, TWO, THREE = map(made_up_id, ("one", "two", "three"))
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
CONFIGS = [
    (BROKER, "", "min.insync.replicas", "0"), (BROKER, "1", "num.io.threads", "0"), (BROKER, "", "log.dirs", "/evil"),
    (BROKER, "1", "num.network.threads", "999999999"), (BROKER, "", "log.segment.bytes", "x"),
    (BROKER, "", "compression.type", "../../evil"), (LOGGER, "1", "kafka", "DEBUG"), (99, "x", "y", "z"),
    (METRICS, "watch", "match", "a=((["), (GROUP, "g", "consumer.session.timeout.ms", "evil"),
]  # fmt: skip
"""Types and names of resources, and settings. With `min.insync.replicas`, the revived partitions had no leader for
ever. With the numbers of threads, the node did not start."""


def hostile_metadata():
    records = []
    for name in NAMES:
        topic_id = made_up_id("evil", name)
        records += topic_records(name, topic_id)
        for kind, setting, value in (
            (TOPIC, "retention.ms", "1"), (BROKER, "num.io.threads", "3"), (METRICS, "interval.ms", "1000"),
            (GROUP, "consumer.session.timeout.ms", "50000"),
        ):  # fmt: skip
            records.append(metadata("ConfigRecord", resourceType=kind, resourceName=name, name=setting, value=value))
    return records + [
        metadata("ConfigRecord", resourceType=kind, resourceName=resource, name=name, value=value)
        for kind, resource, name, value in CONFIGS
    ]


def hostile_groups(topic):
    """Offsets of hostile topics, and groups of hostile names with members that have them, too."""
    records = [commit("good", topic, 0, 5), *(commit("g", name, 0, 5) for name in NAMES)]
    for name in filter(None, NAMES):
        member = dict.fromkeys(("memberId", "groupInstanceId", "clientId", "clientHost"), name)
        value = {"protocolType": "consumer", "generation": 1, "protocol": name, "leader": name, "members": [member]}
        records += [commit(name, topic, 0, 7), pair("GroupMetadata", {"group": name}, value, 3)]
    return records


def hostile_transactions():
    """Open ones, and some whose ends are still to be written to each partition."""
    partitions = [{"topic": name, "partitionIds": [0, 2**31 - 1]} for name in NAMES]
    more = {"producerEpoch": 0, "transactionTimeoutMs": 60_000, "transactionPartitions": partitions}
    return [
        transaction(f"{state}{name}", producerId=900 + number, transactionStatus=state, **more)
        for number, name in enumerate(NAMES) for state in (1, 2)
    ]  # fmt: skip


def groups(node):
    return {each.group_id for each in node.broker.admin.list_consumer_groups().result(30).valid}


def names_below(path):
    return {str(each.relative_to(path)) for each in path.rglob("*")}


@pytest.mark.parametrize("until_ms", [None, 2000, 4000])
def test_nothing_is_written_outside_of_the_new_directory(until_ms, tmp_path):
    """The hostile records are of 3000 ms: as of 2000 ms, nothing of them is there."""
    source, to = tmp_path / "a/b/disk", tmp_path / "a/c/new"
    disk(source, 1, {"t-0": Made([(0, 20)], ONE)})
    data = Data(source)
    good = [("t", ONE), ("__consumer_offsets", TWO), ("__transaction_state", THREE)]
    data.write(METADATA_LOG, [record for each in good for record in topic_records(*each)], timestamp=1000)
    data.write(METADATA_LOG, hostile_metadata(), timestamp=3000)
    data.write("__consumer_offsets-0", hostile_groups("t"))
    data.write("__transaction_state-0", hostile_transactions())
    before = names_below(tmp_path)
    plan = planned([source], Choices(to=to, until_ms=until_ms))
    assert names_below(tmp_path) == before
    report = revive([source], Choices(to=to, until_ms=until_ms))
    assert plan["leftOut"] == report["leftOut"]
    new = {each for each in names_below(tmp_path) if not each.startswith("a/c")}
    assert new == {each for each in before if not each.startswith("a/c")}
    assert {each["topic"] for each in report["revived"]} == {name for name, _ in good}
    assert {each.name for each in to.iterdir() if each.is_dir()} == {
        "t-0", METADATA_LOG, "__consumer_offsets-0", "__transaction_state-0",
    }  # fmt: skip
    text = "\n".join(report["leftOut"])
    is_there = until_ms != 2000
    for name in NAMES[:6]:
        assert (f"the topic {name!r} of the metadata is left out" in text) == is_there
    for kind, _, setting, value in CONFIGS[:-2]:
        shown = setting if setting == "log.dirs" else f"{setting}={value!r}"
        assert (f"the setting {shown} of " in text) == is_there, (kind, shown)
    assert "=999" not in (to / "server.properties").read_text()
    assert "num.io.threads=0" not in (to / "server.properties").read_text()
    assert "the group 'g' has committed offset 5 of ../../evil-0, which is not revived" in text


@pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")
@pytest.mark.parametrize(
    ("source", "target", "is_until"),
    [("4.3.1", "4.4.0", False), ("4.3.1", "4.3.1", True), ("3.9.1", "3.9.1", False), ("3.9.1", "4.4.0", True)],
)
def test_the_broker_that_starts_there_leads_all_and_stays_inside(source, target, is_until, tmp_path):
    scratch = tmp_path / "a/b"
    scratch.mkdir(parents=True)
    place = Cluster(source, "stopped").copy_to(scratch / "disk")
    now, data = int(time.time() * 1000), Data(place)
    for partition, records in (
        (METADATA_LOG, hostile_metadata()), ("__consumer_offsets-0", hostile_groups("shop")),
        ("__transaction_state-0", hostile_transactions()),
    ):  # fmt: skip
        end = open_data_directory(place).partition(partition).log().end_offset
        data.write(partition, records, at=end, timestamp=now)
    before = names_below(place)
    with revived(target, scratch, [place], corrupt="skip", until_ms=now + 1000 if is_until else None) as node:
        assert "'../../evil'" in "\n".join(node.report["leftOut"])
        assert consumed(node, "shop", 0)
        wait_until(
            lambda: {*filter(None, NAMES)} - groups(node) <= {"evil\0"}, "all groups"
        )  # its name ends at the zero
    assert names_below(place) == before
    assert {each.name for each in scratch.iterdir()} == {"disk", "home", "revived"}
    assert {each.name for each in tmp_path.iterdir()} == {"a"}
    assert [each for each in (tmp_path / "a").iterdir() if each.name != "b"] == []
    evil = [each for each in tmp_path.rglob("*") if "evil" in each.name or "e" * 100 in each.name]
    assert evil == []
