"""The contract's JSON line, slow and obvious: what Python's own json makes of a record (design.md, section 3)."""

import base64
import json
import re
from collections.abc import Iterable
from typing import Any

from tests.format.golden import Record
from tests.log.making import Made

TYPES = {-1: None, 0: "CreateTime", 1: "LogAppendTime"}


def field(name: str, content: bytes | None) -> dict[str, str | None]:
    """The rule for keys, values and both parts of a header."""
    if content is None:
        return {name: None}
    try:
        return {name: content.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}Base64": base64.b64encode(content).decode()}


def line(topic: str, partition: int, record: Record) -> bytes:
    """One record's line."""
    fields: dict[str, Any] = {"topic": topic, "partition": partition, "offset": record.offset}
    fields |= {"timestamp": record.timestamp, "timestampType": TYPES[record.timestamp_type]}
    fields |= field("key", record.key) | field("value", record.value)
    fields["headers"] = [field("key", name) | field("value", value) for name, value in record.headers]
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text).encode() + b"\n"


def text_of(batches: Iterable[Made]) -> bytes:
    """The lines of what was written to `t-0`."""
    return b"".join(line("t", 0, record) for batch in batches for record in batch.records)


def original(fields: dict[str, str | None], name: str) -> bytes | None:
    """The bytes that a field of a line stands for."""
    if f"{name}Base64" in fields:
        return base64.b64decode(fields[f"{name}Base64"] or "", validate=True)
    text = fields[name]
    return None if text is None else text.encode()
