"""Keys or values that are more than bytes: the driver settles their type, executors make columns of that type.

One value goes from the driver to the executors: of `kafkafs.scan`, of a frame of Spark's, and of an export.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from kafkafs.cluster.registry import Registry
from kafkafs.tables.choice import Form
from kafkafs.tables.typed.json_column import JsonColumn
from kafkafs.tables.typed.json_values import Kind
from kafkafs.tables.typed.reader_schema import ReaderSchema
from kafkafs.tables.typed.registered import RegisteredColumn
from kafkafs.tables.typed.typed_columns import Column, FieldName, TextColumn, column_type


@dataclass(frozen=True)
class TypedField:
    """Keys or values as text, or as columns of one type. `type` is that in Arrow; None: the one that Parquet has."""

    name: FieldName
    form: Form
    kind: Kind = None  # of json
    readers: Mapping[str, ReaderSchema] = field(default_factory=dict)  # for `registry`, by topic
    type: pa.DataType | None = None

    def column(self, topic: str, registry: Registry) -> Column:
        """Make the columns of a topic's partition, new for each read: they have state. For a topic that came later,
        another topic's schema counts."""
        if self.form == "string":
            return TextColumn(self.name)
        if self.form == "json":
            return JsonColumn(self.name, self.kind, self.type)
        reader = self.readers.get(topic) or next(iter(self.readers.values()), ReaderSchema())
        kind = column_type(reader.shape()) if self.type is None else self.type
        return RegisteredColumn(self.name, topic, reader, registry, kind)
