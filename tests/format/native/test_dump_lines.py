"""Rows as Kafka's dump tool prints them, by the kernel: against the lines that Python makes one by one."""

import re
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.entries import sequence_after, wrap
from kafkafs.dump.kafka_decoders import Decoder, as_hexadecimal, as_integer, as_long, as_string
from kafkafs.dump.rendering import header_lines
from kafkafs.dump.single_lines import DumpedRecord, record_line
from kafkafs.format import kernels
from kafkafs.format.batch import CODECS, Batch, batch_at, rows_of, walk
from kafkafs.format.native import dump_lines
from kafkafs.format.native.layout import (
    DUMP_BYTES,
    DUMP_CONTENTS,
    DUMP_INTEGER,
    DUMP_KEY,
    DUMP_LONG,
    DUMP_METADATA,
    DUMP_ODD,
    DUMP_STRING,
    DUMP_VALUE,
)
from kafkafs.format.records import Records, decode
from tests.format.batch_maker import record_bytes, v2_around
from tests.format.golden import COMMIT, V1_NONE, V2_NONE, Record

SOURCES: dict[str, ModuleType] = {"compiled": kernels, "uncompiled": dump_lines}
DECODERS: dict[Decoder, int] = {as_string: DUMP_STRING, as_long: DUMP_LONG, as_integer: DUMP_INTEGER,
                                as_hexadecimal: DUMP_BYTES}  # fmt: skip
MALFORMED = [b"\xed\xa0\x80", b"\xc0\x80", b"\xf0\x9f\x98", b"\xe2\x82x", b"\xf4\x90\x80\x80"]
NAMES = st.binary(max_size=20) | st.text(max_size=12).map(str.encode) | st.sampled_from(MALFORMED)
BYTES = st.none() | NAMES
HEADERS = st.lists(st.tuples(NAMES, BYTES), max_size=3).map(tuple)
SEQUENCES = st.sampled_from([-1, 0, 5, 2**31 - 2, 2**31 - 1])


@st.composite
def batches(draw: st.DrawFn) -> tuple[bytes, list[Record]]:
    """One batch, its producer's sequence at the seam where that begins anew."""
    records, offset = list[Record](), draw(st.sampled_from([0, 99, 2**62]))
    for _ in range(draw(st.integers(1, 4))):
        records.append(Record(offset, 1000 + draw(st.integers(-3, 3)), 0, draw(BYTES), draw(BYTES), draw(HEADERS)))
        offset += draw(st.sampled_from([1, 1, 3]))
    base, first = records[0].offset, records[0].timestamp
    content = b"".join(record_bytes(record, base, first) for record in records)
    header = (0, records[-1].offset - base, first, max(each.timestamp for each in records), 7, 0, draw(SEQUENCES),
              len(records))  # fmt: skip
    return v2_around(content, len(records), base, header=header), records


def shown(options: DumpOptions) -> int:
    """The same, as the kernel takes it."""
    parts = DUMP_METADATA * (not options.skip_record_metadata) + DUMP_CONTENTS * options.print_data_log
    return parts + (DECODERS[options.decode_key] << DUMP_KEY) + (DECODERS[options.decode_value] << DUMP_VALUE)


def by_python(data: bytes, records: list[Record], options: DumpOptions) -> bytes:
    """The lines one by one, behind the batch's own."""
    rows = walk(data, 0).rows
    batch = batch_at(rows, 0)
    lines = list(map(bytes, header_lines(rows, 0, 1)))
    for each in records:
        sequence = -1
        if batch.base_sequence >= 0:
            sequence = sequence_after(batch.base_sequence, each.offset - batch.base_offset)
        key_size, value_size = (-1 if part is None else len(part) for part in (each.key, each.value))
        names = [as_string(name) for name, _ in each.headers]
        dumped = DumpedRecord(each.offset, each.timestamp, each.key, each.value, key_size, value_size, sequence, names)
        lines.append(record_line(batch, dumped, options, None, list[str]().append))
    return b"".join(lines)


def by_kernel(kernel: ModuleType, data: bytes, what: int, rooms: Callable[[int], int]) -> bytes:
    """The lines in pieces, into rooms of those sizes; larger ones where the kernel wants them."""
    rows = walk(data, 0).rows
    text, next_batch, wanted, turn = b"", 0, 0, 0
    for piece in decode(data, 0, rows, 1 << 20):
        assert isinstance(piece, Records)
        first = 0
        while first < len(piece):
            memory = np.full(max(rooms(turn), wanted) + 64, 0xEE, np.uint8)
            size, first, next_batch, wanted = kernel.dump_records(
                rows, next_batch, piece.data, piece.rows, first, len(piece), what, memory[:-64]
            )
            assert (memory[-64:] == 0xEE).all()
            assert wanted != DUMP_ODD
            text, turn = text + memory[:size].tobytes(), turn + 1
    return text


@pytest.mark.parametrize("source", SOURCES)
@given(st.data())
def test_the_lines_are_those_that_python_makes(source, data):
    """Of any record, with any decoders, into any rooms: nobody should see which of the two wrote a line."""
    batch, records = data.draw(batches())
    decoders = st.sampled_from(list(DECODERS))
    options = DumpOptions(
        print_data_log=data.draw(st.booleans()), skip_record_metadata=data.draw(st.booleans()),
        decode_key=data.draw(decoders), decode_value=data.draw(decoders),
    )  # fmt: skip
    sizes = data.draw(st.lists(st.integers(0, 1200), min_size=1, max_size=4))
    made = by_kernel(SOURCES[source], batch, shown(options), lambda turn: sizes[turn % len(sizes)])
    assert made == by_python(batch, records, options)


@pytest.mark.parametrize("source", SOURCES)
def test_batches_without_records_of_theirs_have_their_own_lines(source):
    """Batches are shown up to the one whose records are asked for; a marker is told by its type."""
    data = V2_NONE + V1_NONE + COMMIT
    text = by_kernel(SOURCES[source], data, DUMP_METADATA + DUMP_CONTENTS, lambda _: 4096).decode()
    assert text == by_kernel(kernels, data, DUMP_METADATA + DUMP_CONTENTS, lambda _: 1).decode()
    assert [line[:1] for line in text.splitlines()] == ["b", "|", "|", "|", "o", "|", "o", "|", "o", "|", "b", "|"]
    assert text.endswith(" endTxnMarker: COMMIT coordinatorEpoch: 9\n")
    assert text.count(" isValid: true crc: ") == 3


ODD = st.sampled_from([-(2**31), 2**31 - 1, -1, 0, 1]) | st.integers(-(2**31), 2**31 - 1)


@pytest.mark.parametrize("source", SOURCES)
@given(
    base=st.integers(-(2**63), 2**63 - 1), delta=ODD, sequence=ODD, attributes=st.integers(0, 7), valid=st.booleans()
)
def test_a_damaged_header_is_shown_in_javas_arithmetic(source, base, delta, sequence, attributes, valid) -> None:
    """Sums that no int and no long holds, a codec that Kafka has not got."""
    last = wrap(base + delta, 64)
    batch = Batch(0, 61, 2, base, last, 0, 1, attributes, 5, 6, 7, 8, sequence, 9)
    room = np.empty(1 << 12, np.uint8)
    size, stop = SOURCES[source].dump_batches(rows_of(batch, is_valid=valid), 0, 1, room)
    reported = dict(re.findall(r"(\w+): (\S+)", room[:size].tobytes().decode()))
    assert stop == 1
    last_sequence = -1 if sequence == -1 else sequence_after(sequence, delta)
    assert (reported["baseOffset"], reported["lastOffset"]) == (str(base), str(last))
    assert (reported["baseSequence"], reported["lastSequence"]) == (str(sequence), str(last_sequence))
    assert reported["compresscodec"] == (CODECS[attributes] if attributes < len(CODECS) else f"unknown({attributes})")
    assert reported["isvalid"] == str(valid).lower()
