"""Kafka's own description of its messages: the JSON files in `schemas/`, as they are in the jars of 4.3.1.

A schema defines a message's fields, in which versions each exists, may be null, or is tagged, and which versions are
"flexible", that is written with compact lengths and tagged fields. Source of the rules: `generator/` of Apache Kafka
(`MessageSpec`, `FieldSpec`, `Versions`).

The files that come with this package, schemas and names of configs, made by `scripts/new-kafka`, are read when this is
imported, for a mount's daemon can open none later (2 ms). A schema is parsed when it is first asked for.
"""

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PLACE = Path(__file__).parent

_NAME = re.compile(r'"name": "(\w+)"')


def _by_name(jar: Path) -> Mapping[str, str]:
    """The schemas of a jar by their own names, which come first in them: one file is called otherwise."""
    texts = [file.read_text("utf-8") for file in jar.iterdir()]
    return {found[1]: text for text in texts if (found := _NAME.search(text))}


SCHEMAS: Mapping[str, Mapping[str, str]] = {
    jar.name: _by_name(jar) for jar in (_PLACE / "schemas").iterdir() if jar.is_dir()
}
"""The text of each schema by its jar (`kafka-<this>-VERSION.jar`) and its name."""

CONFIGS = (_PLACE / "configs.json").read_text("utf-8")
"""JSON: the names of the configs that are no passwords, by what they belong to."""


_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
_NUMBER = re.compile(r'"apiKey":\s*(\d+)')
_MOST = 2**15 - 1


@dataclass(frozen=True, slots=True)
class Versions:
    """A range of versions with both ends; empty if `lowest` is above `highest`."""

    lowest: int
    highest: int

    def __contains__(self, version: int) -> bool:
        return self.lowest <= version <= self.highest

    def nearest(self, version: int) -> int:
        """The version itself, or the end of the range that is nearest to it."""
        return min(max(version, self.lowest), self.highest)


NO_VERSIONS = Versions(0, -1)


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `type` is a primitive's name, a structure's, or either behind `[]`.

    `default` is the schema's own text or value, None if it gives none; the text "null" stands for null.
    `flexible` is None if the message's own flexible versions count.
    """

    name: str
    type: str
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int
    default: object
    flexible: Versions | None


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """One message. `structures` has the fields of each structure that a field's type may name."""

    name: str
    number: int
    versions: Versions
    flexible: Versions
    fields: tuple[Field, ...]
    structures: Mapping[str, tuple[Field, ...]]


@functools.cache
def schema(jar: str, name: str) -> MessageSchema:
    """The schema of that name in that jar. KeyError where none is shipped."""
    read: dict[str, Any] = json.loads(_COMMENT.sub("", SCHEMAS[jar][name]))
    structures: dict[str, tuple[Field, ...]] = {}
    fields = _fields(read["fields"], structures)
    for common in read.get("commonStructs", ()):
        structures[common["name"]] = _fields(common["fields"], structures)
    number, versions, flexible = read.get("apiKey", -1), read["validVersions"], read["flexibleVersions"]
    return MessageSchema(name, number, _versions(versions), _versions(flexible), fields, structures)


def names_by_number(jar: str, suffix: str) -> dict[int, str]:
    """The names in a jar that end so, by the number of their record type (`apiKey`)."""
    found = {}
    for name, text in SCHEMAS[jar].items():
        if name.endswith(suffix) and (number := _NUMBER.search(text)):
            found[int(number[1])] = name
    return found


def _fields(described: list[dict[str, Any]], structures: dict[str, tuple[Field, ...]]) -> tuple[Field, ...]:
    return tuple(_field(each, structures) for each in described)


def _field(described: dict[str, Any], structures: dict[str, tuple[Field, ...]]) -> Field:
    name: str = described["name"]
    kind: str = described["type"]
    if "fields" in described:
        structures[kind.removeprefix("[]")] = _fields(described["fields"], structures)
    tagged = _versions(described.get("taggedVersions", "none"))
    own = described.get("flexibleVersions")
    return Field(
        name=name[0].lower() + name[1:],
        type=kind,
        versions=_versions(described["versions"]) if "versions" in described else tagged,
        nullable=_versions(described.get("nullableVersions", "none")),
        tagged=tagged,
        tag=described.get("tag", -1),
        default=described.get("default"),
        flexible=None if own is None else _versions(own),
    )


def _versions(text: str) -> Versions:
    """`3+`, `1-4`, `2` or `none`."""
    if text == "none":
        return NO_VERSIONS
    lowest, dash, highest = text.partition("-")
    if dash:
        return Versions(int(lowest), int(highest))
    return Versions(int(lowest.rstrip("+")), _MOST if text.endswith("+") else int(lowest))
