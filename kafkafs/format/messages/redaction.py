"""What must not come out of decoded views: SCRAM secrets, delegation tokens, and configs that are or may be passwords.

Emptied fields are None, and `redacted` is True beside them. A config is shown only if its name is one that Kafka 4.4.0
defines with another type than PASSWORD (`configs.json`, made by `scripts/new-kafka`): a name unknown to it may be
a plugin's, and hold anything. Kafka's own shell does the same (MetadataNodeRedactionCriteria, KafkaConfigSchema).
"""

import functools
import json
from collections.abc import Mapping
from typing import NamedTuple

from kafkafs.format.messages.json_text import REDACTED, Quote, key_json, value_json
from kafkafs.format.messages.message_values import Fields
from kafkafs.format.messages.schema import CONFIGS
from kafkafs.format.messages.topic_records import InternalTopic, Message, Unreadable, parse_record

_KINDS: Mapping[int, str] = {2: "topic", 4: "broker", 16: "client-metrics", 32: "group"}
"""ConfigResource.Type, as far as `configs.json` has names for them. The rest is redacted whatever it is."""

_LISTENER = "listener.name."

_SECRETS: Mapping[str, tuple[str, ...]] = {
    "UserScramCredentialRecord": ("salt", "storedKey", "serverKey"),
    "DelegationTokenRecord": (
        "owner", "requester", "renewers", "issueTimestamp", "maxTimestamp", "expirationTimestamp", "tokenId",
    ),
    "RemoveDelegationTokenRecord": ("tokenId",),
}  # fmt: skip
"""The fields to empty, by the record's name in the cluster metadata."""


class Decoded(NamedTuple):
    """A record of one of Kafka's own topics as JSON texts, without secrets.

    `key` and `value` are None where there is none, or where `error` says in Kafka's words why they cannot be read.
    `hides_raw`: the bytes must not be shown instead, for they may hold a secret.
    """

    key: str | None
    value: str | None
    error: str | None
    hides_raw: bool


def decoded_json(topic: InternalTopic, key: bytes | None, value: bytes | None, quote: Quote) -> Decoded:
    """A record as `.decoded.jsonl` shows it; its JSON is that of the dump, with texts quoted by `quote`."""
    message = parse_record(topic, key, value)
    if isinstance(message, Unreadable):
        return Decoded(None, None, message.reason, topic is InternalTopic.CLUSTER_METADATA)
    message = redacted(message)
    return Decoded(key_json(message, quote), value_json(message, quote), None, False)


def redacted(message: Message) -> Message:
    """The message without its secrets; itself where it has none."""
    if message.topic is not InternalTopic.CLUSTER_METADATA or message.value is None:
        return message
    value = message.value
    if message.name == "ConfigRecord":
        if value["value"] is None or not is_secret_config(value["resourceType"], value["name"]):
            return message
        return message._replace(value=_without(value, ("value",)))
    secrets = _SECRETS.get(message.name)
    return message if secrets is None else message._replace(value=_without(value, secrets))


def is_secret_config(resource_type: int, name: str) -> bool:
    """Whether the value of that config of a topic, broker, group... (ConfigResource.Type) is or may be a secret."""
    known = _known_configs().get(_KINDS.get(resource_type, ""), frozenset())
    if name in known:
        return False
    if not name.startswith(_LISTENER):
        return True
    _, _, rest = name.removeprefix(_LISTENER).partition(".")  # behind the listener's name, then its mechanism's
    return rest not in known and rest.partition(".")[2] not in known


def _without(value: Fields, secrets: tuple[str, ...]) -> Fields:
    return value | dict.fromkeys(secrets) | {REDACTED: True}


@functools.cache
def _known_configs() -> Mapping[str, frozenset[str]]:
    """The names of configs that are no secrets, by what they belong to."""
    return {kind: frozenset(names) for kind, names in json.loads(CONFIGS).items()}
