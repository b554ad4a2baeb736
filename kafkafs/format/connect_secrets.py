"""Secrets in the config topic of Kafka Connect: the key that workers sign requests with, and passwords.

The topic has any name, so its records are recognized by their keys: `session-key`, `connector-NAME`, `task-NAME-0`.
Source: KafkaConfigBackingStore.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from kafkafs.format.records import Records
from kafkafs.format.strings import shown_json

SESSION_KEY, CONNECTOR, TASK = b"session-key", b"connector-", b"task-"
PROPERTIES, REDACTED = "properties", "redacted"

_SECRET_NAMES = re.compile(
    r"passw|passphrase|(?<![a-z])(pwd|pass)(?![a-z])|secret|token|credential|jaas"
    r"|(private|api|access|account|session|encryption|keystore|license|signing|shared|master)"
    r"[._-]?(access[._-]?)?key|user[._-]info|sasl[._-]?(config|password)|certificate[._-]chain",
    re.IGNORECASE,
)
_SECRET_VALUES = re.compile(
    r"(passw(or)?d|passphrase|pwd|secret|token|accountkey)[\"']?\s*[=:]|//[^/\s@]*:[^/\s@]+@", re.IGNORECASE
)


def is_secret(name: str, value: object) -> bool:
    """True if a setting's name says that it is a secret, or its value holds one, as a URL with a password does."""
    return _SECRET_NAMES.search(name) is not None or (
        isinstance(value, str) and _SECRET_VALUES.search(value) is not None
    )


def without_secrets(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with null in the place of secrets, and `redacted` behind them if there was one."""
    secrets = {name for name, value in properties.items() if value is not None and is_secret(name, value)}
    shown = {name: None if name in secrets else value for name, value in properties.items()}
    return shown | {REDACTED: True} if secrets else shown


def config_records(records: Records) -> list[int]:
    """The numbers of the records whose keys begin as those of a config topic may."""
    rows = records.rows
    sizes, places = rows["key_size"], rows["key_at"]
    long = sizes > len(TASK)
    if not long.any():
        return []
    heads, fifths = records.data[np.where(long, places, 0)], records.data[np.where(long, places + len(TASK) - 1, 0)]
    alike = np.zeros(len(rows), np.bool_)
    for start in (SESSION_KEY, CONNECTOR, TASK):
        alike |= (heads == start[0]) & (fifths == start[len(TASK) - 1])
    found: list[int] = np.flatnonzero(alike & long & (rows["value_size"] > 0)).tolist()
    return found


def redacted_values(records: Records, numbers: Iterable[int]) -> Iterator[tuple[int, bytes]]:
    """The values with a secret among these records: number of the field (twice the record's, one more), and JSON text
    without the secret."""
    for number in numbers:
        text = _without(bytes(records.key(number) or b""), bytes(records.value(number) or b""))
        if text is not None:
            yield 2 * number + 1, text


def _without(key: bytes, value: bytes) -> bytes | None:
    """The value as JSON text without its secrets; None if it has none."""
    is_session = key == SESSION_KEY
    if not (is_session or key.startswith((CONNECTOR, TASK))):
        return None
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, dict):
        return None
    if is_session:
        if not {"key", "algorithm"} <= parsed.keys():
            return None
        parsed |= {"key": None, REDACTED: True}
    else:
        properties = parsed.get(PROPERTIES)
        if not isinstance(properties, dict) or not any(is_secret(*each) for each in properties.items()):
            return None
        parsed[PROPERTIES] = without_secrets(properties)
    return shown_json(parsed)
