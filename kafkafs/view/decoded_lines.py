"""What the lines of `.decoded.jsonl` are made by: the schemas that are registered on these disks.

Apart from `line_makers`, since decoding takes long to import, and `kafkafs cat` of one record would wait for it.
"""

from collections.abc import Callable

from kafkafs.cluster.schema_topic import SchemaTopic
from kafkafs.format.decoding.decoded_lines import DecodedLines
from kafkafs.format.memory import Memory
from kafkafs.format.names import PartitionName
from kafkafs.format.schemas.codebook import Codebook, FoundSchema, SchemaName


def lines_with_schemas(schemas: SchemaTopic, memory: Memory) -> Callable[[PartitionName], DecodedLines]:
    """Lines decoded by the schemas of that topic."""
    registry = _ReaderRegistry(schemas)

    def make(name: PartitionName) -> DecodedLines:
        """The lines of one partition; all that are made for one reader share its registry."""
        book = Codebook(lambda schema, is_key: registry.found(schema, name.topic, is_key))
        return DecodedLines(name.topic, name.partition, book, memory)

    return make


class _ReaderRegistry:
    """One reader's registry. What is not in it may have come since the last look: so there is one more look, once."""

    def __init__(self, schemas: SchemaTopic) -> None:
        self._schemas = schemas
        self._registry = schemas.registry()
        self._is_newest = False

    def found(self, name: SchemaName, topic: str, is_key: bool) -> FoundSchema | None:
        """The schema that a record of `topic` names; None where not even the registry of now has it."""
        found = self._registry.found(name, topic, is_key)
        if found is None and not self._is_newest:
            self._registry, self._is_newest = self._schemas.registry(anew=True), True
            found = self._registry.found(name, topic, is_key)
        return found
