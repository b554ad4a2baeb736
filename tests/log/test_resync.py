"""Where a log takes up again behind invalid bytes, at whatever position the next batch begins."""

import random
import struct

import pytest

from kafkafs.format.batch import HEADER_SIZES, Batch, batch_at, is_plausible, parse_batch, walk
from kafkafs.log.large_batches import whole_batch
from kafkafs.log.resync import WINDOW, next_valid
from tests.format.golden import BATCHES
from tests.log.making import log_of, made, write_partition

BATCH = made(7, [1, 2, 3])


def opened(tmp_path, data: bytes):
    """A DataFile of these bytes."""
    directory = write_partition(tmp_path, {0: []})
    (directory / f"{0:020}.log").write_bytes(data)
    return log_of(tmp_path).segments[0].log()


@pytest.mark.parametrize("at", [1, 2, 3, 60, 61, 4096, 70_001, *range(WINDOW - 22, WINDOW + 6), 2 * WINDOW - 1])
def test_a_batch_is_found_at_any_position(tmp_path, at):
    """Regression: two positions at the end of each megabyte were not looked at, and their batch was lost."""
    noise = random.Random(at).randbytes(at - 1).translate(bytes(each | 0x80 for each in range(256)))
    data = b"\xff" + noise + BATCH.data + b"\xff" * 50
    file = opened(tmp_path, data)
    found = next_valid(file, 0, len(data), lambda batch: whole_batch(file, batch, len(data)))
    assert found is not None
    assert (found.position, found.base_offset) == (at, 7)


def test_a_batch_that_does_not_fit_before_the_end_is_none(tmp_path):
    for cut in (1, 20, len(BATCH.data) - 1):
        data = b"\xff" * 10 + BATCH.data[:-cut]
        file = opened(tmp_path, data)
        assert next_valid(file, 0, len(data), lambda batch: whole_batch(file, batch, len(data))) is None  # noqa: B023


def test_holes_are_skipped(tmp_path):
    """A preallocated segment is a gigabyte of nothing: looking through it must cost nothing."""
    directory = write_partition(tmp_path, {0: [BATCH]})
    path = directory / f"{0:020}.log"
    with open(path, "r+b") as file:
        file.truncate(1 << 40)
    log = log_of(tmp_path)
    assert log.end_offset == 10
    assert log.tail is not None
    assert log.tail.position == len(BATCH.data)


def test_a_log_that_is_cut_meanwhile_has_no_more(tmp_path):
    """Regression: "bug in follow", where a window was empty by the time it was read."""
    file = opened(tmp_path, b"\0" * 300 + b"\1" * 1000)
    assert next_valid(file, 1_500, 5_000, lambda _: True) is None
    assert next_valid(file, 1_299, 5_000, lambda _: True) is None


def test_random_bytes_are_hardly_ever_taken_for_a_batch(tmp_path):
    """Regression: for a hundred lost megabytes gigabytes were read, to check headers that nobody wrote."""
    data = random.Random(1).randbytes(12 << 20)
    file = opened(tmp_path, data)
    checked = []

    def accept(batch: Batch) -> bool:
        """None of them."""
        checked.append(batch.size)
        return False

    assert next_valid(file, 0, len(data), accept) is None
    assert sum(checked) < len(data)


@pytest.mark.parametrize("magic", [0, 1])
def test_a_message_is_plausible_by_the_size_of_its_key(magic):
    """The smallest one there is, and one whose key would not fit."""
    header = HEADER_SIZES[magic]
    smallest = struct.pack(">qiIBb", 7, header + 8 - 12, 0, magic, 0) + bytes(8 * magic) + b"\xff" * 8
    batch = parse_batch(smallest, 0, 0)
    assert batch is not None
    assert is_plausible(batch, smallest, 0)
    assert not is_plausible(batch, smallest[:header] + struct.pack(">i", 1) + smallest[header + 4 :], 0)


@pytest.mark.parametrize("name", BATCHES)
def test_kafkas_own_batches_are_plausible(name):
    """A true one that is passed over would be lost behind damage."""
    data = BATCHES[name][0]
    for batch in (batch_at(walk(data, 0).rows, row) for row in range(len(walk(data, 0).rows))):
        assert is_plausible(batch, data, batch.position)
