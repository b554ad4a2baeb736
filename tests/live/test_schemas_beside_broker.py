"""`.decoded.follow.jsonl` beside a real broker: schemas that come while somebody reads."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Mount
from tests.kafka import broker as node
from tests.kafka.broker import Broker
from tests.kafka.registered import ORDER_1, ORDER_2, avro, prefix, registered
from tests.kafka.writer import Record, Topic, Writer, create
from tests.mounting import wait_until

pytestmark = pytest.mark.urgent
TOPIC, REGISTRY = "live", "_schemas"


class Following:
    """Somebody who reads a view as it grows."""

    def __init__(self, view: Path) -> None:
        self._cat = subprocess.Popen(["cat", view], stdout=subprocess.PIPE)
        assert self._cat.stdout is not None
        self._out = self._cat.stdout
        os.set_blocking(self._out.fileno(), False)
        self._got = b""

    def lines(self) -> list[dict[str, Any]]:
        """The whole lines that have come by now."""
        self._got += self._out.read() or b""
        return [json.loads(line) for line in self._got.split(b"\n")[:-1]]

    def end(self) -> None:
        self._cat.kill()
        self._cat.wait(300)
        self._out.close()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with node.running("4.3.1", tmp_path) as started:
        create(started, {REGISTRY: Topic(settings={"cleanup.policy": "compact"}), TOPIC: Topic()})
        yield started


def test_a_follower_gets_what_new_schemas_tell(broker: Broker, mount: Mount) -> None:
    """Deployments register a schema and write with it a moment later; who follows has a view open for days."""
    writer = Writer(broker)
    wanted: list[dict[str, Any]] = []
    following = Following(mount(broker.data) / f"{TOPIC}-0/by-offset/0...decoded.follow.jsonl")

    def register(subject: str, version: int, number: int, schema: Any) -> None:
        key, value = registered(subject, version, number, json.dumps(schema))
        writer.batch(REGISTRY, [Record(value, key)])

    def write(payload: bytes, **shown: Any) -> None:
        writer.batch(TOPIC, [Record(payload)])
        wanted.append(shown)
        wait_until(lambda: len(following.lines()) >= len(wanted))
        reported = [{name: line[name] for name in line if name.startswith("value")} for line in following.lines()]
        assert reported == wanted

    try:
        early = prefix(2) + avro(ORDER_2, {"id": 1, "note": "early"})
        write(early, value=early.decode())  # its schema is not there yet, and what was handed out stays
        for number, (schema, datum) in enumerate(((ORDER_1, {"id": 5}), (ORDER_2, {"id": 6, "note": "n"})), 1):
            register(f"{TOPIC}-value", number, number, schema)
            about = {"id": number, "subject": f"{TOPIC}-value", "version": number, "type": "AVRO"}
            write(prefix(number) + avro(schema, datum), value=datum, valueSchema=about)
        write(b'{"plain":1}', value={"plain": 1})
        register("other", 1, 7, {"type": "array", "items": "long"})
        about = {"id": 7, "subject": "other", "version": 1, "type": "AVRO"}
        write(prefix(7) + avro({"type": "array", "items": "long"}, [1, 2]), value=[1, 2], valueSchema=about)
    finally:
        following.end()
