"""Batches that are written, against what a real snapshot of Kafka's has in it, and read again."""

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.batch import VALID, Pair, batch_bytes, parse_batch, walk
from kafkafs.format.messages.writing import metadata_record
from kafkafs.format.records import Records, decode

TOPIC_ID = "AAAAAAAAAAEAAAAAAAAAAg"
fields = st.none() | st.binary(max_size=200)


def test_a_batch_is_kafkas_own() -> None:
    """From a snapshot that a real controller loaded: feature level, topic and partition, checksum and all."""
    records: list[Pair] = [
        (None, metadata_record("FeatureLevelRecord", 0, {"name": "metadata.version", "featureLevel": 21})),
        (None, metadata_record("TopicRecord", 0, {"name": "t", "topicId": TOPIC_ID})),
        (None, metadata_record("PartitionRecord", 1, {
            "partitionId": 0, "topicId": TOPIC_ID, "replicas": (1,), "isr": (1,), "leader": -1, "leaderEpoch": 3,
            "partitionEpoch": 4,
            "directories": ("AAAAAAAAAAMAAAAAAAAABA",),
        })),
    ]  # fmt: skip
    kafkas = bytes.fromhex(
        "0000000000000001000000b600000001022544d7dc0000000000020000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff"
        "000000033a000000012e010c00116d657461646174612e76657273696f6e001500"
        "0038000002012c010200027400000000000000010000000000000002000090010000040182010103010000000000000000000000010000000000"
        "000002020000000102000000010101ffffffff000000030000000402000000000000000300000000000000040000"
    )
    assert batch_bytes(records, 1, timestamp=1700000000000, leader_epoch=1) == kafkas


@given(st.lists(st.tuples(fields, fields), min_size=1, max_size=20), st.integers(0, 2**40), st.booleans())
def test_what_is_written_is_read_again(records: list[Pair], base: int, is_control: bool) -> None:
    made = batch_bytes(records, base, timestamp=1000, leader_epoch=7, is_control=is_control)
    walked = walk(made, 0)
    assert (walked.stop, walked.rows["valid"].tolist()) == ("end", [VALID])
    batch = parse_batch(made, 0, 0)
    assert batch is not None
    assert (batch.leader_epoch, batch.is_control, batch.producer_id, batch.base_sequence) == (7, is_control, -1, -1)
    (piece,) = decode(made, 0, walked.rows, 1 << 20)
    assert isinstance(piece, Records)
    assert piece.rows["offset"].tolist() == list(range(base, base + len(records)))
    assert piece.rows["timestamp"].tolist() == [1000] * len(records)
    read = [(piece.key(row), piece.value(row)) for row in range(len(records))]
    assert [(_bytes(key), _bytes(value)) for key, value in read] == records


def _bytes(field: bytes | memoryview | None) -> bytes | None:
    return None if field is None else bytes(field)
