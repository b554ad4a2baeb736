"""What the lines of a decoded view are made by: as they are (`.jsonl`), or with their schemas (`.decoded.jsonl`)."""

from collections.abc import Callable
from typing import NamedTuple

from kafkafs.disk.blocking import may_block
from kafkafs.format.jsonl import JsonLines, LineMaker
from kafkafs.format.names import PartitionName
from kafkafs.view.node import Attributes
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.permissions import Access

MakeLines = Callable[[PartitionName], LineMaker]


class LinesOf(NamedTuple):
    """The lines of one suffix."""

    make: Callable[[PartitionView], MakeLines]
    """Settles what lines depend on besides the log, so that they are the same each time they are made."""

    attributes: Callable[[PartitionView, Attributes], Attributes]
    """The attributes of a view of such lines, by those of a view of the log alone."""


def _decoded(view: PartitionView) -> MakeLines:
    from kafkafs.view.decoded_lines import lines_with_schemas  # with Avro and all: other lines do without

    may_block()  # schemas may have to be read, and compiled
    return lines_with_schemas(view.resources.schemas, view.options.memory)


def _readable_with_schemas(view: PartitionView, about: Attributes) -> Attributes:
    """For those only who may read `_schemas-0` too, unless no value of the topic has a schema of it."""
    from kafkafs.format.messages.records import internal_topic  # with Kafka's schemas

    if internal_topic(view.partition.name.topic) is not None:
        return about
    uid, gid, mode = view.resources.schema_access.restrict(Access(about.uid, about.gid, about.mode))
    return about._replace(uid=uid, gid=gid, mode=mode)


PLAIN = LinesOf(lambda _: lambda name: JsonLines(name.topic, name.partition), lambda _, about: about)
"""Lines as section "Lines" of docs/queries.md has them."""

DECODED = LinesOf(_decoded, _readable_with_schemas)
"""Lines whose keys and values are decoded, by the schemas that are registered now."""
