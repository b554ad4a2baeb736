"""Payloads by Java's own hands, the serializer of a Kafka client and Avro's block encoder: what most producers are."""

import base64
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import fastavro

from tests.format.decoded import value_of
from tests.kafka import cache, jars, registered

PROGRAM = Path(jars.__file__).parent / "java/ApicurioPayloads.java"
PREFIX = registered.prefix(1)


def by_java(schema: Any, *data: Any) -> list[bytes]:
    """Two payloads of each datum, with their prefix: by the serializer, and in blocks."""
    reported = io.StringIO()
    fastavro.json_writer(reported, fastavro.parse_schema(schema), data)
    text = (json.dumps(schema) + "\n" + reported.getvalue()).encode()
    command = ["java", jars.HEAP, *jars.QUICK_START, "-cp", f"{jars.serializers()}/*", str(PROGRAM)]

    def make(place: Path) -> None:
        done = subprocess.run(command, input=text, capture_output=True, timeout=jars.TOOL_TIMEOUT_S, check=True)
        (place / "payloads").write_bytes(done.stdout)

    kept = cache.once_of("payloads", (jars.APICURIO_RELEASE.encode(), PROGRAM.read_bytes(), text), make)
    return [base64.b64decode(line) for line in (kept / "payloads").read_bytes().splitlines()]


def test_what_java_wrote_is_what_is_shown() -> None:
    """Java writes arrays and maps in blocks with their sizes, which fastavro never does."""
    datum, shown = registered._every()
    datum |= {"map": {"a": [1.5] * 40, "": []}, "list": [None, *range(100), "NEW"], "double": 1e300}
    shown |= {name: datum[name] for name in ("map", "list", "double")}
    plain, in_blocks, *nested = by_java(registered.EVERY_TYPE, datum, datum | {"next": datum})
    assert plain.startswith(PREFIX), "as Confluent's serializer begins"
    assert plain != in_blocks
    for payload in (plain, in_blocks):
        assert value_of("AVRO", registered.EVERY_TYPE, payload.removeprefix(PREFIX)) == shown
    for payload in nested:
        assert value_of("AVRO", registered.EVERY_TYPE, payload.removeprefix(PREFIX)) == shown | {"next": shown}
