"""JSON lines: the bytes of a slow and obvious model, however long they are, and the original bytes again from each."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.batch import walk
from kafkafs.format.jsonl import JsonLines
from kafkafs.format.records import Records, decode
from tests.format.batch_maker import v2_batch
from tests.format.golden import BATCHES, Record
from tests.view.json_model import line as model_line
from tests.view.json_model import original
from tests.view.rendering import rendered


def test_pieces_that_share_memory_do_not_touch_each_other() -> None:
    """A room is written on where the last piece ended, while somebody still reads that one."""
    made = [Record(offset, offset, 0, b"k", b'"' * 500) for offset in range(100)]
    batch = v2_batch(made)
    (records,) = decode(batch, 0, walk(batch, 0).rows, 1 << 30)
    assert isinstance(records, Records)
    lines, expected = JsonLines("t", 0), b"".join(model_line("t", 0, record) for record in made)
    pieces = [list(lines.pieces(records)) for _ in range(50)]
    assert [b"".join(of_one) for of_one in pieces] == [expected] * 50
    assert sum(len(of_one) == 1 for of_one in pieces) > 40


# Bytes that look for seams: controls, escapes, scripts, near misses of UTF-8, each in runs around 8 and 16 bytes.
_characters = st.sampled_from(
    [*map(chr, range(0x20)), *'"\\ab \x7f\x80\x9f\xa0\u00e9\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff']
)
_near_misses = st.sampled_from(
    [
        *(b"\xc0\x80", b"\xc1\xbf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe0\x9f\xbf", b"\xf0\x8f\xbf\xbf"),
        *(b"\xf5", b"\xff", b"\x80", b"\xc2", b"\xe2\x82", b"\xf0\x9f\x98"),
    ]
)
_bytes = st.one_of(
    st.binary(max_size=70),
    st.text(_characters, max_size=70).map(str.encode),
    st.text(st.sampled_from('abc {}:,"\\'), max_size=120).map(str.encode),
    st.tuples(st.integers(0, 40), _near_misses, st.binary(max_size=5)).map(lambda p: b"x" * p[0] + p[1] + p[2]),
)
_maybe_bytes = st.one_of(st.none(), _bytes)
_headers = st.lists(st.tuples(_bytes, _maybe_bytes), max_size=3).map(tuple)
_int64 = st.integers(-(2**62), 2**62)


@st.composite
def batches(draw: st.DrawFn) -> list[Record]:
    """Records with ascending offsets, gaps among them, and timestamps that need not ascend."""
    offset, timestamp = draw(st.sampled_from([0, 9, 99999998, 10**8, 10**16 - 2, 2**62])), draw(_int64)
    made = []
    for _ in range(draw(st.integers(1, 6))):
        made.append(Record(offset, timestamp + draw(st.integers(-3, 3)), 0, draw(_maybe_bytes), draw(_maybe_bytes),
                           draw(_headers)))  # fmt: skip
        offset += draw(st.sampled_from([1, 1, 2, 1000]))
    return made


@given(batches())
def test_any_record_is_the_line_that_pythons_json_would_write(records):
    """Tools compare and cache lines; one byte off breaks a checksum, one bad escape breaks jq."""
    want = b"".join(model_line("my-topic.x_1", 3, record) for record in records)
    assert rendered(v2_batch(records)) == want


@given(batches())
def test_the_original_bytes_can_be_rebuilt_from_a_line(records):
    """People restore topics from such dumps: nothing may be lost, whatever the bytes are."""
    for line, record in zip(rendered(v2_batch(records)).split(b"\n"), records, strict=False):
        fields = json.loads(line)
        assert (original(fields, "key"), original(fields, "value")) == (record.key, record.value)
        headers = tuple((original(header, "key"), original(header, "value")) for header in fields["headers"])
        assert headers == record.headers


@pytest.mark.parametrize("name", BATCHES)
def test_kafkas_own_batches_become_the_contracts_lines(name):
    """Bytes that no encoder of ours has touched, in each format."""
    batch, records = BATCHES[name]
    assert rendered(batch, "t", 0) == b"".join(model_line("t", 0, record) for record in records)


@pytest.mark.parametrize("value", [-(2**63), -1, 0, 7, 9, 10, 99999999, 10**8, 10**16 - 1, 10**16, 2**63 - 1])
def test_every_length_of_number_is_right(value):
    """Digits are made eight at a time; the seams are powers of ten."""
    record = Record(5, value, 0, None, None)
    assert rendered(v2_batch([record])) == model_line("my-topic.x_1", 3, record)


def test_log_append_time_is_the_batchs_for_every_record():
    """The stored deltas mean nothing then; a consumer never sees them."""
    records = [Record(0, 100, 0, None, b"a"), Record(1, 90, 0, None, b"b")]
    want = [model_line("my-topic.x_1", 3, record._replace(timestamp=5000, timestamp_type=1)) for record in records]
    assert rendered(v2_batch(records, log_append_time=5000)) == b"".join(want)


def test_many_pieces_hold_every_record_once():
    """Pieces end where room ends; a record must neither vanish there nor come twice."""
    records = [Record(i, i, 0, None, b"%0100d" % i) for i in range(40_000)]
    assert rendered(v2_batch(records)) == b"".join(model_line("my-topic.x_1", 3, record) for record in records)


def test_any_choice_of_rows_gives_their_lines():
    """Readers choose records by masks and steps; numpy's views need not lie row behind row."""
    records = [Record(i, i, 0, None, b"%d" % i) for i in range(9)]
    batch = v2_batch(records)
    (piece,) = decode(batch, 0, walk(batch, 0).rows, 1 << 20)
    assert isinstance(piece, Records)
    for choice in (slice(None, None, 2), slice(None, None, -1), [5, 1]):
        lines = b"".join(JsonLines("t", 0).pieces(Records(piece.data, piece.rows[choice])))
        chosen = [records[i] for i in np.arange(9)[choice]]
        assert lines == b"".join(model_line("t", 0, record) for record in chosen)


@pytest.mark.parametrize("size", [350_000, 393_216, 400_001, 1_500_000])
@pytest.mark.parametrize("unit", [b"plain ", "日本語 ".encode(), b"\x00", b"\xff\xfe"])
def test_a_line_larger_than_a_piece_is_the_same_line(size, unit):
    """A value of many megabytes must not take six times as much memory, nor be cut inside a character."""
    value = (unit * (size // len(unit) + 1))[: size - size % len(unit)]
    records = [Record(1, 2, 0, b"k", b"small"), Record(2, 3, 0, value, value, ((b"h", value), (value, None)) * 2),
               Record(3, 3, 0, None, b"behind")]  # fmt: skip
    assert rendered(v2_batch(records)) == b"".join(model_line("my-topic.x_1", 3, record) for record in records)


def test_a_hundred_thousand_headers_are_all_there():
    """Headers have no limit of their own."""
    record = Record(2, 3, 0, b"k", b"v", tuple((b"name%d" % i, b"v" if i % 3 else None) for i in range(100_000)))
    assert rendered(v2_batch([record])) == model_line("my-topic.x_1", 3, record)
