"""A cluster as of a moment, by real brokers: groups and transactions are as they were then, and nothing waits for ever.

Records that tell of the past, as a stream's results do, were appended after the moment and count all the same; what
ends their transactions bears the broker's own time. `scripts/soak revive`.
"""

import base64

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec

from tests.kafka import broker as nodes
from tests.kafka import truth
from tests.kafka.writer import Topic, create, now_ms
from tests.revive.nodes import Revived, moment, revived
from tests.revive.test_brokers import WHOLE

pytestmark = pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")
HOUR_MS = 3_600_000


def paying(broker: nodes.Broker) -> Producer:
    """A transactional producer."""
    payer = Producer({"bootstrap.servers": broker.address, "transactional.id": "payer", "log_level": 0})
    payer.init_transactions(30)
    return payer


def pay(payer: Producer, value: bytes, group_at: int, reader: Consumer) -> None:
    """A record of an hour ago and a group's offset, in a transaction."""
    payer.begin_transaction()
    payer.produce("paid", value, partition=0, timestamp=now_ms() - HOUR_MS)
    payer.flush(30)
    payer.send_offsets_to_transaction([TopicPartition("read", 0, group_at)], reader.consumer_group_metadata(), 30)
    payer.commit_transaction(30)


def is_over(broker: nodes.Broker, topic: str) -> bool:
    """Whether nothing is open: a marker comes a moment after the producer was answered."""
    asked = {(topic, 0): OffsetSpec.latest()}
    return truth.ask(broker.admin, asked) == truth.ask(broker.admin, asked, IsolationLevel.READ_COMMITTED)


def committed(broker: nodes.Broker, group: str) -> dict[str, int]:
    """The group's offsets, once no transaction may still change them."""
    (future,) = broker.admin.list_consumer_group_offsets(
        [ConsumerGroupTopicPartitions(group)], require_stable=True, request_timeout=10
    ).values()
    return {f"{each.topic}-{each.partition}": each.offset for each in future.result(30).topic_partitions}


def values(node: Revived, isolation: str) -> list[bytes]:
    return [base64.b64decode(row[4]) for row in truth.read(node.broker, [("paid", 0)], isolation)["paid", 0]]


def test_before_the_first_commit_there_are_neither_groups_nor_transactions(tmp_path):
    """Nor the topics that tell of them: the new node makes its own."""
    home = tmp_path / "source"
    home.mkdir()
    with nodes.running("4.4.0", home) as source:
        create(source, {"paid": Topic(), "read": Topic()})
        until = moment()
        reader = Consumer({"bootstrap.servers": source.address, "group.id": "readers", "log_level": 0})
        pay(paying(source), b"after", 5, reader)
        reader.close()
    with revived("4.4.0", tmp_path, [home / "data"], until_ms=until) as node:
        assert {"paid", "read"} == {*node.broker.admin.list_topics(timeout=30).topics}
        assert any("__consumer_offsets-0' is left out (" in each and "): it was made after" in each
                   for each in node.report["leftOut"])  # fmt: skip
        assert values(node, "read_committed") == []
        again = Consumer({"bootstrap.servers": node.broker.address, "group.id": "readers", "log_level": 0})
        pay(paying(node.broker), b"again", 4, again)
        again.close()
        nodes.wait_until(lambda: values(node, "read_committed") == [b"again"], "the marker")
        assert committed(node.broker, "readers") == {"read-0": 4}
    assert node.complaints() == []


@pytest.mark.parametrize("target", ["3.9.1", "4.4.0"])
def test_a_transaction_that_had_not_begun_then_is_aborted(target, tmp_path):
    """Of what its coordinator knows nothing yet nobody would ever end, and readers would stop there."""
    home = tmp_path / "source"
    home.mkdir()
    with nodes.running("4.3.1", home) as source:
        create(source, {"paid": Topic(), "read": Topic()})
        reader = Consumer({"bootstrap.servers": source.address, "group.id": "readers", "log_level": 0})
        payer = paying(source)
        pay(payer, b"before", 3, reader)
        nodes.wait_until(lambda: is_over(source, "paid"), "the marker")
        until = moment()
        pay(payer, b"after", 5, reader)
        reader.close()
    with revived(target, tmp_path, [home / "data"], until_ms=until) as node:
        assert values(node, "read_committed") == [b"before"]
        assert is_over(node.broker, "paid")
        assert committed(node.broker, "readers") == {"read-0": 3}
        again = Consumer({"bootstrap.servers": node.broker.address, "group.id": "readers", "log_level": 0})
        pay(paying(node.broker), b"again", 4, again)
        again.close()
        nodes.wait_until(lambda: values(node, "read_committed") == [b"before", b"again"], "the marker")
        assert committed(node.broker, "readers") == {"read-0": 4}
    assert node.complaints() == []
