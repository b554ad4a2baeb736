"""One reader's decoded lines: a schema that came later is found, and the topic is not asked for each record."""

import json
from typing import Any

from kafkafs.cluster.schema_lines import lines_with_schemas
from kafkafs.format.memory import UNLIMITED
from kafkafs.format.names import PartitionName
from tests.format.decoded import records_of

UNKNOWN = b"\0\0\0\0\7x"
"""A payload whose schema has the id 7."""


class Topic:
    """A `SchemaTopic` without any schema, which counts the looks at it."""

    def __init__(self) -> None:
        self.looks: list[bool] = []

    def registry(self, *, now: bool = False) -> Any:
        self.looks.append(now)
        return self

    def found(self, *_: object) -> None:
        return None


def test_the_topic_is_looked_at_once_more_and_only_once():
    topic = Topic()
    make = lines_with_schemas(topic, UNLIMITED)  # type: ignore[arg-type]
    for number in (0, 1):
        pieces = make(PartitionName(f"t-{number}", "t", number, "")).pieces(records_of(UNKNOWN, UNKNOWN, b"plain"))
        lines = b"".join(bytes(piece) for piece in pieces).splitlines()
        assert [json.loads(line)["partition"] for line in lines] == [number] * 3
    assert topic.looks == [False, True]
