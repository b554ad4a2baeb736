"""A window of two logs, step by step: what is unpacked, and what damage takes out of the comparison."""

import random

import pytest

from kafkafs.format.differences import SAME
from kafkafs.log.look import Reader
from kafkafs.spark.diff.comparison import count_records, steps
from tests.log import reading
from tests.log.making import log_of, made, spread, write_partition
from tests.log.old_clients import batch as old_batch
from tests.spark.diff_model import random_sides, write


def reader(data) -> Reader:
    return reading.reader(log_of(data))


def compared(old, new, start=0, end=1 << 40):
    """The offsets that only the old and only the new side have, how many are equal, and the sentences."""
    reported: list[str] = []
    found = list(steps(old, new, start, end, reported.append))
    olds = [int(o) for each in found for o in each.old.rows["offset"][each.old_marks != SAME]]
    news = [int(o) for each in found for o in each.new.rows["offset"][each.new_marks != SAME]]
    return olds, news, sum(each.equal for each in found), reported


def damaged(data, number):
    """Flips a byte in the value of the batch's first record."""
    (log,) = (data / "t-0").glob("*.log")
    content = bytearray(log.read_bytes())
    size = len(content) // 4
    content[number * size + size - 3] ^= 1
    log.write_bytes(bytes(content))


def test_equal_batches_are_not_unpacked(tmp_path, monkeypatch):
    """Ten gigabytes of equal copies take as long as their headers and checksums."""
    for name in ("old", "new"):
        write_partition(tmp_path / name, spread([made(at, [1, 2, 3]) for at in range(0, 30, 3)], 4))
    old, new = reader(tmp_path / "old"), reader(tmp_path / "new")
    monkeypatch.setattr(Reader, "decoded", None)
    assert compared(old, new) == ([], [], 30, [])


@pytest.mark.parametrize("side", ["old", "new"])
def test_offsets_that_are_damaged_on_one_side_are_compared_on_neither(tmp_path, side):
    """Else a broken disk looks like lost records."""
    for name in ("old", "new"):
        write_partition(tmp_path / name, {0: [made(at, [1, 2, 3]) for at in range(0, 12, 3)]}, indexed=False)
    damaged(tmp_path / side, 1)
    olds, news, equal, reported = compared(reader(tmp_path / "old"), reader(tmp_path / "new"))
    assert (olds, news, equal) == ([], [], 9)
    assert len(reported) == 1
    assert "t-0" in reported[0]
    assert reported[0].endswith("its offsets are not compared")


def test_windows_together_are_the_whole(tmp_path):
    """Processes share a partition by its offsets."""
    chance = random.Random(3)
    sides = random_sides(chance, 40)
    old, new = (reader(write(tmp_path / name, side, chance)) for name, side in zip("ab", sides, strict=True))
    start = max(old.log.start_offset, new.log.start_offset)
    whole = compared(old, new, start)
    for cut in range(start, 46):
        first, second = compared(old, new, start, cut), compared(old, new, cut)
        assert (first[0] + second[0], first[1] + second[1], first[2] + second[2]) == whole[:3]


def test_each_offset_of_old_clients_counts_once(tmp_path):
    """Their batches claim fewer offsets than they hold, and overlap."""
    batches = [old_batch(2, [2, 3, 4], 0, last=2), old_batch(4, [4, 5], 1, last=4), old_batch(5, [5], 2, last=5)]
    write_partition(tmp_path / "old", {0: batches}, indexed=False)
    held = {each.offset: each for batch in reversed(batches) for each in batch.records}
    assert compared(reader(tmp_path / "old"), None) == (sorted(held), [], 0, [])
    assert compared(reader(tmp_path / "old"), reader(tmp_path / "old")) == ([], [], 4, [])
    assert count_records(reader(tmp_path / "old"), 0, 100, print) == 4


def test_records_are_counted_by_headers(tmp_path):
    batches = [made(at, [1, 2, 3]) for at in range(0, 12, 3)]
    write_partition(tmp_path, {0: batches})
    for start in range(13):
        assert count_records(reader(tmp_path), 1, start, print) == max(start - 1, 0)
