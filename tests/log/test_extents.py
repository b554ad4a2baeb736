"""The bytes of raw ranges: nothing between two ranges is lost, and nothing is handed on that was cut meanwhile."""

import os

import pytest

from kafkafs.errors import Vanished
from kafkafs.log.extents import Extent
from tests.log.making import log_of, made, spread, write_partition

BATCHES = [made(number * 3, [1000 + number] * 3) for number in range(8)]


def test_invalid_bytes_at_the_head_of_a_segment_are_in_its_range(tmp_path):
    """Also where they own no offset: all ranges together are the files."""
    segments = spread(BATCHES, 4)
    directory = write_partition(tmp_path, segments)
    for base in segments:
        path = directory / f"{base:020}.log"
        path.write_bytes(b"\xaa" * 59 + path.read_bytes())
    log = log_of(tmp_path)
    ends = [*list(segments)[1:], None]
    each = [
        (at.position, at.end) for base, end in zip(segments, ends, strict=True) for at in Extent.between(log, base, end)
    ]
    assert each == [(0, (directory / f"{base:020}.log").stat().st_size) for base in segments]
    assert each == [(at.position, at.end) for at in Extent.between(log, 0, None)]


def test_an_extent_that_was_cut_is_not_read(tmp_path):
    """Truncation in place: bytes of the old log and of the new one would stand side by side."""
    path = write_partition(tmp_path, {0: BATCHES}) / f"{0:020}.log"
    (extent,) = Extent.between(log_of(tmp_path), 0, None)
    assert extent.read(0, 10) == BATCHES[0].data[:10]
    os.truncate(path, extent.end - len(BATCHES[-1].data))
    with pytest.raises(Vanished):
        extent.read(0, 10)
