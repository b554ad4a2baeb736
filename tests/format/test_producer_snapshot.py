"""Producer snapshots: Kafka's own bytes, and any damage refused."""

import struct

import pytest

from kafkafs.errors import CorruptData
from kafkafs.format.kernels import crc32c
from kafkafs.format.producer_snapshot import ProducerState, parse_producer_snapshot, producer_snapshot_bytes

GOLDEN = bytes.fromhex(
    "000160fbeca00000000200000000000000070000ffffffffffffffffffffffff00000000ffffffffffffffffffffffff0000000000000037"
    "000000000000109200030000000d00000000000000700000000200000000000003ed00000009ffffffffffffffff"
)
"""kafka-format.md, section 11."""


def test_kafkas_own_snapshot():
    assert parse_producer_snapshot(GOLDEN) == (
        ProducerState(7, 0, -1, -1, 0, -1, -1, 55),
        ProducerState(4242, 3, 13, 112, 2, 1005, 9, -1),
    )


def test_a_snapshot_is_written_as_kafka_writes_it():
    assert producer_snapshot_bytes(parse_producer_snapshot(GOLDEN)) == GOLDEN
    assert len(producer_snapshot_bytes([])) == 10


@pytest.mark.parametrize("cut", range(len(GOLDEN)))
def test_a_cut_snapshot_is_refused(cut):
    """It is written in place: a torn one would put the last stable offset anywhere."""
    with pytest.raises(CorruptData):
        parse_producer_snapshot(GOLDEN[:cut])


@pytest.mark.parametrize("at", range(len(GOLDEN)))
def test_a_flipped_bit_is_refused(at):
    data = bytearray(GOLDEN)
    data[at] ^= 0x10
    with pytest.raises(CorruptData):
        parse_producer_snapshot(bytes(data))


@pytest.mark.parametrize("count", [-1, 1, 2**31 - 1])
def test_a_count_without_its_entries_is_refused(count):
    body = struct.pack(">i", count)
    with pytest.raises(CorruptData):
        parse_producer_snapshot(struct.pack(">hI", 1, crc32c(body)) + body)


def test_every_snapshot_of_a_real_broker_reads(dataset):
    files = list(dataset.path.glob("*/*.snapshot"))
    assert any(parse_producer_snapshot(file.read_bytes()) for file in files)
