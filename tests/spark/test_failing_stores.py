"""A store that fails while Spark reads a copy: each fault. By hand, minutes (`KAFKAFS_BUCKETS=1`).

An answer is whole, or the query fails.
"""

import os
import shutil
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.faults.test_stores import LASTING, PASSING, Script
from tests.kafka.buckets import Store, bucket_of
from tests.spark.reading import frame, rows

pytestmark = [
    pytest.mark.skipif("KAFKAFS_BUCKETS" not in os.environ, reason="minutes; KAFKAFS_BUCKETS=1 runs it"),
    pytest.mark.usefixtures("bucket_keys"), pytest.mark.timeout(600),
]  # fmt: skip

FAULTS = [*((fault, False) for fault in PASSING), *((fault, True) for fault in LASTING)]


@pytest.fixture
def copy(data, tmp_path) -> Iterator[Store]:
    shutil.copytree(data, tmp_path / "top" / data.name, symlinks=True)
    with bucket_of(tmp_path / "top") as store:
        yield store


@pytest.mark.parametrize(("fault", "lasts"), FAULTS)
@pytest.mark.parametrize("after", [2, 8])
def test_a_query_of_spark_is_whole_or_fails(fault, lasts, after, copy: Store, data, spark: SparkSession):
    near = rows(frame(spark, data, subscribe="orders,test,readings"))
    copy.page = 3 if fault == "listing" else copy.page
    copy.fault = script = Script(copy, fault, after, lasts)
    failure, far = "", None
    try:
        far = rows(frame(spark, copy.address(data.name), subscribe="orders,test,readings"))
    except Exception as error:
        failure = str(error)
    assert (far == near) if not failure else "s3://disks" in failure
    assert not failure or lasts or fault == "slow"
    assert failure or not lasts or not script.has_failed or fault == "listing"
