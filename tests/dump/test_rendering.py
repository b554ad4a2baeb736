"""The kernels' buffers: texts of any length come out whole."""

import numpy as np
import pytest

from kafkafs.dump.dump_options import DumpOptions
from kafkafs.dump.rendering import ROOM, header_lines, record_lines
from kafkafs.format.batch import BATCH, walk
from kafkafs.format.records import Records, decode
from tests.format.batch_maker import v2_batch
from tests.format.golden import V2_NONE, Record

OPTIONS = DumpOptions(print_data_log=True)


def lines(data: bytes) -> list[bytes]:
    rows = walk(data, 0).rows
    pieces: list[bytes] = []
    for found in decode(data, 0, rows, 1 << 30):
        assert isinstance(found, Records)
        pieces += map(bytes, record_lines(rows, int(found.rows["batch"][0]), found, OPTIONS, lambda _: iter([])))
    return pieces


def test_more_lines_than_fit_come_in_several_pieces() -> None:
    """And each piece ends with a line."""
    pieces = list(map(bytes, header_lines(walk(V2_NONE * 6000, 0).rows, 0, 6000)))
    assert len(pieces) > 1
    assert all(len(piece) <= ROOM and piece.endswith(b"\n") for piece in pieces)
    assert b"".join(pieces).count(b"baseOffset: 100 ") == 6000


def test_no_batches_have_no_lines() -> None:
    """Nor an empty piece."""
    assert list(header_lines(np.empty(0, BATCH), 0, 0)) == []


@pytest.mark.parametrize("value", [b"x" * (2 * ROOM), b"\xff" * ROOM, "é".encode() * ROOM])
def test_a_line_longer_than_the_buffer_gets_one_of_its_size(value: bytes) -> None:
    """Values of 20 MB exist, and malformed text takes three times its size."""
    records = [
        Record(0, 5, 0, b"k", b"small"),
        Record(1, 6, 0, None, value, ((value, None),)),
        Record(2, 7, 0, None, b"end"),
    ]
    text = b"".join(lines(v2_batch(records)))
    shown = value.decode(errors="replace").encode()
    assert text.count(b"\n") == 4
    assert text.endswith(
        b"headerKeys: [" + shown + b"] payload: " + shown + b"\n"
        b"| offset: 2 CreateTime: 7 keySize: -1 valueSize: 3 sequence: -1 headerKeys: [] payload: end\n"
    )
