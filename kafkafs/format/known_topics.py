"""Topics whose names tell what their bytes are: MirrorMaker's own, and the changelogs of Kafka Streams.

    mm2-offset-syncs.B.internal   where an offset of one cluster is in the other
    A.checkpoints.internal        where a group of one cluster goes on in the other
    heartbeats, A.heartbeats      that a mirror lives
    APPLICATION-STORE-changelog   keys with the window that they are of, where the store has windows

A record is shown so only if its bytes fit to the last one. Sources: OffsetSync, Checkpoint, Heartbeat, their
formatters, WindowKeySchema, SessionKeySchema.
"""

import json
import re
import struct
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from kafkafs.format.records import Records
from kafkafs.format.strings import escape_controls, json_string, shown_json
from kafkafs.format.tables import Numbers

Texts = Iterator[tuple[int, bytes]]
"""Numbers of fields (twice the record's, one more for a value), and the JSON text of each."""

KnownTexts = Callable[[Records, int, int], Texts]
"""The texts of records [first, stop), as far as their bytes fit."""

_VERSION = b"\0\0"
_SIZE = struct.Struct(">h")
_NUMBERS = {"int32": struct.Struct(">i"), "int64": struct.Struct(">q")}


class _Layout(NamedTuple):
    """The fields of a key, and of a value behind its version: name and type."""

    key: Sequence[tuple[str, str]]
    value: Sequence[tuple[str, str]]


_PLACE = (("topic", "string"), ("partition", "int32"))
_OFFSETS = (("upstreamOffset", "int64"), ("downstreamOffset", "int64"))
_MIRRORS = (
    (re.compile(r"mm2-offset-syncs[\W_].*[\W_]internal"), _Layout(_PLACE, _OFFSETS), b""),
    (
        re.compile(r".+[\W_]checkpoints[\W_]internal"),
        _Layout((("consumerGroupId", "string"), *_PLACE), (*_OFFSETS, ("metadata", "string"))),
        _VERSION,
    ),
    (
        re.compile(r"(.+[\W_])?heartbeats"),
        _Layout((("sourceClusterAlias", "string"), ("targetClusterAlias", "string")), (("timestamp", "int64"),)),
        _VERSION,
    ),
)
_CHANGELOG = "-changelog"


def known_texts(topic: str) -> KnownTexts | None:
    """Return the decoder of a topic's records; None if the name says nothing."""
    for pattern, layout, version in _MIRRORS:
        if pattern.fullmatch(topic):
            return lambda records, first, stop: _mirror_texts(layout, version, records, first, stop)
    return _windowed_keys if topic.endswith(_CHANGELOG) else None


def _mirror_texts(layout: _Layout, version: bytes, records: Records, first: int, stop: int) -> Texts:
    for number in range(first, stop):
        key, value = records.key(number), records.value(number)
        key_text = None if key is None else _structure(bytes(key), layout.key)
        value_text = None
        if value is not None and bytes(value[: len(version)]) == version:
            value_text = _structure(bytes(value[len(version) :]), layout.value)
        if key_text is None or (value is not None and value_text is None):
            continue
        yield 2 * number, key_text
        if value_text is not None:
            yield 2 * number + 1, value_text


def _structure(data: bytes, fields: Sequence[tuple[str, str]]) -> bytes | None:
    """The fields as JSON; None if the bytes are others, or more."""
    parsed: dict[str, str | int] = {}
    at = 0
    try:
        for name, kind in fields:
            if kind == "string":
                (size,) = _SIZE.unpack_from(data, at)
                at += _SIZE.size
                if not 0 <= size <= len(data) - at:
                    return None
                parsed[name] = data[at : at + size].decode()
                at += size
            else:
                (parsed[name],) = _NUMBERS[kind].unpack_from(data, at)
                at += _NUMBERS[kind].size
    except (struct.error, UnicodeDecodeError):
        return None
    return shown_json(parsed) if at == len(data) else None


_WINDOW, _SESSION = struct.Struct(">qi"), struct.Struct(">qq")
_DAY_MS = 86_400_000
_OLDEST_MS = 10**11  # in 1973: what is below is no time, but zeros


def _windowed_keys(records: Records, first: int, stop: int) -> Texts:
    """Keys that end in the start of a window and a number, or in the end and the start of a session."""
    rows = records.rows[first:stop]
    window, session = _times(records, rows, _WINDOW.size, 1)[0], _times(records, rows, _SESSION.size, 2)
    newest = rows["timestamp"] + _DAY_MS
    is_window = (window >= _OLDEST_MS) & (window <= newest)
    is_session = (session[1] >= _OLDEST_MS) & (session[1] <= session[0]) & (session[0] <= newest)
    for number in np.flatnonzero(is_window ^ is_session).tolist():
        key = bytes(records.key(first + number) or b"")
        bounds: dict[str, object]
        if is_window[number]:
            inner, (start, sequence) = key[: -_WINDOW.size], _WINDOW.unpack(key[-_WINDOW.size :])
            if sequence < 0:
                continue
            bounds = {"window": {"start": start}} | ({"sequence": sequence} if sequence else {})
        else:
            inner, (end, start) = key[: -_SESSION.size], _SESSION.unpack(key[-_SESSION.size :])
            bounds = {"window": {"start": start, "end": end}}
        yield 2 * (first + number), b"{" + _inner(inner) + b"," + shown_json(bounds)[1:]


def _times(records: Records, rows: np.ndarray[tuple[int], np.dtype[np.void]], size: int, count: int) -> list[Numbers]:
    """The first numbers of what is in the last `size` bytes of each key; -1 of a shorter key."""
    found = [np.full(len(rows), -1, np.int64) for _ in range(count)]
    long = np.flatnonzero(rows["key_size"] >= size)
    places = rows["key_at"][long].astype(np.int64) + rows["key_size"][long] - size
    for number in range(count):
        eight = records.data[places[:, None] + np.arange(8 * number, 8 * number + 8)]
        found[number][long] = np.ascontiguousarray(eight).view(">i8").reshape(-1)
    return found


_SPACES = {ord(sign): " " for sign in "\t\n\r"}
"""Line ends can be between the words of a JSON text, and would end a line."""


def _inner(key: bytes) -> bytes:
    """A key without its window, as a member of an object: JSON text as it is, other text, or base64."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return b'"keyBase64":"' + b64encode(key) + b'"'
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        text = json_string(text)
    return b'"key":' + escape_controls(text.translate(_SPACES)).encode()


def _refuse(constant: str) -> None:
    raise ValueError(constant)
