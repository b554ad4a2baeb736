"""The settings of a topic that decide what a broker deletes, and where each of them comes from.

The order is the broker's: the topic's own, this broker's dynamic ones, the cluster's dynamic default, the file of the
broker, Kafka's default. `--set` overrides all. Sources: LogConfig, AbstractKafkaConfig, DynamicBrokerConfig.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kafkafs.cluster.image import BROKER_RESOURCE, TOPIC_RESOURCE, Image
from kafkafs.errors import UsageError, did_you_mean
from kafkafs.format.messages.message_json import known_configs
from kafkafs.format.names import INTERNAL_TOPICS, OWN_TOPICS, REMOTE_LOG_METADATA, SHARE_TOPIC
from kafkafs.overview.retention import Limits

CLEANUP_POLICY = "cleanup.policy"
RETENTION_MS, RETENTION_BYTES = "retention.ms", "retention.bytes"
_LOCAL_MS, _LOCAL_BYTES = "local.retention.ms", "local.retention.bytes"
_TIERED, _COPY_DISABLED = "remote.storage.enable", "remote.log.copy.disable"
_AS_TOPIC = -2  # local retention is the same as the topic's

DEFAULTS: Mapping[str, str] = {
    CLEANUP_POLICY: "delete", RETENTION_MS: "604800000", RETENTION_BYTES: "-1", _LOCAL_MS: "-2", _LOCAL_BYTES: "-2",
    _TIERED: "false", _COPY_DISABLED: "false",
}  # fmt: skip
_TOLD = (CLEANUP_POLICY, RETENTION_MS, RETENTION_BYTES)
"""The settings whose default is shown. The others are off by default."""

_MADE_WITH: Mapping[str, Mapping[str, str]] = {
    **{topic: {CLEANUP_POLICY: "compact"} for topic in INTERNAL_TOPICS},
    **{topic: {CLEANUP_POLICY: "delete", RETENTION_MS: "-1"} for topic in (REMOTE_LOG_METADATA, SHARE_TOPIC)},
}
"""Kafka makes these topics with settings of their own, which only the metadata hold."""

_UNITS_MS: Mapping[str, Mapping[str, int]] = {
    RETENTION_MS: {"log.retention.ms": 1, "log.retention.minutes": 60_000, "log.retention.hours": 3_600_000}
}
"""A broker's settings that stand for one of a topic: the first that is there counts. All others have the topic's
name behind `log.`."""

_LEAST: Mapping[str, int] = {RETENTION_MS: -1, _LOCAL_MS: _AS_TOPIC, _LOCAL_BYTES: _AS_TOPIC}
"""The smallest value that Kafka takes for a topic."""

_MOST_DIGITS = 20


class TopicSettings(NamedTuple):
    """The settings that count for a topic. `policy` is its `cleanup.policy`; `defaults` are those taken from Kafka."""

    policy: str
    limits: Limits
    is_tiered: bool
    defaults: tuple[str, ...]


class BrokerSettings:
    """All settings that one broker of a cluster has, for any topic."""

    def __init__(
        self,
        image: Image | None,
        node_id: int | None,
        asked: Mapping[str, Mapping[str, str]] | None = None,
        file: Mapping[str, str] | None = None,
    ) -> None:
        """`asked`: settings by topic that count before all others; `file`: those of the broker's own file."""
        configs = image.configs if image is not None else {}
        self._image = image
        self._configs = configs
        self._asked = asked or {}
        self._dynamic = [configs.get((BROKER_RESOURCE, name), {}) for name in _names_of(node_id)]
        self._file = file or {}

    def of(self, topic: str) -> TopicSettings:
        """The settings of that topic."""
        defaults: list[str] = []

        def value(name: str) -> str:
            for found in self._places(topic, name):
                return _checked(name, found)
            if name in _TOLD:
                defaults.append(name)
            return DEFAULTS[name]

        policy = value(CLEANUP_POLICY)
        is_compacted, is_deleted = "compact" in _words(policy), "delete" in _words(policy)
        is_tiered = value(_TIERED).lower() == "true" and not is_compacted and topic not in OWN_TOPICS
        limit_ms, limit_bytes = int(value(RETENTION_MS)), int(value(RETENTION_BYTES))
        if is_tiered and value(_COPY_DISABLED).lower() != "true":
            local_ms, local_bytes = int(value(_LOCAL_MS)), int(value(_LOCAL_BYTES))
            limit_ms = limit_ms if local_ms == _AS_TOPIC else local_ms
            limit_bytes = limit_bytes if local_bytes == _AS_TOPIC else local_bytes
            is_deleted |= not is_compacted  # with an empty policy, what is uploaded goes all the same
        limits = Limits(is_deleted, is_compacted, max(limit_ms, -1), max(limit_bytes, -1))
        return TopicSettings(policy, limits, is_tiered, tuple(defaults))

    def _places(self, topic: str, name: str) -> Iterator[str]:
        """The values of a setting, the one that counts first."""
        own = self._configs.get((TOPIC_RESOURCE, topic), {})
        if self._image is None or topic not in self._image.ids:
            own = {**_MADE_WITH.get(topic, {}), **own}
        for source in (self._asked.get(topic, {}), own):
            if name in source:
                yield source[name]
        for source in (*self._dynamic, self._file):
            for key, factor in _UNITS_MS.get(name, {f"log.{name}": 1}).items():
                if key in source:
                    yield source[key] if factor == 1 else _times(name, key, source[key], factor)


def _names_of(node_id: int | None) -> Sequence[str]:
    """Names of a broker's own settings in the metadata, and of the cluster's default."""
    return ("",) if node_id is None else (str(node_id), "")


def _times(name: str, key: str, text: str, factor: int) -> str:
    """A length of time in milliseconds; below zero it stays no limit."""
    whole = int(_checked(name, text, key))
    return str(whole * factor if whole >= 0 else -1)


def _words(policy: str) -> set[str]:
    return {word.strip() for word in policy.split(",")} - {""}


def _checked(name: str, value: str, called: str = "") -> str:
    """The value; UsageError if the setting cannot have it. A setting that decides nothing here may have any."""
    value = value.strip()
    if name == CLEANUP_POLICY:
        is_one, what = _words(value) <= {"compact", "delete"}, "compact, delete, both with a comma, or nothing"
    elif name in (_TIERED, _COPY_DISABLED):
        is_one, what = value.lower() in ("true", "false"), "true or false"
    else:
        is_one, what = not name.endswith((".ms", ".bytes")) or _is_whole(value), "a whole number"
    if not is_one:
        raise UsageError(f"{called or name} cannot be {value!r}: it is {what}")
    return value


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < _MOST_DIGITS and -(2**63) <= int(text) < 2**63


def parse_set(words: Sequence[str], topics: Mapping[str, object]) -> dict[str, dict[str, str]]:
    """The settings that words like TOPIC.CONFIG=VALUE name, by topic; UsageError if one is none. The longest name of
    a setting at the end counts, since a topic can have dots."""
    found: dict[str, dict[str, str]] = {}
    for word in words:
        place, sign, value = word.partition("=")
        if not sign:
            raise UsageError(
                f"--set {word!r} has no '='; write TOPIC.CONFIG=VALUE, such as orders.retention.ms=3600000"
            )
        names = [name for name in known_configs()["topic"] if place.endswith(f".{name}")]
        if not names:
            ends = (place[at + 1 :] for at, letter in enumerate(place) if letter == ".")
            near = (did_you_mean(end, known_configs()["topic"]) for end in ends)
            raise UsageError(
                f"--set {word!r} ends with no setting of a topic that Kafka knows, such as retention.ms"
                f"{next(filter(None, near), '')}"
            )
        name = max(names, key=len)
        topic = place.removesuffix(f".{name}")
        if topic not in topics:
            raise UsageError(f"--set {word!r}: there is no topic {topic!r} here{did_you_mean(topic, topics)}")
        try:
            found.setdefault(topic, {})[name] = _checked(name, value)
        except UsageError as error:
            raise UsageError(f"--set {word!r}: {error}") from None
        if name in _LEAST and int(value) < _LEAST[name]:
            raise UsageError(f"--set {word!r}: {name} cannot be below {_LEAST[name]}")
    return found
