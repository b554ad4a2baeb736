"""Rows as lines of JSON, as decoded records are: no spaces, text as it is, but nothing that a terminal would obey."""

import base64
import json
import re
from collections.abc import Mapping
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | Mapping[str, Json] | None"
Row = dict[str, Json]

_CONTROLS = re.compile("[\x7f-\x9f]")


def known(number: int) -> int | None:
    """None for an epoch or a timestamp that Kafka writes as -1."""
    return None if number == -1 else number


def line(row: Mapping[str, Json]) -> bytes:
    """One row as a line."""
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    return (_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n").encode("utf-8", "replace")


def text_field(name: str, data: bytes) -> Row:
    """A field with those bytes as text; in base64 under its other name where they are no UTF-8."""
    try:
        return {name: data.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}Base64": base64.b64encode(data).decode("ascii")}
