"""Topics' own index intervals, as the metadata log and its snapshots tell them: what is so now, not what was once."""

from pathlib import Path

import pytest

from kafkafs.log.data_directory import open_data_directory
from kafkafs.spark.reindex_job import topic_intervals
from tests.cluster.writing import Data, Pair, metadata, snapshot

NAME = "__cluster_metadata-0"
TOPIC_ID = "A" * 21 + "w"
TOPIC, BROKER = 2, 4


def setting(topic: str, value: str | None, key: str = "index.interval.bytes", kind: int = TOPIC) -> Pair:
    """A setting of a topic; None takes it away."""
    return metadata("ConfigRecord", resourceType=kind, resourceName=topic, name=key, value=value)


def topic(name: str) -> Pair:
    """A topic comes."""
    return metadata("TopicRecord", name=name, topicId=TOPIC_ID)


GONE = metadata("RemoveTopicRecord", topicId=TOPIC_ID)
BEGIN, END, ABORT = (metadata(f"{word}TransactionRecord") for word in ("Begin", "End", "Abort"))


@pytest.fixture
def data(tmp_path: Path) -> Data:
    return Data(tmp_path / "data")


def told(data: Data) -> dict[str, int]:
    """The intervals, by topic."""
    return topic_intervals(open_data_directory(data.path))


@pytest.mark.parametrize(
    ("records", "intervals"),
    [
        ([setting("t", "100"), setting("u", "7")], {"t": 100, "u": 7}),
        ([setting("t", "100"), setting("t", "200")], {"t": 200}),
        ([setting("t", "100"), setting("t", None)], {}),
        ([setting("t", None)], {}),
        ([setting("t", "100", "segment.bytes"), setting("1", "100", kind=BROKER)], {}),
        ([setting("t", "many"), setting("u", "-1"), setting("v", "\u0663")], {}),
        ([topic("t"), setting("t", "100"), GONE], {}),
        ([topic("t"), setting("t", "100"), GONE, topic("t")], {}),
        ([BEGIN, setting("t", "100"), END, BEGIN, setting("t", "200"), ABORT], {"t": 100}),
        ([setting("t", "100"), BEGIN, setting("t", None)], {"t": 100}),
    ],
)
def test_a_setting_counts_as_long_as_it_holds(data: Data, records: list[Pair], intervals: dict[str, int]) -> None:
    """Regression: a topic that was deleted and made anew got the interval of its namesake, and an aborted transaction
    of metadata counted; the index rebuilt by it is none that a broker would make."""
    data.write(NAME, records)
    assert told(data) == intervals


def write_snapshot(data: Data, offset: int, content: bytes) -> None:
    (data.path / NAME).mkdir(exist_ok=True)
    (data.path / NAME / f"{offset:020}-0000000003.checkpoint").write_bytes(content)


def test_what_a_snapshot_tells_goes_on_in_the_log(data: Data) -> None:
    write_snapshot(data, 5, snapshot(setting("t", "100"), setting("u", "7")))
    data.write(NAME, [setting("u", None)], at=5)
    assert told(data) == {"t": 100}


def test_a_snapshot_that_is_not_whole_gives_way_to_the_one_before(data: Data) -> None:
    """Regression: what the broker was writing when it was killed was taken for all there is."""
    write_snapshot(data, 5, snapshot(setting("t", "100")))
    write_snapshot(data, 9, snapshot(setting("t", "200"))[:-1])
    data.write(NAME, [setting("u", "7")], at=5)
    assert told(data) == {"t": 100, "u": 7}


def test_damage_leaves_what_can_be_read(data: Data) -> None:
    data.write(NAME, [setting("t", "100")])
    data.write(NAME, [setting("u", "7")])
    log = data.path / NAME / f"{0:020}.log"
    log.write_bytes(log.read_bytes()[:-1] + b"!")
    assert told(data) == {"t": 100}


def test_a_data_directory_without_metadata_tells_none(data: Data) -> None:
    """One of ZooKeeper's times, or another disk of the same broker."""
    assert told(data) == {}
