"""Three brokers, killed, of which each had moved most of a topic with transactions into a tier: as of the end, with one
disk missing, and as of a moment before much of it was written. `scripts/soak revive`.
"""

import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from kafkafs.log.read_options import TierSource
from tests.kafka import broker as nodes
from tests.kafka import truth
from tests.kafka.tiered import RELEASE, TIERED, set_configs, settings
from tests.kafka.writer import Record, Writer, now_ms
from tests.revive.nodes import revived
from tests.revive.test_brokers import WHOLE
from tests.revive.test_night import three_brokers

pytestmark = pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")
PARTITIONS = [("far", 0), ("far", 1), ("near", 0)]
UPLOADED = 4


def pay(payer: Producer, numbers: range) -> None:
    """Every fourth transaction is aborted."""
    for number in numbers:
        payer.begin_transaction()
        for each in range(20):
            payer.produce("far", b"%d-%d " % (number, each) + b"x" * 200, b"%d" % each, number % 2)
        payer.produce("near", b"%d" % number)
        if number % 4 == 3:
            payer.flush(30)
            payer.abort_transaction(30)
        else:
            payer.commit_transaction(30)


def commit(address: str, *offsets: int) -> None:
    reader = Consumer({"bootstrap.servers": address, "group.id": "readers", "log_level": 0})
    reader.commit(offsets=[TopicPartition("far", *each) for each in enumerate(offsets)], asynchronous=False)
    reader.close()


def read(broker: nodes.Broker) -> dict[str, object]:
    return {isolation: truth.read(broker, PARTITIONS, isolation) for isolation in truth.ISOLATIONS}


def committed(broker: nodes.Broker) -> list[int]:
    (future,) = broker.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("readers")]).values()
    return [each.offset for each in sorted(future.result(30).topic_partitions, key=lambda each: each.partition)]


def bases(broker: nodes.Broker, number: int) -> list[int]:
    return sorted(int(file.stem) for file in (broker.data / f"far-{number}").glob("*.log"))


def test_a_tier_of_three_brokers(tmp_path: Path) -> None:
    tier = tmp_path / "tier"
    tier.mkdir()
    more = settings(tier) | {"rlmm.config.remote.log.metadata.topic.replication.factor": 3}
    with three_brokers(RELEASE, tmp_path / "source", more) as brokers:
        own = {"min.insync.replicas": "2"}
        made = [NewTopic("far", 2, 3, config=TIERED | own), NewTopic("near", 1, 3, config=own)]
        for future in brokers[1].admin.create_topics(made).values():
            future.result(30)
        address = ",".join(each.address for each in brokers.values())
        payer = Producer({"bootstrap.servers": address, "transactional.id": "payer", "log_level": 0})
        payer.init_transactions(60)
        pay(payer, range(80))
        commit(address, 100, 150)
        time.sleep(1)  # of a moment on three clocks
        until = now_ms()
        then = read(brokers[1])
        time.sleep(0.1)
        pay(payer, range(80, 160))
        commit(address, 900, 800)
        stored = tier / "kafka-tiered-storage"

        def uploaded() -> bool:
            done = [
                sum(len([*each.glob("*.snapshot")]) for each in stored.glob(f"far-{number}-*")) for number in (0, 1)
            ]
            return min(done) >= UPLOADED

        nodes.wait_until(uploaded, "uploads")
        set_configs(brokers[1], "far", {"local.retention.ms": "-2", "local.retention.bytes": "1"})
        for each in brokers.values():
            nodes.wait_until(lambda: max(len(bases(each, n)) for n in (0, 1)) == 1, "retention", 120)  # noqa: B023
        at_the_end = read(brokers[1])
        disks = [each.data for each in brokers.values()]
        for each in brokers.values():
            each._processes[0].kill()
    source = TierSource(str(stored))
    for name, target, given, moment, wanted, offsets in (
        ("lost", "4.4.0", disks[1:], None, at_the_end, [900, 800]),
        ("then", "4.3.1", disks, until, then, [100, 150]),
    ):
        scratch = tmp_path / name
        scratch.mkdir()
        with revived(target, scratch, given, tiered=source, until_ms=moment) as node:
            assert node.report["remoteBytes"] > 0
            assert read(node.broker) == wanted
            assert committed(node.broker) == offsets
            Writer(node.broker).batch("far", [Record(b"new")])
        assert node.complaints() == []
