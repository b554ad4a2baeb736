"""Every record of every data set that a real broker wrote, decoded and compared with what Kafka's consumer got."""

from pathlib import Path

from kafkafs.format.batch import walk
from kafkafs.format.records import Records, decode
from tests.format.golden import Record

TYPES = {None: -1, "CreateTime": 0, "LogAppendTime": 1}


def decoded(log: Path) -> dict[int, Record]:
    """All records of a segment that a consumer would see, by offset."""
    data = log.read_bytes()
    found = walk(data, 0)
    visible = found.rows[(found.rows["attributes"] & 0x20 == 0) | (found.rows["magic"] < 2)]
    records: dict[int, Record] = {}
    for piece in decode(data, 0, visible, 1 << 28):
        assert isinstance(piece, Records), piece
        for i, row in enumerate(piece.rows):
            key, value = piece.key(i), piece.value(i)
            record = Record(
                int(row["offset"]), int(row["timestamp"]), int(row["timestamp_type"]),
                None if key is None else bytes(key), None if value is None else bytes(value), tuple(piece.headers(i)),
            )  # fmt: skip
            assert record.offset not in records
            records[record.offset] = record
    return records


def test_every_record_is_what_kafkas_consumer_got(dataset):
    """The whole point: each codec, format, header, null and timestamp as Kafka itself reads them."""
    compared = 0
    for partition in dataset.partitions():
        ours: dict[int, Record] = {}
        for log in sorted((dataset.path / partition.directory).glob("*.log")):
            ours |= decoded(log)
        for truth in dataset.records(partition.topic, partition.partition, "read_uncommitted"):
            want = Record(
                truth.offset, truth.timestamp_ms, TYPES[truth.timestamp_type], truth.key, truth.value,
                tuple((name.encode(), value) for name, value in truth.headers),
            )  # fmt: skip
            assert ours[truth.offset] == want
            compared += 1
    assert compared > 1000
