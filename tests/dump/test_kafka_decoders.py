"""Keys and values as text: Java's way with bytes that are no UTF-8, and the numbers."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.kafka_decoders import as_double, as_hexadecimal, as_integer, as_long, as_string, decoder
from kafkafs.dump.rendering import record_lines
from kafkafs.errors import CorruptData, UsageError
from kafkafs.format.batch import BATCH
from kafkafs.format.records import RECORD, Records

EDGES = bytes.fromhex("41 7f 80 8f 90 9f a0 bf c0 c2 df e0 e1 ec ed ee ef f0 f1 f4 f5 ff")
tricky = st.lists(st.sampled_from(EDGES), max_size=12).map(bytes)
MARK = "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("41 80 42", f"A{MARK}B"),
        ("e1 80 42", f"{MARK}B"),
        ("e0 80 80", MARK * 3),
        ("ed a0 80 42", f"{MARK}B"),  # an encoded surrogate is one
        ("ed a0 42", f"{MARK}B"),  # even a cut one
        ("f1 80 80", MARK),
        ("f0 80 80 80", MARK * 4),
        ("f4 90 80 80", MARK * 4),
        ("f8 88", MARK * 2),
        ("c3 a9 e2 82 ac f0 9f 98 80", "\u00e9\u20ac\U0001f600"),
    ],
)
def test_malformed_text_is_replaced_as_java_does(data: str, text: str) -> None:
    """What Java's decoder was seen to do; a difference in number would shift all that follows."""
    assert as_string(bytes.fromhex(data)).decode() == text


@given(st.lists(st.binary(max_size=40) | tricky | st.text().map(str.encode), min_size=1, max_size=20))
def test_the_kernel_writes_the_same_text(values: list[bytes]) -> None:
    """Two ways lead to a record's line; which one is taken must not be seen."""
    rows = np.zeros(len(values), RECORD)
    rows["value_size"], rows["key_size"] = [len(value) for value in values], -1
    rows["value_at"] = np.cumsum([0, *rows["value_size"][:-1]])
    records = Records(np.frombuffer(b"".join(values) + bytes(16), np.uint8), rows)
    options = DumpOptions(print_data_log=True, skip_record_metadata=True)
    text = b"".join(record_lines(np.zeros(1, BATCH), 1, records, options, lambda _: iter([])))
    assert text == b"".join(b"| payload: " + as_string(value) + b"\n" for value in values)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**31 - 1), st.binary(max_size=4))
def test_numbers_are_the_first_bytes(long: int, integer: int, rest: bytes) -> None:
    """Kafka's decoders do not look at what follows."""
    assert as_long(struct.pack(">q", long) + rest) == str(long).encode()
    assert as_integer(struct.pack(">i", integer) + rest) == str(integer).encode()


DOUBLES = """0.0 -0.0 1.0 -2.5 0.001 9999999.0 1.0E7 1.0E-4 1.23456789125E8 1.0E300 -2.5E-10 2.2250738585072014E-308
Infinity -Infinity NaN"""


@pytest.mark.parametrize("text", DOUBLES.split())
def test_doubles_are_written_as_java_writes_them(text: str) -> None:
    """1.0E7 where Python says 10000000.0."""
    assert as_double(struct.pack(">d", float(text))).decode() == text


def test_too_few_bytes_are_no_number() -> None:
    """Kafka's tool ends with an exception there."""
    for decode in (as_long, as_double, as_integer):
        with pytest.raises(CorruptData, match="3 bytes are too few"):
            decode(b"abc")
    assert as_hexadecimal(b"\x00\xff") == b"00ff"


def test_classes_have_their_own_names() -> None:
    """What people have in their scripts."""
    assert decoder("org.apache.kafka.tools.api.StringDecoder") is as_string
    assert decoder("kafka.serializer.LongDecoder") is as_long
    assert decoder("org.apache.kafka.common.serialization.IntegerDeserializer") is as_integer
    assert decoder("DoubleDecoder") is as_double
    assert decoder("org.apache.kafka.common.serialization.ByteArrayDeserializer") is as_hexadecimal


@pytest.mark.parametrize(
    "name", ["", "Decoder", "Long", "com.example.StringDecoder", "io.confluent.AvroDecoder", "longDecoder"]
)
def test_another_class_is_refused_by_name(name: str) -> None:
    """A wrong guess would print nonsense without a word."""
    with pytest.raises(UsageError, match="StringDecoder, LongDecoder"):
        decoder(name)
