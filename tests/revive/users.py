"""Users of a revived cluster, by passwords and tokens of before its death: a listener that asks who comes, and clients.

The listener is that of docs/revive.md.
"""

from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.kafka.broker import wait_until

PAGE = (Path(__file__).parents[2] / "docs/revive.md").read_text()


def ask_who_comes(place: Path, address: str) -> None:
    """One more listener in server.properties; the last line of a name counts."""
    properties = place / "server.properties"
    before = dict(line.split("=", 1) for line in properties.read_text().splitlines() if "=" in line)
    more = PAGE.split("```properties\n")[1].split("```")[0].replace("kafka.example.org:9094", address)
    lines = [line.replace("…", before[line.split("=")[0]]) if "…" in line else line for line in more.splitlines()]
    properties.write_text("\n".join([properties.read_text(), *lines, ""]))


def client(address: str, user: str, password: str, bits: int) -> dict[str, str | int | float | bool]:
    """Settings of librdkafka."""
    return {
        "bootstrap.servers": address, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": f"SCRAM-SHA-{bits}",
        "sasl.username": user, "sasl.password": password, "log_level": 0,
    }  # fmt: skip


def assert_users_have_their_rights(address: str) -> None:
    """Those of `Cluster.java`: alice may read `shop`, bob nothing."""
    alice, bob = client(address, "alice", "SECRET-alice", 256), client(address, "bob", "SECRET-bob", 512)
    assert "shop" in AdminClient(alice).list_topics(timeout=30).topics
    assert "shop" not in AdminClient(bob).list_topics(timeout=30).topics
    assert_is_refused({**alice, "sasl.password": "SECRET-bob"})
    delivered: list[int] = []
    writer = Producer(alice)
    writer.produce("shop", b"not allowed", on_delivery=lambda error, _: delivered.append(error.code() if error else 0))
    assert writer.flush(30) == 0
    assert delivered == [KafkaError.TOPIC_AUTHORIZATION_FAILED]
    reader, found = Consumer({**alice, "group.id": "none", "enable.auto.commit": False}), list[int | None]()
    reader.assign([TopicPartition("shop", 0, 0)])

    def reads() -> bool:
        message = reader.poll(0.2)
        if message is not None and message.error() is None:  # that she may not use the group is told, too
            found.append(message.offset())
        return bool(found)

    wait_until(reads, "a record")
    assert found == [0]
    reader.close()


def assert_is_refused(settings: Mapping[str, object]) -> None:
    """By the broker, at the door."""
    reported: list[int] = []
    stranger = Producer({**settings, "error_cb": lambda error: reported.append(error.code())})

    def is_refused() -> bool:
        stranger.poll(0.1)
        return KafkaError._AUTHENTICATION in reported

    wait_until(is_refused, "a refusal")
