"""What `__remote_log_metadata` says: by a broker's own records, and by states that one is not easily brought to."""

import json

import pytest
from hypothesis import given

from kafkafs.format.messages.topic_records import InternalTopic, Message, parse_record
from kafkafs.format.tiers.tier_names import TierPartition, parse_tier_directory
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.tier import remote_log_metadata
from kafkafs.log.tier.opening import Upload
from kafkafs.log.tier.remote_log_metadata import FollowedState, RemoteLogMetadata
from tests.cluster import drawing
from tests.cluster.writing import Pair
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.kafka.tiered import Tiered
from tests.log.making import Made, partition_of, write_partition
from tests.log.tier.lives import TOPIC_ID, Uploaded, batch, framed, reported

TIERED = Tiered()
IDS = {"topicIdPartition": {"id": "T", "name": "orders", "partition": 0}}


def started(segment_id: str, base: int = 0) -> dict[str, object]:
    return {
        "remoteLogSegmentId": {**IDS, "id": segment_id}, "startOffset": base, "endOffset": base + 9,
        "segmentLeaderEpochs": [{"leaderEpoch": 2, "offset": base}], "segmentSizeInBytes": 100, "maxTimestampMs": 5,
        "remoteLogSegmentState": 0,
    }  # fmt: skip


def update(segment_id: str, state: int) -> dict[str, object]:
    return {"remoteLogSegmentId": {**IDS, "id": segment_id}, "remoteLogSegmentState": state}


def states(*values: dict[str, object]) -> dict[str, int]:
    made = FollowedState()
    for value in values:
        made.apply(value)
    return {name: state for name, (_, state) in made.uploads.get(("T", 0), {}).items()}


def finished(metadata: RemoteLogMetadata, partition: TierPartition) -> dict[str, Upload] | None:
    noted = metadata.recorded(partition)
    return None if noted is None else noted.finished


def test_what_a_broker_wrote_is_each_complete_upload():
    directory = open_data_directory(TIERED.left, ReadOptions())
    partitions = [directory.partition(name) for name in directory.names() if name.startswith("__remote_log_metadata-")]
    metadata = RemoteLogMetadata(lambda: partitions, ReadOptions())
    for folder in TIERED.tier.iterdir():
        partition = parse_tier_directory(folder.name)
        assert partition is not None
        uploads = finished(metadata, partition)
        assert uploads is not None
        assert {f"{each.base_offset:020}-{name}.log" for name, each in uploads.items()} == {
            file.name for file in folder.glob("*.log")
        }
        assert all(each.size == (folder / f"{each.base_offset:020}-{name}.log").stat().st_size
                   for name, each in uploads.items())  # fmt: skip
    assert finished(metadata, TierPartition("orders", 0, "another-topic-id------")) is None


def test_the_last_state_counts():
    assert states(started("a"), update("a", 1), started("b", 10)) == {"a": 1, "b": 0}
    assert states(started("a"), update("a", 1), update("a", 2)) == {"a": 2}
    assert states(started("a"), update("a", 1), update("a", 2), update("a", 3)) == {"a": 3}
    assert states(update("never-started", 1)) == {"never-started": 1}
    assert states(started("a"), update("a", 1), {**IDS, "remotePartitionDeleteState": 2}) == {"": 3}
    assert states(started("a"), update("a", 1), {**IDS, "remotePartitionDeleteState": 0}) == {"a": 1}


@given(drawing.histories(InternalTopic.REMOTE_LOG_METADATA))
def test_no_record_of_any_type_ends_the_reading(pairs: list[Pair]) -> None:
    """A snapshot's record, too, which a broker writes to a file and never to the topic: it names no partition."""
    made = FollowedState()
    for _, value in pairs:
        message = parse_record(InternalTopic.REMOTE_LOG_METADATA, None, value)
        if isinstance(message, Message) and message.value is not None:
            made.apply(message.value)


def test_a_topic_that_was_cut_and_grew_again_is_read_from_its_beginning(tmp_path, monkeypatch):
    """Regression: offsets alone told whether it was the same log, so uploads that no replica has still counted."""
    monkeypatch.setattr(remote_log_metadata, "parse_record", parse_json)
    write_partition(tmp_path, {0: batches(started("a"), update("a", 1))}, METADATA)
    partition = partition_of(tmp_path, METADATA)
    metadata = RemoteLogMetadata(lambda: [partition], ReadOptions(names_fresh_s=0.0))
    assert {*(finished(metadata, ORDERS) or ())} == {"a"}
    path = tmp_path / METADATA / f"{0:020}.log"
    path.write_bytes(b"".join(each.data for each in batches(started("b"), update("b", 1), update("c", 0))))
    partition.look_again()
    assert {*(finished(metadata, ORDERS) or ())} == {"b"}


@pytest.mark.parametrize("rolled", [False, True])
def test_a_topic_that_was_cut_and_grew_to_the_same_size_is_read_again(tmp_path, monkeypatch, rolled):
    """Regression: the last segment was gone, and the leader epoch the same, so it counted for the same log. With its
    last batch in a closed segment, nothing was compared."""
    monkeypatch.setattr(remote_log_metadata, "parse_record", parse_json)
    old, new = (batches(started("a"), update("a", 1), *more) for more in (
        (started("b", 10), update("b", 1)), (started("c", 10), update("c", 1))
    ))  # fmt: skip
    write_partition(tmp_path, {0: old[:2], 2: old[2:]} | ({4: []} if rolled else {}), METADATA)
    (tmp_path / METADATA / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    partition = partition_of(tmp_path, METADATA)
    metadata = RemoteLogMetadata(lambda: [partition], ReadOptions(names_fresh_s=0.0))
    assert {*(finished(metadata, ORDERS) or ())} == {"a", "b"}
    for file in (tmp_path / METADATA).glob("0*"):
        file.unlink()
    write_partition(tmp_path, {0: new}, METADATA)
    partition.look_again()
    assert {*(finished(metadata, ORDERS) or ())} == {"a", "c"}


def test_a_topic_that_grew_is_read_on(tmp_path, monkeypatch, calls):
    monkeypatch.setattr(remote_log_metadata, "parse_record", parse_json)
    parsed = calls(remote_log_metadata, "parse_record")
    write_partition(tmp_path, {0: batches(started("a"))}, METADATA)
    partition = partition_of(tmp_path, METADATA)
    metadata = RemoteLogMetadata(lambda: [partition], ReadOptions(names_fresh_s=0.0))
    assert finished(metadata, ORDERS) == {}
    with open(tmp_path / METADATA / f"{0:020}.log", "ab") as file:
        file.write(batches(started("a"), update("a", 1))[1].data)
    partition.look_again()
    assert {*(finished(metadata, ORDERS) or ())} == {"a"}
    assert len(parsed) == 2


METADATA = "__remote_log_metadata-0"
ORDERS = TierPartition("orders", 0, "T")


def batches(*values: dict[str, object]) -> list[Made]:
    """A batch for each record, which is JSON here."""
    records = [Record(at, 1_000, 0, b"k", json.dumps(value).encode()) for at, value in enumerate(values)]
    return [Made(v2_batch([each]), (each,)) for each in records]


def parse_json(_topic: object, _key: object, value: bytes) -> Message:
    return Message(InternalTopic.REMOTE_LOG_METADATA, 0, "RemoteLogSegmentMetadata", None, 0, json.loads(value))


def batches_of(*uploads: Uploaded) -> list[Made]:
    """A batch for each message about finished uploads."""
    messages = [message for each in uploads for message in reported(each)]
    records = [Record(offset, 1, 0, None, each) for offset, each in enumerate(messages)]
    return [Made(v2_batch([each]), (each,)) for each in records]


def uploaded(number: int) -> Uploaded:
    return Uploaded(number, 10 * number, (batch(0, 10 * number, 5),), ((0, 0),), 10 * number + 10)


PARTITION = TierPartition("t", 0, TOPIC_ID)


def numbers_of(metadata: RemoteLogMetadata) -> list[int]:
    return sorted(each.base_offset // 10 for each in (finished(metadata, PARTITION) or {}).values())


def test_of_several_copies_the_furthest_counts(tmp_path):
    """An older one still calls finished what was deleted since."""
    gone = {"remoteLogSegmentId": {"topicIdPartition": {"name": "t", "id": TOPIC_ID, "partition": 0},
                                   "id": uploaded(1).segment_id}, "brokerId": 1, "eventTimestampMs": 3}  # fmt: skip
    deleted = [framed(1, "RemoteLogSegmentMetadataUpdateRecord", {**gone, "remoteLogSegmentState": state})
               for state in (2, 3)]  # fmt: skip
    old = batches_of(uploaded(1), uploaded(2))
    records = [Record(4 + number, 1, 0, None, each) for number, each in enumerate(deleted)]
    new = [*old, *(Made(v2_batch([each]), (each,)) for each in records)]
    copies = []
    for place, reported_there in ((tmp_path / "old", old), (tmp_path / "new", new)):
        write_partition(place, {0: reported_there}, METADATA)
        copies.append(open_data_directory(place).partition(METADATA))
    assert numbers_of(RemoteLogMetadata(lambda: copies, ReadOptions())) == [2]
    assert numbers_of(RemoteLogMetadata(lambda: copies[::-1], ReadOptions())) == [2]


def test_a_partition_that_was_deleted_whole_has_no_upload_that_counts():
    """Its objects may be there for long, and it is no partition of which nothing is said."""
    made = FollowedState()
    made.apply(started("a"))
    made.apply({"topicIdPartition": IDS["topicIdPartition"], "remotePartitionDeleteState": 2})
    assert made.uploads == {("T", 0): {"": (None, 3)}}
