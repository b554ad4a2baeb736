"""What the lines of a decoded view are made by: as they are (`.jsonl`), or with their schemas (`.decoded.jsonl`)."""

from collections.abc import Callable, Iterator
from typing import Protocol

from kafkafs.cluster.registry import Registry
from kafkafs.cluster.schema_topic import SchemaTopic
from kafkafs.disk.blocking import may_block
from kafkafs.format.columns import Records
from kafkafs.format.decoded_lines import DecodedLines
from kafkafs.format.jsonl import JsonLines
from kafkafs.format.memory import Memory
from kafkafs.format.names import PartitionName
from kafkafs.format.schemas.codebook import Codebook, FoundSchema, SchemaName
from kafkafs.view.partition_view import PartitionView


class LineMaker(Protocol):
    """Makes the lines of one partition's records."""

    def pieces(self, records: Records) -> Iterator[memoryview]:
        """The lines of all those records, in order. A piece ends with a line, unless that line is very long."""


MakeLines = Callable[[PartitionName], LineMaker]
LinesOf = Callable[[PartitionView], MakeLines]
"""Settles what lines depend on besides the log, so that they are the same each time they are made."""


def plain_lines(_: PartitionView) -> MakeLines:
    """Lines as section "Lines" of docs/queries.md has them."""
    return lambda name: JsonLines(name.topic, name.partition)


def decoded_lines(view: PartitionView) -> MakeLines:
    """Lines whose keys and values are decoded, by the schemas that are registered now."""
    may_block()  # schemas may have to be read, and compiled
    return lines_with_schemas(view.schemas, view.options.memory)


def lines_with_schemas(schemas: SchemaTopic | None, memory: Memory) -> Callable[[PartitionName], DecodedLines]:
    """Lines decoded by the schemas of that topic."""
    lookup = _Lookup(schemas)

    def make(name: PartitionName) -> DecodedLines:
        book = Codebook(lambda schema, is_key: lookup.found(schema, name.topic, is_key))
        return DecodedLines(name.topic, name.partition, book, memory)

    return make


class _Lookup:
    """One reader's registry. What is not in it may have come since the last look: so there is one more look, once."""

    def __init__(self, schemas: SchemaTopic | None) -> None:
        self._schemas = schemas
        self._registry = Registry() if schemas is None else schemas.registry()
        self._is_newest = schemas is None

    def found(self, name: SchemaName, topic: str, is_key: bool) -> FoundSchema | None:
        found = self._registry.found(name, topic, is_key)
        if found is None and not self._is_newest and self._schemas is not None:
            self._registry, self._is_newest = self._schemas.registry(anew=True), True
            found = self._registry.found(name, topic, is_key)
        return found
