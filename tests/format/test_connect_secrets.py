"""Kafka Connect's config topic: no key of a worker and no password in a decoded line; all else as it is."""

import json

import pytest

from kafkafs.format.connect_secrets import is_secret
from tests.format.test_known_topics import shown

SECRET = "hunter2"
SESSION = {"key": "eW91IGZvdW5kIG1l", "algorithm": "HmacSHA256", "creation-timestamp": 1795859853204}
PROPERTIES = {
    "connector.class": "io.example.JdbcSource", "tasks.max": "2", "connection.url": "jdbc:postgresql://db/shop",
    "connection.user": "shop", "connection.password": SECRET, "key.converter": "org.example.StringConverter",
    "consumer.override.sasl.jaas.config": f"... password=\"{SECRET}\";", "aws.secret.access.key": SECRET,
    "mongo.uri": f"mongodb://shop:{SECRET}@db/", "value.converter.basic.auth.user.info": f"u:{SECRET}",
}  # fmt: skip


def test_the_session_key_does_not_come_out():
    _, value = shown("connect-configs", b"session-key", json.dumps(SESSION).encode())
    assert value == SESSION | {"key": None, "redacted": True}


@pytest.mark.parametrize("key", [b"connector-jdbc", b"task-jdbc-0"])
@pytest.mark.parametrize("topic", ["connect-configs", "_anything", "mm2-configs.src.internal"])
def test_passwords_in_settings_do_not_come_out(topic, key):
    _, value = shown(topic, key, json.dumps({"properties": PROPERTIES}).encode())
    reported = value["properties"]
    assert SECRET not in json.dumps(reported)
    plain = {"connector.class", "tasks.max", "connection.url", "connection.user", "key.converter"}
    assert {name for name, each in reported.items() if each is not None} == plain | {"redacted"}
    assert list(reported) == [*PROPERTIES, "redacted"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"connector-plain", {"properties": {"tasks.max": "2"}}), (b"commit-jdbc", {"tasks": 2}),
        (b"target-state-jdbc", {"state": "PAUSED"}), (b"session-key", {"key": 1}), (b"connector-x", ["password"]),
        (b"order-1", {"properties": {"password": "p"}}), (b"session-keys", SESSION), (b"connectors", {"properties": 1}),
    ],
)  # fmt: skip
def test_what_has_no_secret_is_shown_as_it_is(key, value):
    text = json.dumps(value, indent=1).encode()
    assert shown("connect-configs", key, text)[1] == value


@pytest.mark.parametrize("text", [b"{", b"\xff\xfe", b"[" * 5000, b"null", b""])
def test_no_text_ends_the_line(text):
    for key in (b"session-key", b"connector-a"):
        shown("connect-configs", key, text)


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("ssl.key.password", True), ("ssl.keystore.key", True), ("sasl.jaas.config", True), ("api_key", True),
        ("database.pwd", True), ("azure.account.key", True), ("oauth.access-token", True), ("private.key", True),
        ("smtp.pass", True), ("db_pass", True), ("DB_PWD", True), ("shared.key", True), ("signing_key", True),
        ("bypass.rules", False), ("compass.url", False), ("passive.mode", False),
        ("key.converter", False), ("primary.key.fields", False), ("pk.mode", False), ("topics", False),
        ("transforms.key.type", False), ("offset.storage.topic", False), ("errors.tolerance", False),
    ],
)  # fmt: skip
def test_secrets_are_known_by_their_names(name, secret):
    assert is_secret(name, "x") == secret
