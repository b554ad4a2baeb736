"""What takes the bytes of a log, held against what Kafka's own consumer read of it."""

import numpy as np
import pytest

from kafkafs.log.data_directory import open_data_directory
from kafkafs.overview.contents import read_contents
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.kafka.dataset import Dataset
from tests.log.making import made, write_partition
from tests.overview.slow_records import slow_records, slow_superseded

RELEASES = ("2.8.0", "4.3.1")


@pytest.mark.parametrize("release", RELEASES)
def test_keys_values_and_headers_are_those_of_the_consumer(release):
    data = Dataset(release, "stopped")
    directory = open_data_directory(data.path)
    for topic, number in data.partitions():
        if "deleted" in topic:
            continue  # what lies below the log start counts here, and is not read there
        found, records = read_contents(directory.partition(f"{topic}-{number}")), data.records(topic, number)
        assert found.problems == []
        assert found.key == sum(len(record.key or b"") for record in records), topic
        assert found.value == sum(len(record.value or b"") for record in records), topic
        headers = sum(len(name.encode()) + len(text or b"") for record in records for name, text in record.headers)
        assert found.header == headers, topic
        assert found.tombstones == sum(record.key is not None and record.value is None for record in records), topic
        assert found.stored == sum(log.stat().st_size for log in data.directory(topic, number).glob("*.log")), topic
        if release == "4.3.1" and topic in ("codec-none", "partitions", "nulls", "transactions-spread"):
            assert found.unpacked == found.stored


@pytest.mark.parametrize("topic", ["codec-none", "partitions"])
def test_what_is_replaced_is_what_a_slow_reader_finds(topic):
    data = Dataset("4.3.1", "stopped")
    records = slow_records(b"".join(log.read_bytes() for log in sorted(data.directory(topic, 0).glob("*.log"))))
    found = read_contents(open_data_directory(data.path).partition(f"{topic}-0"))
    assert 0 < found.superseded == slow_superseded(records)


def test_producers_and_transactions_are_counted_once():
    """`idempotent` has three producers, `transactions` three of transactions."""
    directory = open_data_directory(Dataset("4.3.1", "stopped").path)
    found = {name: read_contents(directory.partition(f"{name}-0")) for name in ("idempotent", "transactions", "nulls")}
    counts = {name: (len(each.producers), len(each.transactional)) for name, each in found.items()}
    assert counts == {"idempotent": (3, 0), "transactions": (3, 3), "nulls": (0, 0)}


def test_schemas_are_counted_by_id(tmp_path):
    values = [b"\0" + (number).to_bytes(4, "big") + b"x" for number in (5, 5, 300)] + [b"text", None, b"\0"]
    records = [Record(number, 1, 0, b"k", value) for number, value in enumerate(values)]
    write_partition(tmp_path, {0: [made(0, [1])]})
    (tmp_path / "t-0/00000000000000000000.log").write_bytes(v2_batch(records))
    found = read_contents(open_data_directory(tmp_path).partition("t-0"))
    assert dict(found.schemas) == {5: 2, 300: 1}


def test_damage_is_reported_and_is_framing(tmp_path):
    batches = [made(number, [number + 1]) for number in range(3)]
    partition = write_partition(tmp_path, {0: batches})
    log = partition / "00000000000000000000.log"
    data = bytearray(log.read_bytes())
    data[len(batches[0].data) + 70] ^= 1
    log.write_bytes(data)
    found = read_contents(open_data_directory(tmp_path).partition("t-0"))
    assert len(found.problems) == 1
    assert "are not a valid batch" in found.problems[0]
    assert found.stored == len(batches[0].data) + len(batches[2].data)
    assert np.isclose(found.unpacked, found.stored)
