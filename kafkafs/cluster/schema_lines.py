"""Lines of records whose keys and values are decoded, by the schemas that `_schemas-0` has."""

from typing import TYPE_CHECKING, Protocol

from kafkafs.format.memory import Memory
from kafkafs.format.names import PartitionName

if TYPE_CHECKING:
    from kafkafs.cluster.schema_topic import SchemaTopic
    from kafkafs.format.decoding import DecodedLines
    from kafkafs.format.schemas.decoder_table import FoundSchema, SchemaName


class LinesOf(Protocol):
    """Makes the decoded lines of one partition."""

    def __call__(self, name: PartitionName, first: str = "") -> "DecodedLines":
        """`first`: members that come before all others, see `format.jsonl.padded_prefix`."""


def lines_with_schemas(schemas: "SchemaTopic", memory: Memory) -> LinesOf:
    """Return the maker of a partition's decoded lines, for one reader, by the schemas of that topic."""
    from kafkafs.format.decoding import DecodedLines  # with Avro and all: other lines do without
    from kafkafs.format.schemas.decoder_table import DecoderTable

    registry = _ReaderRegistry(schemas)

    def make(name: PartitionName, first: str = "") -> DecodedLines:
        """The lines of one partition; all that are made for one reader share its registry."""
        decoders = DecoderTable(lambda schema, is_key: registry.found(schema, name.topic, is_key))
        return DecodedLines(name.topic, name.partition, decoders, memory, first)

    return make


class _ReaderRegistry:
    """One reader's registry. A schema that is not in it may have come since the last look. So there is one more look,
    once."""

    def __init__(self, schemas: "SchemaTopic") -> None:
        self._schemas = schemas
        self._registry = schemas.registry()
        self._is_newest = False

    def found(self, name: "SchemaName", topic: str, is_key: bool) -> "FoundSchema | None":
        """The schema that a record of `topic` names; None if not even the current registry has it."""
        found = self._registry.found(name, topic, is_key)
        if found is None and not self._is_newest:
            self._registry, self._is_newest = self._schemas.registry(now=True), True
            found = self._registry.found(name, topic, is_key)
        return found
