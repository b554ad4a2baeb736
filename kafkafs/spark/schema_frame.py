"""The registry's schemas as a data frame."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kafkafs.tables.registries import registry_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = (
    "subject string, version int, id int, type string, deleted boolean,"
    " references array<struct<name: string, subject: string, version: int>>, schema string"
)
"""As the lines of `.cluster/schemas.jsonl`."""


def frame(spark: "SparkSession", paths: str | Path | Sequence[str | Path]) -> "DataFrame":
    """A row for each version of each subject."""
    rows = [
        (
            schema.subject, schema.version, schema.id, schema.type, schema.deleted or schema.gone,
            [tuple(reference) for reference in schema.references], schema.text,
        )
        for schema in registry_of([paths] if isinstance(paths, str | Path) else paths)
    ]  # fmt: skip
    return spark.createDataFrame(rows, COLUMNS)
