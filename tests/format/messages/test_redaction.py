"""Secrets do not come out of decoded messages, whatever the config is called and whatever it belongs to."""

import struct

import pytest

from kafkafs.format.messages.message_json import decoded_json, is_secret_config, jackson_string, redacted
from kafkafs.format.messages.topic_records import InternalTopic, Message, parse_record

SECRET = b"hunter2"
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return bytes([len(data) + 1]) + data


def config(kind: int, name: str, value: bytes) -> bytes:
    return b"\1\4\0" + bytes([kind]) + text("1") + text(name) + value + b"\0"


def shown(record: bytes) -> str:
    decoded = decoded_json(InternalTopic.CLUSTER_METADATA, None, record, jackson_string)
    assert decoded.error is None
    return str(decoded.value)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (BROKER, "ssl.keystore.password"),
        (BROKER, "listener.name.internal.ssl.key.password"),
        (BROKER, "listener.name.internal.scram-sha-256.sasl.jaas.config"),
        (BROKER, "my.plugin.token"),
        (BROKER, "listener.name.internal.my.plugin.token"),
        (TOPIC, "ssl.keystore.password"),
        (TOPIC, "num.io.threads"),
        (GROUP, "retention.ms"),
        (LOGGER, "kafka.server"),
        (99, "retention.ms"),
        (BROKER, ""),
    ],
)
def test_a_config_that_is_or_may_be_a_password_is_null(kind: int, name: str) -> None:
    reported = shown(config(kind, name, text(SECRET)))
    assert reported.endswith('"value":null,"redacted":true}}')
    assert SECRET.decode() not in reported


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (TOPIC, "retention.ms"),
        (BROKER, "num.io.threads"),
        (BROKER, "leader.replication.throttled.rate"),
        (BROKER, "listener.name.internal.ssl.keystore.type"),
        (BROKER, "listener.name.internal.plain.sasl.login.class"),
        (METRICS, "interval.ms"),
        (GROUP, "consumer.session.timeout.ms"),
    ],
)
def test_a_config_that_kafka_knows_as_no_password_is_shown(kind: int, name: str) -> None:
    assert not is_secret_config(kind, name)
    assert shown(config(kind, name, text("v"))).endswith(f'"name":"{name}","value":"v"}}}}')


def test_a_deleted_config_hides_nothing() -> None:
    assert shown(config(BROKER, "ssl.keystore.password", b"\0")).endswith('"value":null}}')


def test_of_scram_credentials_only_who_and_how_is_reported() -> None:
    record = b"\1\x0b\0" + text("alice") + b"\1" + text(SECRET) * 3 + struct.pack(">i", 4096) + b"\0"
    assert shown(record) == (
        '{"type":"USER_SCRAM_CREDENTIAL_RECORD","version":0,"data":{"name":"alice","mechanism":1,'
        '"salt":null,"storedKey":null,"serverKey":null,"iterations":4096,"redacted":true}}'
    )


def test_of_delegation_tokens_nothing_is_reported() -> None:
    token = b"\1\x0a\0" + text("User:a") + text("User:b") + b"\2" + text("User:c") + bytes(24) + text(SECRET) + b"\0"
    reported = shown(token)
    assert "User" not in reported
    assert SECRET.decode() not in reported
    assert SECRET.decode() not in shown(b"\1\x1a\0" + text(SECRET) + b"\0")


def test_a_metadata_record_that_cannot_be_read_is_not_shown_raw_either() -> None:
    decoded = decoded_json(
        InternalTopic.CLUSTER_METADATA, None, b"\1\x0b\0" + text("alice") + b"\1" + SECRET, jackson_string
    )
    assert decoded == (None, None, "Failed to deserialize record with type 11", True)


def test_a_message_without_secrets_is_left_alone() -> None:
    message = parse_record(InternalTopic.CLUSTER_METADATA, None, b"\1\x14\0\0")
    assert isinstance(message, Message)
    assert redacted(message) is message
