"""What the lines of a decoded view are made by: as they are (`.jsonl`), or with their schemas (`.decoded.jsonl`).

Each kind is a class. What its lines depend on besides the log is settled when it is made for a view, so that they are
the same each time they are made.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kafkafs.disk.blocking import may_block
from kafkafs.format.jsonl import JsonLines, LineMaker
from kafkafs.format.memory import Memory
from kafkafs.format.names import PartitionName
from kafkafs.view.node import Attributes
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.permissions import Access

if TYPE_CHECKING:
    from kafkafs.cluster.schema_topic import SchemaTopic
    from kafkafs.format.decoding.decoded_lines import DecodedLines
    from kafkafs.format.schemas.decoder_table import FoundSchema, SchemaName


class Lines(Protocol):
    """The lines of one suffix, for one reader."""

    @property
    def made_by(self) -> object:
        """What they depend on besides the log: the same object as long as they are the same lines."""

    def __init__(self, view: PartitionView) -> None:
        """Settled as of now."""

    def maker(self, name: PartitionName) -> LineMaker:
        """Makes the lines of that partition's records."""

    @staticmethod
    def attributes(view: PartitionView, about: Attributes) -> Attributes:
        """The attributes of a view of such lines, by those of a view of the log alone."""


class PlainLines:
    """Lines as section "Lines" of docs/queries.md has them."""

    def __init__(self, _view: PartitionView) -> None:
        """Nothing but the log tells what they are."""
        self.made_by = None

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
        may_block()  # schemas may have to be read, and compiled
        self.made_by = view.resources.schemas.registry()
        self.maker = lines_with_schemas(view.resources.schemas, view.options.memory)

    @staticmethod
    def attributes(view: PartitionView, about: Attributes) -> Attributes:
        """For those only who may read `_schemas-0` too, unless no value of the topic has a schema of it."""
        from kafkafs.format.messages.records import internal_topic  # with Kafka's schemas

        if internal_topic(view.partition.name.topic) is not None:
            return about
        uid, gid, mode = view.resources.schema_access.restrict(Access(about.uid, about.gid, about.mode))
        return about._replace(uid=uid, gid=gid, mode=mode)


def lines_with_schemas(schemas: "SchemaTopic", memory: Memory) -> "Callable[[PartitionName], DecodedLines]":
    """What makes decoded lines of a partition, for one reader, by the schemas of that topic."""
    from kafkafs.format.decoding.decoded_lines import DecodedLines  # with Avro and all: other lines do without
    from kafkafs.format.schemas.decoder_table import DecoderTable

    registry = _ReaderRegistry(schemas)

    def make(name: PartitionName) -> DecodedLines:
        """The lines of one partition; all that are made for one reader share its registry."""
        decoders = DecoderTable(lambda schema, is_key: registry.found(schema, name.topic, is_key))
        return DecodedLines(name.topic, name.partition, decoders, memory)

    return make


class _ReaderRegistry:
    """One reader's registry. What is not in it may have come since the last look: so there is one more look, once."""

    def __init__(self, schemas: "SchemaTopic") -> None:
        self._schemas = schemas
        self._registry = schemas.registry()
        self._is_newest = False

    def found(self, name: "SchemaName", topic: str, is_key: bool) -> "FoundSchema | None":
        """The schema that a record of `topic` names; None where not even the registry of now has it."""
        found = self._registry.found(name, topic, is_key)
        if found is None and not self._is_newest:
            self._registry, self._is_newest = self._schemas.registry(anew=True), True
            found = self._registry.found(name, topic, is_key)
        return found
