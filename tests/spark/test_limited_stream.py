"""What Spark 4.2 asks a stream: limits of a micro-batch, and an end that stays where it was."""

from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from kafkafs.spark.frame import Frame
from kafkafs.spark.limited_stream import LimitedStreamReader
from kafkafs.spark.source_options import stream_options
from kafkafs.spark.stream import StreamReader
from kafkafs.tables.locations import data_directory
from tests.kafka.dataset import Dataset
from tests.log.making import NAME, made, write_partition
from tests.spark.streams import offsets

LATEST = Dataset("4.3.1", "stopped")


def reader(path: Path, **options: object) -> LimitedStreamReader:
    return LimitedStreamReader(
        stream_options({"path": str(path), **{name: str(value) for name, value in options.items()}}), Frame()
    )


def test_a_limit_is_shared_out_in_proportion():
    stream = reader(LATEST.path, subscribe="partitions", startingOffsets="earliest", maxOffsetsPerTrigger=10)
    assert stream.getDefaultReadLimit() == ReadMaxRows(10)
    offset = stream.initialOffset()
    ends = {str(number): LATEST.offsets("partitions", number).latest for number in range(5)}
    seen = 0
    for _ in range(200):
        after = stream.latestOffset(offset, ReadMaxRows(10))
        took = sum(after["partitions"].values()) - sum(offset["partitions"].values())
        assert took <= 10 + 5
        seen += took
        offset = after
    assert offsets(offset) == {"partitions": ends}
    assert seen == sum(ends.values())


def test_the_first_trigger_waits_for_nothing(monkeypatch):
    """Regression: on a machine that has been up for less than `maxTriggerDelay` it did, unlike Spark's source."""
    monkeypatch.setattr("kafkafs.spark.limited_stream.time.monotonic", lambda: 5.0)
    stream = reader(LATEST.path, subscribe="partitions", startingOffsets="earliest", minOffsetsPerTrigger=1_000_000)
    begun = stream.initialOffset()
    first = stream.latestOffset(begun, stream.getDefaultReadLimit())
    assert offsets(first) == stream.reportLatestOffset() != offsets(begun)
    assert stream.latestOffset(begun, stream.getDefaultReadLimit()) == begun


@pytest.mark.parametrize("first", ["prepare", "initial"])
def test_a_run_that_reads_nothing_of_what_is_there_says_so(caplog, first):
    """Regression: a job with availableNow and without startingOffsets ended at once, and nothing told why; then it
    was told twice, as Spark asks twice where a stream begins."""
    for start, reported in ((None, True), ("earliest", False)):
        caplog.clear()
        options = {"subscribe": "partitions"} | ({"startingOffsets": start} if start else {})
        stream = reader(LATEST.path, **options)
        steps = [stream.prepareForTriggerAvailableNow, stream.initialOffset]
        for step in [*(steps if first == "prepare" else steps[::-1]), stream.initialOffset]:
            step()
        assert ["reads none of the records" in each.message for each in caplog.records] == [True] * reported
    caplog.clear()
    reader(LATEST.path, subscribe="partitions").prepareForTriggerAvailableNow()
    assert not caplog.records, "one that goes on from a checkpoint is not asked where it begins"


@pytest.mark.parametrize(
    "option",
    [
        {"startingOffsets": "latest"},
        {"startingOffsets": '{"t":{"0":-1}}'},
        {"startingTimestamp": "2100-01-01", "startingOffsetsByTimestampStrategy": "latest"},
    ],
)
def test_a_stream_begins_once_however_its_topic_grows(option, tmp_path):
    """Regression: Spark asks twice where a new stream begins, and once more where one was ended in its first
    micro-batch. What came meanwhile was behind the end of that: no such stream could be started again."""

    def grown(batches: int) -> LimitedStreamReader:
        """A reader of a log that has so many batches of five now."""
        write_partition(tmp_path, {0: [made(at, range(5)) for at in range(0, 5 * batches, 5)]})
        data_directory(tmp_path).partition(NAME).look_again()
        return reader(tmp_path, subscribe="t", **option)

    stream = grown(1)
    first = stream.initialOffset()
    grown(2)
    end = stream.latestOffset(first, ReadAllAvailable())
    assert stream.initialOffset() == first == end
    assert offsets(end) == {"t": {"0": 5}}
    assert stream.partitions(first, end) == []
    again = grown(3)
    assert again.partitions(again.initialOffset(), end) == []
    assert offsets(again.latestOffset(end, ReadAllAvailable())) == {"t": {"0": 15}}
    ending = grown(3)
    ending.prepareForTriggerAvailableNow()
    grown(4)
    assert offsets(ending.initialOffset()) == {"t": {"0": 15}}
    older = StreamReader(grown(4)._options, Frame())  # Spark 4.1 asks for the end first
    end = older.latestOffset()
    grown(5)
    assert older.initialOffset() == end
    assert offsets(end) == {"t": {"0": 20}}
