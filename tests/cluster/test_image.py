"""The metadata as one state, against Kafka's own code: random histories, and the snapshots it makes of them."""

import random
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkafs.cluster.image import Image
from kafkafs.format.messages.topic_records import InternalTopic, Message, parse_record
from tests.cluster.writing import metadata
from tests.kafka import cache, jars

PROGRAM = Path(__file__).parents[1] / "kafka/java/MetadataImages.java"
HISTORIES = 60
STEPS = 120
OLDER = (0, 1, 2, 2)
"""Versions of records that tell of partitions and brokers: what older clusters wrote stays in the log."""
CONFIGS = {2: ("t0", "t1", "t2"), 4: ("", "1"), 16: ("m",), 32: ("g",)}


class History:
    """Records that a controller might have written, one after the other."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.lines: list[str] = []
        self.named: dict[str, str] = {}  # ids of topics
        self.brokers: set[int] = set()
        self.acls: list[str] = []
        self.users: set[tuple[str, int]] = set()
        self.partitions: dict[str, int] = {}  # how many, by the topic's id
        self.write("FeatureLevelRecord", 0, name="metadata.version", featureLevel=30)
        self.write("FeatureLevelRecord", 0, name="eligible.leader.replicas.version", featureLevel=1)
        steps: tuple[Callable[[], None], ...] = (
            self.topic, self.partition, self.partition, self.change, self.change, self.change, self.remove_topic,
            self.clear, self.config, self.config, self.register, self.fence, self.alter, self.alter, self.unregister,
            self.quota, self.quota, self.acl, self.remove_acl, self.user, self.remove_user, self.feature, self.nothing,
        )  # fmt: skip
        for _ in range(STEPS):
            self.chance.choice(steps)()
            if self.chance.random() < 0.1:
                self.lines.append("apply")
        self.lines.append("end")

    def write(self, record: str, version: int, **fields: Any) -> None:
        self.lines.append((metadata(record, version, **fields)[1] or b"").hex())

    def some(self, **fields: Any) -> dict[str, Any]:
        """Some of these fields."""
        return {name: value for name, value in fields.items() if self.chance.random() < 0.4}

    def id(self) -> str:
        return urlsafe_b64encode(b"\1" + self.chance.randbytes(15)).decode()[:22]

    def ids(self) -> list[int]:
        return self.chance.sample(range(1, 6), self.chance.randrange(1, 4))

    def topic(self) -> None:
        name = f"t{self.chance.randrange(4)}"
        if name not in self.named:
            self.named[name] = self.id()
            self.partitions[self.named[name]] = 0
            self.write("TopicRecord", 0, name=name, topicId=self.named[name])

    def remove_topic(self) -> None:
        if self.named and self.chance.random() < 0.3:
            name = self.chance.choice(sorted(self.named))
            topic_id = self.named.pop(name)
            del self.partitions[topic_id]
            self.lines.append("apply")  # configs of a topic that comes and goes in one batch stay in Kafka's image
            self.write("RemoveTopicRecord", 0, topicId=topic_id)

    def partition(self) -> None:
        if not self.partitions:
            return
        topic_id = self.chance.choice(sorted(self.partitions))
        number = self.partitions[topic_id]
        self.partitions[topic_id] += 1
        replicas = self.ids()
        more = self.some(eligibleLeaderReplicas=self.ids(), lastKnownElr=self.ids(), leaderRecoveryState=1)
        version = self.chance.choice(OLDER)
        self.write("PartitionRecord", version, partitionId=number, topicId=topic_id, replicas=replicas,
                   isr=replicas[:1], addingReplicas=self.ids(), leader=replicas[0],
                   leaderEpoch=self.chance.randrange(9), partitionEpoch=4,
                   directories=[self.id() for _ in replicas], **more)  # fmt: skip

    def change(self) -> None:
        there = [topic_id for topic_id, count in sorted(self.partitions.items()) if count]
        if not there:
            return
        topic_id = self.chance.choice(there)
        fields = self.some(isr=self.ids(), leader=self.chance.choice((-1, 1, 2)), removingReplicas=self.ids(),
                           addingReplicas=self.ids(), leaderRecoveryState=0, eligibleLeaderReplicas=self.ids(),
                           lastKnownElr=self.ids())  # fmt: skip
        if self.chance.random() < 0.3:
            fields["replicas"] = self.ids()
            fields["directories"] = [self.id() for _ in fields["replicas"]]
        version = 2 if "replicas" in fields else self.chance.choice(OLDER)
        number = self.chance.randrange(self.partitions[topic_id])
        self.write("PartitionChangeRecord", version, partitionId=number, topicId=topic_id, **fields)

    def clear(self) -> None:
        if self.named and self.chance.random() < 0.3:
            self.write("ClearElrRecord", 0, topicName=self.chance.choice(["", *sorted(self.named)]))

    def config(self) -> None:
        kind = self.chance.choice(sorted(CONFIGS))
        name = self.chance.choice(CONFIGS[kind])
        if kind != 2 or name in self.named:
            value = self.chance.choice((None, "", "a", "b"))
            self.write(
                "ConfigRecord", 0, resourceType=kind, resourceName=name, name=self.chance.choice("xyz"), value=value
            )

    def register(self) -> None:
        broker = self.chance.randrange(1, 4)
        self.brokers.add(broker)
        endpoint = {"name": "PLAINTEXT", "host": "h", "port": 9092, "securityProtocol": self.chance.randrange(4)}
        version = self.chance.choice((*OLDER, 3, 4))
        self.write("RegisterBrokerRecord", version, brokerId=broker, incarnationId=self.id(), brokerEpoch=7,
                   endPoints=[endpoint], rack=self.chance.choice((None, "r")), fenced=self.chance.random() < 0.5,
                   inControlledShutdown=self.chance.random() < 0.3, logDirs=[self.id()])  # fmt: skip

    def unregister(self) -> None:
        if self.brokers and self.chance.random() < 0.3:
            broker = self.chance.choice(sorted(self.brokers))
            self.brokers.remove(broker)
            self.write("UnregisterBrokerRecord", 0, brokerId=broker, brokerEpoch=7)

    def fence(self) -> None:
        if self.brokers:
            name = self.chance.choice(("FenceBrokerRecord", "UnfenceBrokerRecord"))
            self.write(name, 0, id=self.chance.choice(sorted(self.brokers)), epoch=7)

    def alter(self) -> None:
        if self.brokers:
            fields = self.some(
                fenced=self.chance.choice((-1, 1)), inControlledShutdown=1, logDirs=[self.id(), self.id()]
            )
            broker, version = self.chance.choice(sorted(self.brokers)), self.chance.choice(OLDER)
            self.write("BrokerRegistrationChangeRecord", version, brokerId=broker, brokerEpoch=7, **fields)

    def quota(self) -> None:
        entity = [{"entityType": "user", "entityName": self.chance.choice((None, "a"))}]
        if self.chance.random() < 0.5:
            entity.insert(
                self.chance.randrange(2), {"entityType": "client-id", "entityName": self.chance.choice((None, "c"))}
            )
        self.write("ClientQuotaRecord", 0, entity=entity, key=self.chance.choice(("p", "q")),
                   value=float(self.chance.randrange(9)), remove=self.chance.random() < 0.4)  # fmt: skip

    def acl(self) -> None:
        self.acls.append(self.id())
        self.write("AccessControlEntryRecord", 0, id=self.acls[-1], resourceType=self.chance.randrange(2, 8),
                   resourceName="n", patternType=self.chance.choice((3, 4)), principal="User:a", host="*",
                   operation=self.chance.randrange(2, 16), permissionType=self.chance.choice((2, 3)))  # fmt: skip

    def remove_acl(self) -> None:
        if self.acls:
            self.write("RemoveAccessControlEntryRecord", 0, id=self.acls.pop(self.chance.randrange(len(self.acls))))

    def user(self) -> None:
        user = self.chance.choice("ab"), self.chance.choice((1, 2))
        self.users.add(user)
        self.write("UserScramCredentialRecord", 0, name=user[0], mechanism=user[1], salt=b"s", storedKey=b"k",
                   serverKey=b"k", iterations=self.chance.randrange(4096, 9000))  # fmt: skip

    def remove_user(self) -> None:
        if self.users:
            name, mechanism = self.chance.choice(sorted(self.users))
            self.users.remove((name, mechanism))
            self.lines.append("apply")  # Kafka forgets who came in the same batch
            self.write("RemoveUserScramCredentialRecord", 0, name=name, mechanism=mechanism)
            self.lines.append("apply")

    def feature(self) -> None:
        name = self.chance.choice(("group.version", "transaction.version", "kraft.version"))
        self.write("FeatureLevelRecord", 0, name=name, featureLevel=self.chance.randrange(3))

    def nothing(self) -> None:
        self.write("NoOpRecord", 0)


def image_of(lines: list[str]) -> Image:
    image = Image()
    for line in lines:
        if line not in ("apply", "end"):
            record = parse_record(InternalTopic.CLUSTER_METADATA, None, bytes.fromhex(line))
            assert isinstance(record, Message)
            image.apply(record)
    return image


@pytest.fixture(scope="module")
def histories() -> list[tuple[Image, Image]]:
    """The state after each history, and after the snapshot that Kafka makes of it."""
    made = [History(seed).lines for seed in range(HISTORIES)]
    records = "".join(f"{line}\n" for lines in made for line in lines).encode()

    def make(place: Path) -> None:
        (place / "records.txt").write_bytes(records)
        jars.run(jars.NEWEST, PROGRAM, str(place))

    kept = cache.once_of("images", (jars.NEWEST.encode(), PROGRAM.read_bytes(), records), make)
    snapshots = (kept / "images.txt").read_text().split("end\n")
    return [(image_of(lines), image_of(text.split())) for lines, text in zip(made, snapshots[:-1], strict=True)]


@pytest.mark.parametrize("what", ["topics", "ids", "brokers", "configs", "acls", "quotas", "users", "features"])
def test_the_state_is_the_one_that_kafka_makes_of_these_records(histories, what):
    assert sum(bool(getattr(ours, what)) for ours, _ in histories) > HISTORIES // 2
    for ours, theirs in histories:
        assert getattr(ours, what) == getattr(theirs, what)
