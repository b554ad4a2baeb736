"""One Spark session for all tests: starting one takes seconds."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from kafkafs.spark import register
from kafkafs.spark.session import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session as the commands make it, with `kafkafs` registered."""
    with session("local[2]", "tests") as started:
        register(started)
        yield started
