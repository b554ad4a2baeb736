"""The partition of a group, against what Kafka's own code gave."""

import pytest

from kafkafs.cluster.coordinators import partition_for
from kafkafs.format.strings import java_hash


@pytest.mark.parametrize(
    ("name", "partitions", "expected"),
    [("truth-uncommitted", 4, 1), ("console-consumer-1", 50, 24), ("\U0001f600", 50, 49), ("ta", 4, 1), ("tb", 4, 2)],
)
def test_a_name_belongs_to_the_partition_that_kafka_says(name, partitions, expected):
    assert partition_for(name.encode(), partitions) == expected


def test_the_smallest_hash_counts_as_zero():
    assert java_hash("polygenelubricants") == -(2**31)
    assert partition_for(b"polygenelubricants", 50) == 0
