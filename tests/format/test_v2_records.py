"""Batches of format v2 whose records break a rule of Kafka's own reader: refused whole, with the reason."""

from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import CorruptData
from kafkafs.format.records import PIECE
from tests.format.batch_maker import record_bytes, v2_around, varint
from tests.format.decoding import decoded, reason
from tests.format.golden import Record


def test_a_batch_that_holds_other_than_it_says_is_refused():
    """Each rule of Kafka's own reader, broken once under a true CRC."""
    one = record_bytes(Record(0, 0, 0, b"k", b"v", ((b"h", b"x"),)), 0, 0)
    second = record_bytes(Record(1, 0, 0, b"k", b"v"), 0, 0)
    assert "fewer records" in reason(decoded(v2_around(one, 2, last=1))[1])
    assert "left after" in reason(decoded(v2_around(one + second, 1, last=1))[1])
    assert "negative number" in reason(decoded(v2_around(b"", -1))[1])
    assert "do not ascend" in reason(decoded(v2_around(one + one, 2, last=5))[1])
    assert "past the end of the batch" in reason(decoded(v2_around(one[:-1], 1))[1])
    assert "past the end of the batch" in reason(decoded(v2_around(varint(-1), 1))[1])
    assert "cut or too long" in reason(decoded(v2_around(b"\xff" * 5, 1))[1])

    def record(fields: bytes) -> bytes:
        return v2_around(varint(len(fields)) + fields, 1)

    start = b"\0" + varint(0) + varint(0)
    assert "more than its fields" in reason(decoded(record(start + varint(-1) + varint(-1) + varint(0) + b"!"))[1])
    assert "a key runs" in reason(decoded(record(start + varint(100)))[1])
    assert "a value runs" in reason(decoded(record(start + varint(-1) + varint(2**31 - 1)))[1])
    for headers in (varint(-1), varint(2**31 - 1), varint(1) + varint(-1) + varint(-1), varint(1) + varint(9)):
        assert "headers" in reason(decoded(record(start + varint(-1) + varint(-1) + headers))[1])


def test_a_large_batch_with_a_fault_at_its_end_gives_no_record():
    """A piece handed out cannot be taken back: the whole batch is checked first."""
    content = b"".join(record_bytes(Record(i, 0, 0, None, b"x"), 0, 0) for i in range(PIECE + 5))
    data = v2_around(content[:-1] + b"\x02", PIECE + 5, last=PIECE + 4)
    assert "headers" in reason(decoded(data)[1])


def test_a_count_that_no_batch_can_hold_costs_nothing():
    """2**31-1 records in 70 bytes: no table is made for a claim."""
    one = record_bytes(Record(0, 0, 0, None, None), 0, 0)
    assert "fewer records" in reason(decoded(v2_around(one, 2**31 - 1, last=2**31 - 1))[1])


@given(st.binary(max_size=200), st.integers(0, 30))
def test_any_bytes_as_records_under_a_true_crc_are_records_or_a_refusal(content, count):
    """The CRC only says that the writer wrote this; a writer can be wrong or hostile."""
    _, made = decoded(v2_around(content, count, last=count + 3))
    assert all(isinstance(item, Record) or type(item.error) is CorruptData for item in made)
