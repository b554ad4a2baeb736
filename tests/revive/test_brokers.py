"""Revived directories on real brokers: what Kafka's own tools tell of them is what they told before death.

Two starts in each run; the whole matrix of sources and targets by `scripts/soak revive`.
"""

import json
import os
import signal
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec

from kafkafs.log.data_directory import open_data_directory
from kafkafs.revive.job import revive
from tests.kafka import broker as nodes
from tests.kafka import replicated, truth
from tests.kafka.broker import wait_until
from tests.kafka.clusters import STATES, Cluster
from tests.kafka.dataset import Dataset
from tests.revive.nodes import TARGETS, Revived, choices, revived, started
from tests.revive.producing import OUT_OF_ORDER_SEQUENCE, first_batch, produce, with_sequence
from tests.revive.users import ask_who_comes, assert_users_have_their_rights

WHOLE = bool(os.environ.get("KAFKAFS_REVIVE"))
OWN = ("nodes", "tools")  # ports, and texts with them in


def clusters() -> list[tuple[str, str, str]]:
    """(source's release, its state, target)."""
    usual = [("4.3.1", "killed", "4.4.0")]
    every = [(*source, target) for source, target in product(product(("2.8.0", "3.9.1", "4.3.1"), STATES), TARGETS)]
    return [each for each in every if each[0] != "4.3.1" or each[2] != "3.9.1"] if WHOLE else usual


def datasets() -> list[tuple[str, str, str]]:
    usual = [("2.8.0", "stopped", "4.3.1")]
    return [*product(("2.8.0", "3.9.1", "4.3.1"), ("stopped", "live"), TARGETS)] if WHOLE else usual


@pytest.mark.parametrize(("source", "state", "target"), clusters())
def test_the_cluster_is_as_it_was(source, state, target, tmp_path):
    """Groups, offsets, ends, topics, transactions, producers, settings, quotas, users, rights; and it goes on."""
    before, place, has_users = Cluster(source, state), tmp_path / "revived", not source.startswith("2.")
    report = revive([before.path], choices(place, target, retention="as-is"))
    doors = f"127.0.0.1:{nodes.free_port()}"
    if has_users:
        ask_who_comes(place, doors)
    with started(target, place, tmp_path / "home", report) as node:
        assert_reported(node, before)
        if has_users:
            assert_users_have_their_rights(doors)
        assert_producers_of_the_dead_have_their_places(node, before.path)
        assert_it_goes_on(node)
        facts = lasting(node.facts())
    assert [each for each in node.complaints() if "Error processing append operation" not in each] == []  # the gap
    with started(target, place, tmp_path / "home", report) as again:
        assert lasting(again.facts()) == facts
        again.broker.stop(signal.SIGKILL)
    assert not [path for path in node.place.iterdir() if path.name.endswith(("-stray", "-delete"))]


def assert_producers_of_the_dead_have_their_places(node: Revived, disk: Path) -> None:
    """What one repeats is known, what is missing between is noticed, and what is next is appended."""
    batch = first_batch(disk, "shop-0")
    count = open_data_directory(disk).partition("shop-0").log().end_offset
    address = node.broker.address
    assert produce(address, "shop", 0, batch) == (0, 0)
    assert produce(address, "shop", 0, with_sequence(batch, count + 5)).error == OUT_OF_ORDER_SEQUENCE
    assert produce(address, "shop", 0, with_sequence(batch, count)) == (0, count)


def assert_reported(node: Revived, before: Cluster) -> None:
    reported, wanted = node.facts(), dict(before.truth)
    old, new = before.release, node.broker.release
    if old.startswith("2."):
        wanted["topics"] = [each | {"topicId": None} for each in wanted["topics"]]
        reported["topics"] = [each | {"topicId": None} for each in reported["topics"]]
    if not old.startswith("4.") and new.startswith(
        "4."
    ):  # 4.x makes a group of a commit, and keeps it at its tombstone
        reported["groups"] = [each for each in reported["groups"] if each["group"] != "deleted"]
    assert [node[3] for node in reported["nodes"]] == [
        node[3] for node in wanted.get("nodes", reported["nodes"])
    ]  # racks
    for name in sorted(wanted.keys() - set(OWN)):
        if name == "configs":
            left = [each for each in wanted[name] if not each["key"].startswith("listener.")]
            assert _sorted(reported[name]) == _sorted(left)
        elif name == "groups":
            assert [_comparable(each, old) for each in reported[name]] == [
                _comparable(each, old) for each in wanted[name]
            ]
        elif isinstance(wanted[name], list):
            assert _sorted(reported[name]) == _sorted(wanted[name]), name
        else:
            assert reported[name] == wanted[name], name


def lasting(facts: dict[str, Any]) -> dict[str, Any]:
    """Without members of groups, which leave by the clock; lists as AdminClient gives them have no order."""
    groups = [(each["group"], each["type"]) for each in facts["groups"]]
    return {name: _sorted(each) if isinstance(each, list) else each for name, each in facts.items()} | {
        "groups": sorted(groups)
    }


def _sorted(rows: list[Any]) -> list[str]:
    return sorted(json.dumps(each, sort_keys=True) for each in rows)


def _comparable(group: dict[str, Any], release: str) -> dict[str, Any]:
    """3.9 and older tell no type."""
    return group if release.startswith("4.") else group | {"type": None}


def assert_it_goes_on(node: Revived) -> None:
    """New records get the next offsets; producers of the dead have their places; an old transactional id goes on."""
    ends = {name: end for name, end in node.facts()["ends"].items() if name in ("shop-0", "stock-0")}
    address = {"bootstrap.servers": node.broker.address, "log_level": 0}
    delivered: list[tuple[str, int | None]] = []
    producer = Producer({**address, "enable.idempotence": True})
    for name in ends:
        topic, _, number = name.rpartition("-")
        for _ in range(2):
            producer.produce(
                topic, b"new", partition=int(number),
                on_delivery=lambda error, message: delivered.append((f"{message.topic()}-{message.partition()}",
                                                                      -1 if error else message.offset())),
            )  # fmt: skip
    assert producer.flush(30) == 0
    assert sorted(delivered) == sorted((name, end + more) for name, end in ends.items() for more in (0, 1))
    old = Producer({**address, "transactional.id": "done"})
    old.init_transactions(30)
    old.begin_transaction()
    old.produce("shop", b"within", partition=1)
    old.commit_transaction(30)
    wait_until(lambda: consumed(node, "shop", 1)[-1] == b"within", "the marker")


def consumed(node: Revived, topic: str, number: int) -> list[bytes | None]:
    consumer = Consumer({
        "bootstrap.servers": node.broker.address, "group.id": "after", "enable.auto.commit": False,
        "isolation.level": "read_committed", "enable.partition.eof": True, "log_level": 0,
    })  # fmt: skip
    consumer.assign([TopicPartition(topic, number, 0)])
    found: list[bytes | None] = []
    while True:
        message = consumer.poll(30)
        assert message is not None
        if message.error():
            break
        found.append(message.value())
    consumer.close()
    return found


@pytest.mark.parametrize(("source", "state", "target"), datasets())
def test_every_record_is_at_its_own_offset(source, state, target, tmp_path):
    """In both isolation levels, by Kafka's consumer; and what times lead to, by its broker."""
    before = Dataset(source, state)
    partitions = [each for each in before.partitions() if "doomed" not in each.topic]
    with revived(target, tmp_path, [before.path], corrupt="skip") as node:
        directories = [each for each in open_data_directory(before.path).names().values() if not each.mark]
        counts = Counter(each.topic for each in directories if each.topic != "__cluster_metadata")
        topics = node.broker.admin.list_topics(timeout=30).topics
        assert {name: len(topic.partitions) for name, topic in topics.items()} == counts
        for isolation in ("read_uncommitted", "read_committed"):
            reported = truth.read(node.broker, [(each.topic, each.partition) for each in partitions], isolation)
            for each in partitions:
                wanted = before.records(*each, isolation)
                assert [truth_record(row) for row in reported[each]] == [*wanted], (each, isolation)
        for each in partitions:
            known = (
                before.list_offsets(*each) or {}
            )  # a broker looks in one segment only, the first that is late enough
            known = {} if each.topic.startswith("deleted") else known  # ... of which those below the log start are gone
            for asked in [*known][:: max(1, len(known) // 4)]:
                found = truth.ask(node.broker.admin, {(each.topic, each.partition): OffsetSpec.for_timestamp(asked)})[
                    each
                ]
                assert found == [*known[asked]], (each, asked)
            for spec, offset in (
                (OffsetSpec.earliest(), before.offsets(*each).earliest),
                (OffsetSpec.latest(), before.offsets(*each).latest),
            ):
                (answer,) = truth.ask(node.broker.admin, {(each.topic, each.partition): spec}).values()
                assert (answer or [None])[0] == offset, each
    assert node.complaints() == []


def truth_record(row: list[Any]) -> object:
    """As `Dataset` has it."""
    from tests.kafka.dataset import _record

    return _record(*row)


@pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")
def test_three_brokers_come_back_as_one(tmp_path):
    """Each partition from the replica that got furthest; what two brokers disagree about, as the controller had it."""
    disks = [*replicated.directories()]
    with revived("4.3.1", tmp_path, disks) as node:
        lengths = {
            name: max(open_data_directory(disk).partition(name).log().end_offset
                      for disk in disks if (disk / name).is_dir())
            for name in ("plain-0", "compacted-0")
        }  # fmt: skip
        for name, end in lengths.items():
            (answer,) = truth.ask(node.broker.admin, {(name[:-2], 0): OffsetSpec.latest()}).values()
            assert answer == [end, -1]
        values = consumed(node, "parted", 0)
        assert len(values) > replicated.COMMON
        assert (
            node.complaints() == []
        )  # here: it may still load what the consumer made it make, and cries where it is stopped


def test_a_directory_without_leaders_would_be_seen(tmp_path):
    """The check for what goes wrong silently can fail: without the broker's mark nobody leads on 4.x."""
    if not WHOLE:
        pytest.skip("scripts/soak revive")
    with pytest.raises(TimeoutError), revived_without_mark(tmp_path):
        pass


def revived_without_mark(scratch: Path):
    place = scratch / "revived"
    report = revive([Cluster("4.3.1", "stopped").path], choices(place, "4.4.0"))
    (place / ".kafka_cleanshutdown").unlink()
    return started("4.4.0", place, scratch / "home", report)
