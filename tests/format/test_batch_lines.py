"""`.batches.jsonl`: every field of every header, as a plain reading of the header has it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.batch import CODECS, Batch, crc_holds, parse_batch, walk
from kafkafs.format.jsonl import batch_lines
from tests.format.batch_maker import v2_around
from tests.format.golden import BATCHES, V1_GZIP

NAME = "00000000000000000100.log"


def model(batch: Batch, valid: bool) -> bytes:
    """The contract's fields in its order, from one header's value, by Python's own json."""
    v2, known = batch.magic == 2, batch.magic == 2 or batch.codec == 0
    fields = {
        "segment": NAME,
        "position": batch.position,
        "size": batch.size,
        "magic": batch.magic,
        "baseOffset": batch.base_offset if known else None,
        "lastOffset": batch.last_offset,
        "count": batch.count if known else None,
        "partitionLeaderEpoch": batch.leader_epoch if v2 else None,
        "crc": batch.crc,
        "valid": valid,
        "codec": CODECS[batch.codec] if batch.codec < len(CODECS) else None,
        "timestampType": batch.timestamp_type,
        "baseTimestamp": batch.base_timestamp if v2 else None,
        "maxTimestamp": batch.max_timestamp if batch.magic else None,
        "isTransactional": batch.is_transactional if v2 else None,
        "isControl": batch.is_control if v2 else None,
        "deleteHorizonMs": batch.base_timestamp if v2 and batch.attributes & 0x40 else None,
        "producerId": batch.producer_id if v2 else None,
        "producerEpoch": batch.producer_epoch if v2 else None,
        "baseSequence": batch.base_sequence if v2 else None,
        "lastSequence": last_sequence(batch) if v2 else None,
    }
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def last_sequence(batch: Batch) -> int:
    """Sequences wrap from 2147483647 to 0; without a producer there is none."""
    return -1 if batch.base_sequence < 0 else (batch.base_sequence + batch.last_offset - batch.base_offset) % 2**31


def lines(data: bytes) -> bytes:
    """What kafkafs writes for a buffer that begins a segment."""
    return b"".join(bytes(piece) for piece in batch_lines(NAME, walk(data, 0).rows))


@pytest.mark.parametrize("name", BATCHES)
def test_kafkas_own_batches_read_as_their_headers_say(name):
    """Operators look for producers and epochs here; a field in the wrong place misleads them."""
    data, at, want = BATCHES[name][0], 0, b""
    while batch := parse_batch(data, at, at):
        want += model(batch, crc_holds(batch, data[at : batch.end]))
        at = batch.end
    assert lines(data) == want


@given(
    fields=st.tuples(
        *[st.integers(-(2**15), 2**15 - 1), st.integers(0, 2**31 - 1)],
        *[st.integers(-(2**63), 2**63 - 1)] * 3,
        *[st.integers(-(2**15), 2**15 - 1), st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1)],
    ),
    base=st.integers(0, 2**62),
    epoch=st.integers(-(2**31), 2**31 - 1),
)
def test_any_header_is_shown_field_by_field(fields, base, epoch):
    """All bits of all fields, set by whom it may be: the line says what is on disk."""
    data = v2_around(b"", 0, base, header=fields, epoch=epoch)
    batch = parse_batch(data, 0, 0)
    assert batch is not None
    assert lines(data) == model(batch, True)


def test_a_failed_crc_is_a_line_that_says_so():
    """The verdict is what this view is for."""
    assert b'"valid":false' in lines(V1_GZIP[:-1] + b"\x01")


def test_a_long_table_comes_whole_and_in_bounded_pieces():
    """A segment of a gigabyte can hold millions of small batches."""
    data = v2_around(b"", 0) * 20_000
    pieces = [bytes(piece) for piece in batch_lines(NAME, walk(data, 0, verify=False).rows)]
    assert max(map(len, pieces)) <= 1 << 20
    found = [json.loads(line) for line in b"".join(pieces).splitlines()]
    assert [line["position"] for line in found] == list(range(0, len(data), 61))
    assert found[0]["valid"] is None
