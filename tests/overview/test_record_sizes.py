"""The bytes of each record, and of its headers, held against a reader that goes byte by byte."""

import gzip

import numpy as np
import pytest
import zstandard

from kafkafs.format.batch import walk
from kafkafs.format.records import PIECE, Records, decode
from kafkafs.log.read_options import ReadOptions
from kafkafs.overview.contents import RecordSizes, header_bytes
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.overview.slow_records import slow_records

OPTIONS = ReadOptions()
LARGE = {"none": 90, "gzip": PIECE + 9, "zstd": 90}
"""Records of a batch: one of them has several pieces."""

HEADERS: tuple[tuple[tuple[bytes, bytes | None], ...], ...] = (
    (), ((b"h", b"x"),), ((b"n", None), (b"longer name", b"." * 200), (b"", b"")), ((b"e", b"y" * 70),) * 300,
)  # fmt: skip
HOW = {
    "none": {}, "gzip": {"codec": 1, "compress": gzip.compress},
    "zstd": {"codec": 4, "compress": zstandard.ZstdCompressor().compress},
}  # fmt: skip


def batch(base, count, **how):
    records = [
        Record(base + number, 1000 + number * 7, 0, None if number % 3 == 0 else b"k" * number,
               None if number % 5 == 0 else b"v" * (number % 140), HEADERS[number % 4 if number < 40 else 0])
        for number in range(count)
    ]  # fmt: skip
    return v2_batch(records, **how)


def measured(data, position=0):
    rows = walk(data, position).rows
    sizes, found, headers = RecordSizes(rows, position), [], []
    for piece in decode(data, position, rows, OPTIONS.max_batch, OPTIONS.memory):
        assert isinstance(piece, Records)
        found.append(sizes.of(piece))
        headers.append(header_bytes(piece))
    return np.concatenate(found).tolist(), np.concatenate(headers).tolist()


@pytest.mark.parametrize("codec", HOW)
def test_a_record_has_the_size_that_it_has(codec):
    plain = [batch(0, 50), batch(50, 1), batch(51, 30), batch(90, LARGE[codec])]
    reported = [slow_records(data) for data in plain]
    how = HOW[codec]
    packed = [batch(0, 50, **how), batch(50, 1, **how), batch(51, 30), batch(90, LARGE[codec], **how)]
    sizes, headers = measured(b"".join(packed), 0)
    expected = [record for records in reported for record in records]
    assert sizes == [record.size for record in expected]
    assert headers == [record.headers for record in expected]
