"""Formats v0 and v1: the rules that only compressed message sets know, each made by hand as old clients wrote it."""

import gzip
import struct
import zlib
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import CorruptData, TooLarge
from kafkafs.format.batch import walk
from kafkafs.format.records import Refusal, decode
from tests.format.decoding import decoded, reason
from tests.format.golden import Record

LOG_APPEND_TIME = 8
GZIP = 1


class Message(NamedTuple):
    """A message as LegacyRecord lays it out."""

    offset: int
    value: bytes | None
    key: bytes | None = None
    timestamp: int = -1
    attributes: int = 0
    magic: int = 1

    def encoded(self) -> bytes:
        """With its 12 bytes of offset and size, and a true CRC."""
        body = struct.pack(">bb", self.magic, self.attributes)
        body += struct.pack(">q", self.timestamp) if self.magic else b""
        for field in (self.key, self.value):
            body += struct.pack(">i", -1) if field is None else struct.pack(">i", len(field)) + field
        return struct.pack(">qiI", self.offset, len(body) + 4, zlib.crc32(body)) + body


def wrapper(inner: list[Message], offset: int, *, timestamp: int = -1, attributes: int = 0, magic: int = 1) -> bytes:
    """A gzip wrapper around messages."""
    content = gzip.compress(b"".join(message.encoded() for message in inner))
    return Message(offset, content, None, timestamp, GZIP | attributes, magic).encoded()


def test_a_v1_wrapper_holds_relative_offsets_and_its_own_is_the_last():
    """Compaction leaves gaps: the base follows from the last one, not from the count."""
    inner = [Message(0, b"a", timestamp=5), Message(3, b"b", timestamp=4), Message(7, b"c", timestamp=9)]
    _, made = decoded(wrapper(inner, 107, timestamp=9))
    assert made == [Record(100, 5, 0, None, b"a"), Record(103, 4, 0, None, b"b"), Record(107, 9, 0, None, b"c")]


def test_a_v0_wrapper_holds_absolute_offsets():
    """v0 has neither relative offsets nor timestamps."""
    inner = [Message(100, b"a", b"k", magic=0), Message(107, None, magic=0)]
    _, made = decoded(wrapper(inner, 107, magic=0))
    assert made == [Record(100, -1, -1, b"k", b"a"), Record(107, -1, -1, None, None)]


def test_a_v1_wrapper_with_offset_zero_holds_absolute_offsets():
    """An old librdkafka left it at zero; Kafka's reader takes the base for zero then."""
    _, made = decoded(wrapper([Message(0, b"a", timestamp=1), Message(1, b"b", timestamp=2)], 0, timestamp=2))
    assert [record.offset for record in made if isinstance(record, Record)] == [0, 1]


def test_a_wrapper_with_log_append_time_gives_all_its_own_timestamp():
    """The broker stamps only the wrapper, so that it need not compress again."""
    inner = [Message(0, b"a", timestamp=5), Message(1, b"b", timestamp=6)]
    _, made = decoded(wrapper(inner, 1, timestamp=77, attributes=LOG_APPEND_TIME))
    assert made == [Record(0, 77, 1, None, b"a"), Record(1, 77, 1, None, b"b")]


def test_the_wrappers_type_counts_and_not_the_messages_own():
    """A client may set the bit; only the broker's means anything."""
    _, made = decoded(wrapper([Message(0, b"a", timestamp=5, attributes=LOG_APPEND_TIME)], 9, timestamp=5))
    assert made == [Record(9, 5, 0, None, b"a")]


@pytest.mark.parametrize("attributes", [0, LOG_APPEND_TIME])
def test_a_v0_message_inside_v1_has_no_timestamp(attributes):
    """Kafka reports none for it, whatever surrounds it."""
    inner = [Message(0, b"a", magic=0), Message(1, b"b", timestamp=3)]
    _, made = decoded(wrapper(inner, 11, timestamp=50, attributes=attributes))
    second = Record(11, 50, 1, None, b"b") if attributes else Record(11, 3, 0, None, b"b")
    assert made == [Record(10, -1, -1, None, b"a"), second]


def test_a_v1_message_inside_v0_keeps_its_own_time():
    """A v0 wrapper has no type to impose."""
    inner = [Message(5, b"a", timestamp=3, attributes=LOG_APPEND_TIME), Message(6, b"b", timestamp=4)]
    _, made = decoded(wrapper(inner, 6, magic=0))
    assert made == [Record(5, 3, 1, None, b"a"), Record(6, 4, 0, None, b"b")]


def test_a_plain_message_with_log_append_time_says_so():
    """Uncompressed messages carry the broker's stamp themselves."""
    _, made = decoded(Message(4, b"v", b"", 99, LOG_APPEND_TIME).encoded())
    assert made == [Record(4, 99, 1, b"", b"v")]


def test_a_last_message_that_is_cut_is_left_out():
    """Old brokers cut fetched sets anywhere; Kafka's reader ignores the rest."""
    content = Message(0, b"a", timestamp=1).encoded() + Message(1, b"b", timestamp=1).encoded()
    for cut in range(1, len(Message(1, b"b").encoded())):
        data = Message(20, gzip.compress(content[:-cut]), attributes=GZIP, timestamp=1).encoded()
        assert decoded(data)[1] == [Record(20, 1, 0, None, b"a")]


def test_a_wrapper_that_breaks_a_rule_is_refused():
    """Each rule of Kafka's own reader, broken once under a true CRC."""
    assert "no message" in reason(decoded(wrapper([], 5))[1])
    assert "no value" in reason(decoded(Message(5, None, attributes=GZIP).encoded())[1])
    nested = Message(0, b"x", attributes=GZIP)
    assert "inside another compressed" in reason(decoded(wrapper([nested], 5))[1])
    assert "smaller than that of the last" in reason(decoded(wrapper([Message(9, b"a")], 5))[1])
    assert "do not ascend" in reason(decoded(wrapper([Message(1, b"a"), Message(1, b"b")], 5))[1])
    assert "gzip data is broken" in reason(decoded(Message(5, b"nonsense", attributes=GZIP).encoded())[1])
    wrong_crc = bytearray(Message(0, b"a").encoded())
    wrong_crc[13] ^= 1
    data = Message(5, gzip.compress(bytes(wrong_crc)), attributes=GZIP).encoded()
    assert "CRC of a message" in reason(decoded(data)[1])
    data = Message(5, gzip.compress(struct.pack(">qi", 0, 13) + bytes(13)), attributes=GZIP).encoded()
    assert "too small" in reason(decoded(data)[1])


def test_a_wrapper_over_the_limit_is_too_large():
    """Bombs were possible in 2013 too."""
    data = wrapper([Message(0, bytes(100_000))], 5)
    (refusal,) = decode(data, 0, walk(data, 0).rows, 10_000)
    assert isinstance(refusal, Refusal)
    assert isinstance(refusal.error, TooLarge)


@given(
    st.lists(st.tuples(st.one_of(st.none(), st.binary(max_size=9)), st.one_of(st.none(), st.binary(max_size=9)),
                       st.integers(-1, 2**62)), min_size=1, max_size=9),
    st.integers(0, 2**62), st.booleans(),
)  # fmt: skip
def test_any_messages_come_back_plain_and_wrapped(contents, base, packed):
    """Nulls, empty fields and any timestamp, in both ways that a set can stand on disk."""
    want = [Record(base + i, time, 0, key, value) for i, (key, value, time) in enumerate(contents)]
    first = 0 if packed else base
    messages = [Message(first + i, value, key, time) for i, (key, value, time) in enumerate(contents)]
    plain = b"".join(message.encoded() for message in messages)
    assert decoded(wrapper(messages, want[-1].offset) if packed else plain)[1] == want


@given(st.binary(max_size=120))
def test_any_bytes_inside_a_wrapper_are_records_or_a_refusal(content):
    """The CRC only says that the writer wrote this."""
    made = decoded(Message(5, gzip.compress(content), attributes=GZIP).encoded())[1]
    assert all(isinstance(item, Record) or type(item.error) is CorruptData for item in made)
