"""`kafkafs.spark.schemas`: the registry as a data frame."""

import json

from pyspark.sql import SparkSession

from kafkafs.spark import schemas
from tests.kafka import registered
from tests.view.trees import cat, tree


def test_rows_are_those_of_the_file(spark: SparkSession) -> None:
    """Two ways to the same registry must not tell two stories."""
    data = registered.data()
    rows = [row.asDict(recursive=True) for row in schemas(spark, [str(data)]).collect()]
    assert rows == [json.loads(line) for line in cat(tree(data), ".cluster/schemas.jsonl").splitlines()]
