"""What the lines of a decoded view are made by: as they are (`.jsonl`), or with their schemas (`.decoded.jsonl`)."""

from collections.abc import Callable, Iterator
from typing import Protocol

from kafkafs.disk.blocking import may_block
from kafkafs.format.columns import Records
from kafkafs.format.jsonl import JsonLines
from kafkafs.format.names import PartitionName
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
    from kafkafs.view.decoded_lines import lines_with_schemas

    may_block()  # schemas may have to be read, and compiled
    return lines_with_schemas(view.resources.schemas, view.options.memory)
