"""Pieces of a segment and batches that are written anew, put together."""

import pytest

from kafkafs.errors import DiskError
from kafkafs.format.batch import batch_bytes, walk
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.transaction_events import Tracker
from kafkafs.revive.kept_parts import KeptParts
from tests.log.making import made, write_partition


def batch(offset: int) -> bytes:
    return batch_bytes([(None, b"value")], offset, timestamp=1000, leader_epoch=0)


def run(position: int, *offsets: int) -> BatchRun:
    data = b"".join(map(batch, offsets))
    return BatchRun(data, position, walk(data, position).rows)


@pytest.fixture
def segment(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1000])]})
    return open_data_directory(tmp_path).partition("t-0").log().segments[0]


def test_what_stands_side_by_side_is_one_piece_and_what_is_made_stands_between(segment):
    size, parts = len(batch(0)), KeptParts(segment, 0, 1, Tracker())
    parts.add(run(0, 0, 1))
    parts.add(run(2 * size, 2))
    made = parts.make(batch(3))
    parts.add(run(4 * size, 4))
    assert parts.pieces == [(0, 3 * size), batch(3), (4 * size, size)]
    assert [int(each) for each in made.rows["position"]] == [3 * size]
    assert parts.finish().indexes.valid_end == 5 * size


def test_the_indexes_lead_to_where_batches_are_in_what_is_made(segment):
    size, parts = len(batch(0)), KeptParts(segment, 0, 1, Tracker())
    parts.add(run(0, 0))
    parts.add(run(3 * size, 3, 4))  # two were left out
    offsets = parts.finish().indexes.offset_index
    assert [offsets[at : at + 8] for at in (0, 8)] == [
        (3).to_bytes(4, "big") + size.to_bytes(4, "big"),
        (4).to_bytes(4, "big") + (2 * size).to_bytes(4, "big"),
    ]


def test_offsets_too_far_from_the_base_are_refused(segment):
    with pytest.raises(DiskError, match="too far"):
        KeptParts(segment, 0, 4096, Tracker()).add(run(0, 2**31))
