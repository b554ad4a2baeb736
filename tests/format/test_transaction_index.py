"""The transaction index: whole entries in marker order, and nothing that cannot be true."""

import struct

import pytest

from kafkafs.errors import CorruptData
from kafkafs.format.transaction_index import AbortedTransaction, parse_transaction_index

GOLDEN = bytes.fromhex("00000000000000001092000000000000006e00000000000000710000000000000072")
"""Kafka's own bytes (kafka-format.md, section 11)."""


def entry(first: int, last: int, version: int = 0) -> bytes:
    return struct.pack(">hqqqq", version, 7, first, last, last + 1)


def test_kafkas_own_entry_is_read():
    assert parse_transaction_index(GOLDEN, 100) == (AbortedTransaction(4242, 110, 113, 114),)


@pytest.mark.parametrize("cut", range(69))
def test_a_cut_entry_at_the_end_does_not_count(cut):
    """The broker appends while we read."""
    assert len(parse_transaction_index((entry(1, 2) + entry(3, 4))[:cut], 0)) == cut // 34


@pytest.mark.parametrize(
    "data",
    [
        entry(1, 2, version=1),
        entry(1, 2) + entry(1, 2),
        entry(3, 4) + entry(1, 2),
        entry(5, 4),
        entry(1, 2, version=-1),
    ],
)
def test_what_cannot_be_true_is_refused(data):
    """A wrong entry would hide committed records."""
    with pytest.raises(CorruptData):
        parse_transaction_index(data, 0)


def test_a_marker_before_the_segment_is_refused_and_data_before_it_is_not():
    """The data of a transaction may stand in an earlier segment; its marker stands in this one."""
    with pytest.raises(CorruptData):
        parse_transaction_index(GOLDEN, 114)
    assert parse_transaction_index(GOLDEN, 112)


def test_real_indexes_name_what_consumers_do_not_see(stopped):
    """Every entry spans records that a read_committed consumer misses."""
    names = 0
    for topic in ("transactions", "transactions-spread"):
        for file in sorted(stopped.path.glob(f"{topic}-*/*.txnindex")):
            number = int(file.parent.name.rpartition("-")[2])
            if file.parent.name != f"{topic}-{number}":
                continue
            seen = {record.offset for record in stopped.records(topic, number, "read_committed")}
            written = {record.offset for record in stopped.records(topic, number)}
            for one in parse_transaction_index(file.read_bytes(), int(file.stem)):
                assert one.first_offset in written - seen
                names += 1
    assert names
