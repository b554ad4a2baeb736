"""Records of Kafka's own topics as Hypothesis draws them: of every type and version, with few names, so that they meet.

`broken` makes of one what its topic should not hold.
"""

import base64
import functools
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from kafkafs.format.messages.schema import Field, MessageSchema, names_by_number, schema
from kafkafs.format.messages.topic_records import InternalTopic
from tests.cluster.writing import Pair, coordinator_record, framed_record

_TEXTS = st.sampled_from(["g", "t"]) | st.sampled_from(["", "g", "h", "t", "..", "a/b", "\u2028\x7f\u00e9", "consumer"])
_IDS = st.sampled_from([base64.urlsafe_b64encode(bytes([0] * 15 + [number])).decode()[:22] for number in (0, 1, 2)])
_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_PRODUCERS = st.sampled_from([-1, 1, 2])


@functools.cache
def pairs(topic: InternalTopic) -> st.SearchStrategy[Pair]:
    """Key and value of a record of that topic, whole; sometimes a tombstone."""
    return st.sampled_from(types(topic)).flatmap(lambda name: pairs_of(topic, name))


@functools.cache
def pairs_of(topic: InternalTopic, name: str) -> st.SearchStrategy[Pair]:
    """Key and value of a record of that type."""
    is_keyed = bool(names_by_number(topic.value, "Key"))
    return _coordinators(topic.value, name) if is_keyed else _framed(topic.value, name)


@functools.cache
def histories(topic: InternalTopic) -> st.SearchStrategy[list[Pair]]:
    """Records of types that share a field, so that one speaks of what another has told."""
    by_field = defaultdict(set)
    for name in types(topic):
        keyed = f"{name}Key" if names_by_number(topic.value, "Key") else name
        for field in schema(topic.value, keyed).fields:
            by_field[field.name].add(name)
    alike = st.sampled_from(sorted({tuple(sorted(names)) for names in by_field.values()}))
    return alike.flatmap(lambda names: st.lists(st.one_of([pairs_of(topic, name) for name in names]), max_size=10))


def types(topic: InternalTopic) -> list[str]:
    """The names of its record types."""
    keys = names_by_number(topic.value, "Key").values()
    return sorted(name.removesuffix("Key") for name in keys or names_by_number(topic.value, "Record").values())


@functools.cache
def broken(topic: InternalTopic) -> st.SearchStrategy[Pair]:
    """The same cut, longer, with other bytes, or none of it."""
    return st.tuples(pairs(topic), st.booleans(), st.data()).map(_broken) | st.tuples(
        st.none() | st.binary(max_size=8), st.none() | st.binary(max_size=8)
    )


def damaged(whole: bytes) -> st.SearchStrategy[bytes]:
    """A file cut, with some other bytes, or with a part of it left out or twice."""
    at = st.integers(0, max(len(whole) - 1, 0))
    flips = st.lists(st.tuples(at, st.integers(1, 255)), min_size=1, max_size=4)
    parts = st.tuples(at, at, at).map(lambda three: whole[: three[0]] + whole[three[1] : three[2]] + whole[three[0] :])
    return at.map(lambda size: whole[:size]) | flips.map(lambda found: _flipped(whole, found)) | parts


def producers() -> st.SearchStrategy[int]:
    """A producer id: none, or one of two."""
    return _PRODUCERS


def _flipped(whole: bytes, flips: Sequence[tuple[int, int]]) -> bytes:
    made = bytearray(whole)
    for at, bits in flips:
        made[at] ^= bits
    return bytes(made)


def _broken(drawn: tuple[Pair, bool, st.DataObject]) -> Pair:
    (key, value), is_key, data = drawn
    if is_key and key:
        return data.draw(damaged(key)), value
    return key, data.draw(damaged(value) | st.just(value + b"\0")) if value else b"\0"


def _coordinators(jar: str, name: str) -> st.SearchStrategy[Pair]:
    versions = st.integers(*_known(jar, f"{name}Value"))
    values = versions.flatmap(
        lambda version: st.tuples(st.just(version), st.none() | _message(jar, f"{name}Value", version))
    )
    return st.tuples(_message(jar, f"{name}Key", 0), values).map(
        lambda drawn: coordinator_record(jar, name, drawn[0], drawn[1][1], drawn[1][0])
    )


def _framed(jar: str, name: str) -> st.SearchStrategy[Pair]:
    return st.integers(*_known(jar, name)).flatmap(
        lambda version: _message(jar, name, version).map(lambda fields: framed_record(jar, name, version, fields))
    )


def _known(jar: str, name: str) -> tuple[int, int]:
    versions = schema(jar, name).versions
    return versions.lowest, versions.highest


@functools.cache
def _message(jar: str, name: str, version: int) -> st.SearchStrategy[dict[str, Any]]:
    found = schema(jar, name)
    return _structure(found, found.fields, version)


def _structure(found: MessageSchema, fields: Sequence[Field], version: int) -> st.SearchStrategy[dict[str, Any]]:
    there = [field for field in fields if version in field.versions]
    drawn = {field.name: _value(found, field, version) for field in there}
    tagged = {field.name: drawn.pop(field.name) for field in there if version in field.tagged}
    return st.fixed_dictionaries(drawn, optional=tagged)


def _value(found: MessageSchema, field: Field, version: int) -> st.SearchStrategy[Any]:
    kind = field.type.removeprefix("[]")
    one = _structure(found, found.structures[kind], version) if kind in found.structures else _primitive(field, kind)
    if field.type.startswith("[]"):
        one = st.lists(one, max_size=2)
    return st.none() | one if version in field.nullable else one


def _primitive(field: Field, kind: str) -> st.SearchStrategy[Any]:
    match kind:
        case "string":
            return _TEXTS
        case "uuid":
            return _IDS
        case "bool":
            return st.booleans()
        case "float64":
            return st.floats()
        case "bytes":
            return st.binary(max_size=12)
        case "uint16" | "uint32":
            return st.integers(0, 65535)
        case _:
            half = 1 << (_BITS[kind] - 1)
            return st.integers(-1, 4) | st.integers(-half, half - 1)
