"""Schemas and values that changed since an export began: its columns stay as they are, and the run says so."""

from collections.abc import Mapping
from typing import Any

from kafkafs.cluster.registry import Registry
from kafkafs.tables.typed.reader_schema import ReaderSchema


def newer_schemas(registry: Registry, value_types: Mapping[str, Any]) -> list[str]:
    """A sentence for each topic whose subject has a newer version than the table's columns follow.

    Records of that version are in the table. Fields that only the newer version has are in no column, as Avro and
    Protobuf resolve them.
    """
    found = []
    for topic, words in sorted(value_types.items()):
        reader = ReaderSchema.of_words(words)
        versions = [
            schema.version
            for schema in registry
            if schema.subject == reader.subject and not (schema.deleted or schema.gone) and schema.text is not None
        ]
        newest = max(versions, default=0)
        if reader.subject and newest > reader.version:
            found.append(
                f"the columns of {topic} follow version {reader.version} of {reader.subject}, and there is version"
                f" {newest} by now: fields that only newer versions have are left out; name a new directory for them"
            )
    return found


def new_misfits(as_bytes: Mapping[str, int]) -> list[str]:
    """A sentence for each topic that has new values which do not fit the columns of its first run."""
    return [
        f"{count:,} new values of {topic} do not fit the columns that its first run made: valueBytes has their bytes;"
        " a new directory gets columns of the values of today"
        for topic, count in sorted(as_bytes.items())
        if count
    ]
