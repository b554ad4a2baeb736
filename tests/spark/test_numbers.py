"""The numbers of a profile as data: those of the page, of all partitions, of each topic and of each partition."""

import json

import pytest

from kafkafs.spark.profile.figures import LAGS_MS
from kafkafs.spark.profile.numbers import numbers_of
from tests.kafka.dataset import Dataset
from tests.spark.test_profile_job import profile

BROKER = Dataset("4.3.1", "stopped")


def test_each_level_has_the_figures_of_those_below_it():
    found = json.loads(json.dumps(numbers_of(profile(BROKER.path), [str(BROKER.path)])))
    total, topics, partitions = found["total"], found["topics"], found["partitions"]
    assert (total["topics"], total["partitions"]) == (len(topics), len(partitions))
    for name in ("records", "size", "segments", "batches", "damaged", "tombstones", "withoutKey", "contentSize"):
        assert total[name] == sum(each[name] for each in topics) == sum(each[name] for each in partitions)
    one = next(each for each in topics if each["topic"] == "partitions")
    mine = [each for each in partitions if each["topic"] == "partitions"]
    assert one["partitions"] == len(mine) == 5
    assert one["lastTimestamp"] == max(each["lastTimestamp"] or -1 for each in mine)
    for name in ("codecs", "recordSizes", "batchSizes", "lags"):
        assert isinstance(one[name], list)


@pytest.mark.parametrize("topic", ["equal-times", "compacted", "disorder", "codec-zstd"])
def test_numbers_are_the_truth(topic):
    found = numbers_of(profile(BROKER.path), [])
    numbers = next(each for each in found["topics"] if each["topic"] == topic)
    records = BROKER.records(topic)
    times = [each.timestamp_ms for each in records]
    sizes = [len(each.key or b"") + len(each.value or b"") for each in records]
    assert (numbers["records"], numbers["firstTimestamp"], numbers["lastTimestamp"]) == (
        len(records), min(times), max(times)
    )  # fmt: skip
    assert numbers["contentSize"] == sum(sizes)
    counts = {each["below"]: each["count"] for each in numbers["recordSizes"]}
    assert counts == {below: sum(below // 2 <= size < below for size in sizes) for below in counts}
    assert [each["upToMs"] for each in numbers["lags"]] == [*LAGS_MS, None]
    steps = numbers["volume"]["steps"]
    assert sum(each["records"] for each in steps) + numbers["withoutTimestamp"] == len(records)
    assert all(each["timestamp"] % (numbers["volume"]["stepSeconds"] * 1000) == 0 for each in steps)
    keys = numbers["heaviestKeys"]
    assert keys == sorted(keys, key=lambda each: -each["contentSize"])
