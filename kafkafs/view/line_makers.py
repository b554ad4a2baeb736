"""What the lines of a decoded view are made by: as they are (`.jsonl`), or with their schemas (`.decoded.jsonl`).

Each kind is a class. What its lines depend on besides the log is settled when it is made for a view, so that they are
the same each time they are made.
"""

from typing import Protocol

from kafkafs.disk.blocking import may_block
from kafkafs.format.jsonl import JsonLines, LineMaker
from kafkafs.format.names import PartitionName
from kafkafs.view.node import Attributes
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.permissions import Access


class Lines(Protocol):
    """The lines of one suffix, for one reader."""

    def __init__(self, view: PartitionView) -> None:
        """Settled as of now."""

    def maker(self, name: PartitionName) -> LineMaker:
        """Makes the lines of that partition's records."""

    @staticmethod
    def attributes(view: PartitionView, about: Attributes) -> Attributes:
        """The attributes of a view of such lines, by those of a view of the log alone."""


class PlainLines:
    """Lines as section "Lines" of docs/queries.md has them."""

    def __init__(self, view: PartitionView) -> None:
        """Nothing but the log tells what they are."""

    def maker(self, name: PartitionName) -> LineMaker:
        """See `Lines`."""
        return JsonLines(name.topic, name.partition)

    @staticmethod
    def attributes(_view: PartitionView, about: Attributes) -> Attributes:
        """The log's own."""
        return about


class SchemaLines:
    """Lines whose keys and values are decoded, by the schemas that are registered now."""

    def __init__(self, view: PartitionView) -> None:
        from kafkafs.view.decoded_lines import lines_with_schemas  # with Avro and all: other lines do without

        may_block()  # schemas may have to be read, and compiled
        self.maker = lines_with_schemas(view.resources.schemas, view.options.memory)

    @staticmethod
    def attributes(view: PartitionView, about: Attributes) -> Attributes:
        """For those only who may read `_schemas-0` too, unless no value of the topic has a schema of it."""
        from kafkafs.format.messages.records import internal_topic  # with Kafka's schemas

        if internal_topic(view.partition.name.topic) is not None:
            return about
        uid, gid, mode = view.resources.schema_access.restrict(Access(about.uid, about.gid, about.mode))
        return about._replace(uid=uid, gid=gid, mode=mode)
