"""`.cluster/` of a mount beside a real broker at work: a second after a client has its answer, a reader has it too.

What is told is held against what AdminClient says at that moment.
"""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from kafkafs.log.read_options import ReadOptions
from kafkafs.view.tree import Root
from tests.cluster import reading
from tests.kafka import broker as node
from tests.kafka.broker import Broker
from tests.mounting import Mounted, run, wait_until
from tests.promises import at_most

pytestmark = pytest.mark.urgent

SOON_S = at_most(1.0)
PATIENCE_S = 100.0
SETTINGS = {
    "group.min.session.timeout.ms": 1000,
    "offsets.topic.num.partitions": 2,
    "metadata.log.max.record.bytes.between.snapshots": 4000,
    "offsets.topic.segment.bytes": 1 << 20,
    "offset.metadata.max.bytes": 32_000,
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with node.running("4.4.0", tmp_path_factory.mktemp("beside"), SETTINGS) as started:
        create(started, "first", 1)
        commit(started, "before", "first", 1)  # the coordinator is there
        yield started


@pytest.fixture(scope="module")
def place(broker, mount_for_module) -> Mounted:
    mounted: Mounted = mount_for_module(broker.data)
    lines(mounted, "groups.jsonl")  # it has read all once
    return mounted


def create(broker: Broker, topic: str, partitions: int) -> None:
    for made in broker.admin.create_topics([NewTopic(topic, partitions, 1, config={"retention.ms": "77"})]).values():
        made.result(PATIENCE_S)


def client(broker: Broker, **more: Any) -> dict[str, Any]:
    return {"bootstrap.servers": broker.address, "log_level": 0} | {
        name.replace("_", "."): value for name, value in more.items()
    }


def commit(broker: Broker, group: str, topic: str, *offsets: int, metadata: str = "") -> None:
    consumer = Consumer(client(broker, group_id=group))
    for offset in offsets:
        consumer.commit(offsets=[TopicPartition(topic, 0, offset, metadata)], asynchronous=False)
    consumer.close()


def lines(place: Mounted, path: str) -> list[dict[str, Any]]:
    """The lines of a file; none where it is not there."""
    done = run("cat", place / f".cluster/{path}", check=False)
    return [json.loads(line) for line in done.stdout.splitlines()] if done.returncode == 0 else []


def row(place: Mounted, path: str, **fields: Any) -> dict[str, Any]:
    """The one line with these fields; empty where there is none."""
    found = [each for each in lines(place, path) if fields.items() <= each.items()]
    assert len(found) < 2
    return found[0] if found else {}


def soon(condition: Callable[[], object]) -> None:
    """A client has its answer: so has a reader, a second later."""
    started = time.monotonic()
    wait_until(condition, PATIENCE_S)
    assert time.monotonic() - started < SOON_S


def committed(broker: Broker, group: str) -> dict[str, int]:
    """What AdminClient says."""
    (asked,) = broker.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
    return {f"{each.topic}-{each.partition}": each.offset for each in asked.result(PATIENCE_S).topic_partitions}


def reported(place: Mounted, group: str) -> dict[str, int]:
    rows = lines(place, f"groups/{group}/offsets.jsonl")
    return {f"{each['topic']}-{each['partition']}": each["offset"] for each in rows if not each["pending"]}


def test_a_new_group_its_commits_and_its_end(broker, place):
    assert reported(place, "g") == {}
    for offset in (3, 1, 4):
        commit(broker, "g", "first", offset)
        soon(lambda: reported(place, "g") == {"first-0": offset})  # noqa: B023
        assert committed(broker, "g") == {"first-0": offset}
    (deleted,) = broker.admin.delete_consumer_groups(["g"]).values()
    deleted.result(PATIENCE_S)
    groups = place / ".cluster/groups"
    soon(lambda: not row(place, "groups.jsonl", group="g") and "g" not in {each.name for each in groups.iterdir()})
    soon(lambda: not (groups / "g/group.json").exists())
    events = [(each["event"], each["offset"], each["change"]) for each in lines(place, "groups/g/history.jsonl")]
    assert events == [
        ("commit", 3, None), ("commit", 1, -2), ("commit", 4, 3), ("expire", None, None), ("delete", None, None),
    ]  # fmt: skip


def test_topics_come_change_and_go(broker, place):
    create(broker, "second", 2)
    soon(lambda: row(place, "topics.jsonl", topic="second", partitions=2))
    found = row(place, "topics.jsonl", topic="second")
    (told_topic,) = broker.admin.list_topics("second", PATIENCE_S).topics.values()
    rows = [each for each in lines(place, "partitions.jsonl") if each["topic"] == "second"]
    assert [(each["leader"], each["replicas"], each["isr"]) for each in rows] == [
        (each.leader, each.replicas, each.isrs) for each in told_topic.partitions.values()
    ]
    assert found["configs"] == {"retention.ms": "77"}
    change = ConfigEntry("retention.ms", "78", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, "second", incremental_configs=[change])
    (changed,) = broker.admin.incremental_alter_configs([resource]).values()
    changed.result(PATIENCE_S)
    soon(lambda: row(place, "configs.jsonl", name="second", key="retention.ms", value="78"))
    (deleted,) = broker.admin.delete_topics(["second"]).values()
    deleted.result(PATIENCE_S)
    soon(lambda: not row(place, "topics.jsonl", topic="second"))


def test_a_transaction_opens_and_ends(broker, place):
    producer = Producer(client(broker, transactional_id="mover"))
    producer.init_transactions(PATIENCE_S)
    soon(lambda: row(place, "transactions.jsonl", transactionalId="mover", state="Empty"))
    producer.begin_transaction()
    producer.produce("first", b"within", partition=0)
    assert producer.flush(PATIENCE_S) == 0
    soon(lambda: row(place, "open-transactions.jsonl", topic="first", transactionalId="mover", hanging=False))
    soon(lambda: row(place, "transactions.jsonl", transactionalId="mover", state="Ongoing"))
    reader = Consumer(client(broker, group_id="moved"))
    producer.send_offsets_to_transaction([TopicPartition("first", 0, 9)], reader.consumer_group_metadata(), PATIENCE_S)
    soon(lambda: row(place, "groups/moved/offsets.jsonl", offset=9, pending=True))
    assert reported(place, "moved") == {}
    producer.commit_transaction(PATIENCE_S)
    wait_until(lambda: committed(broker, "moved") == {"first-0": 9}, PATIENCE_S)
    soon(lambda: reported(place, "moved") == {"first-0": 9} and not lines(place, "open-transactions.jsonl"))
    soon(lambda: row(place, "transactions.jsonl", transactionalId="mover", state="CompleteCommit"))
    reader.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_come_and_go(broker, place, protocol):
    settings = {"session_timeout_ms": 6000} if protocol == "classic" else {}
    consumer = Consumer(client(broker, group_id=protocol, group_protocol=protocol, client_id="me", **settings))

    def described() -> Any:
        (asked,) = broker.admin.describe_consumer_groups([protocol]).values()
        return asked.result(PATIENCE_S)

    def is_stable() -> bool:
        consumer.poll(0.1)
        return described().state.name == "STABLE" and bool(consumer.assignment())

    consumer.subscribe(["first"])
    wait_until(is_stable, 3 * PATIENCE_S)
    soon(lambda: row(place, "groups.jsonl", group=protocol, type=protocol, state="Stable", members=1))
    (member,) = lines(place, f"groups/{protocol}/group.json")[0]["members"]
    (expected,) = described().members
    assert (member["memberId"], member["clientId"], member["clientHost"]) == (
        expected.member_id,
        expected.client_id,
        expected.host,
    )
    assert member["assignment"] == [{"topic": "first", "partitions": [0]}]
    consumer.close()
    wait_until(lambda: described().state.name == "EMPTY", PATIENCE_S)
    soon(lambda: row(place, "groups.jsonl", group=protocol, state="Empty", members=0))


def test_users_come_without_their_secrets(broker, place):
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    upsertion = UserScramCredentialUpsertion("alice", credential, b"hush", b"salt-of-alice")
    (made,) = broker.admin.alter_user_scram_credentials([upsertion]).values()
    made.result(PATIENCE_S)
    soon(lambda: lines(place, "users.jsonl") == [{"user": "alice", "mechanism": "SCRAM-SHA-256", "iterations": 4096}])
    assert lines(place, "state.json")[0]["problems"] == []


def test_the_cleaner_takes_old_commits_away_and_what_is_reported_stays(broker, place):
    """The reader has read the segment that is cleaned under it; what it told it tells again, and nothing is amiss."""
    groups = ["before", *(f"cleaned-{number}" for number in range(4))]
    for group in groups[1:]:
        commit(broker, group, "first", *range(24), metadata="x" * 30_000)
        soon(lambda: reported(place, group) == {"first-0": 23})  # noqa: B023
    logs = [broker.data / f"__consumer_offsets-{number}/{0:020}.log" for number in range(2)]
    wait_until(lambda: min(log.stat().st_size for log in logs if segments(log.parent) > 1) < 500_000, 3 * PATIENCE_S)
    for group in groups:
        soon(lambda: reported(place, group) == committed(broker, group) != {})  # noqa: B023
    assert lines(place, "state.json")[0]["problems"] == []


def segments(directory: Path) -> int:
    return len([*directory.glob("*.log")])


def test_a_snapshot_and_the_log_behind_it_tell_what_following_reported(broker, place):
    """The mount has followed from the first record; whoever begins now begins with the newest snapshot."""
    for number in range(8):
        create(broker, f"many-{number}", 3)
    directory = broker.data / "__cluster_metadata-0"
    wait_until(lambda: max(each.name for each in directory.glob("*.checkpoint")) > f"{1:020}", PATIENCE_S)
    create(broker, "behind-the-snapshot", 1)
    wait_until(lambda: row(place, "topics.jsonl", topic="behind-the-snapshot"), PATIENCE_S)

    kinds = ("topics", "partitions", "configs", "brokers", "users", "features")

    def reported(tree) -> list[object]:
        return [reading.lines(tree, f"{kind}.jsonl") for kind in kinds]

    def followed() -> list[object]:
        return [lines(place, f"{kind}.jsonl") for kind in kinds]

    wait_until(
        lambda: reported(Root([broker.data], ReadOptions())) == followed(), PATIENCE_S
    )  # the mount is a moment behind
    again = Root([broker.data], ReadOptions())
    state = reading.lines(again, "state.json")[0]
    assert state["metadata"]["snapshot"] in {each.name for each in directory.glob("*.checkpoint")}
    assert state["problems"] == []
    assert row(place, "topics.jsonl", topic="many-7")
