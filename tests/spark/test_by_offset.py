"""One unit of a diff: a window as lines and counts. The job's own test holds it against a model."""

from pathlib import Path

from kafkafs.spark.diff.by_offset import BelowStart, DiffUnit, compare
from kafkafs.spark.diff.sides import PartitionPair
from kafkafs.tables.locations import Location
from kafkafs.tables.offsets import TopicPartition
from tests.log.making import made, write_partition

NAME = TopicPartition("t", 0)


def pair(old: Path | None, new: Path | None, *, compacted: bool = False) -> PartitionPair:
    one, other = (None if each is None else Location(each, NAME) for each in (old, new))
    return PartitionPair(NAME, one, other, compacted)


def test_other_records_at_one_offset_are_two_lines_the_old_one_first(tmp_path):
    for name, size in (("old", 1), ("new", 2)):
        write_partition(tmp_path / name, {0: [made(0, [1, 2], size)]})
    for compacted in (False, True):
        unit = DiffUnit(pair(tmp_path / "old", tmp_path / "new", compacted=compacted), 0, 2, True, 1)
        found = compare(unit)
        totals = found.totals
        assert (totals.equal, totals.only_old, totals.only_new, totals.cleaned) == (0, 2, 2, 0)
        lines = b"".join(found.lines).splitlines()
        assert [line[:13] for line in lines] == [b'{"side":"old"', b'{"side":"new"'] * 2
        assert [b'"offset":0' in line for line in lines] == [True, True, False, False]


def test_a_partition_of_one_side_is_compared_with_an_empty_one(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1, 2])]})
    found = compare(DiffUnit(pair(None, tmp_path), 0, 2, True, 1))
    assert (found.totals.only_new, len(b"".join(found.lines).splitlines())) == (2, 2)


def test_records_below_the_higher_start_are_counted(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1, 2, 3])]})
    both = pair(tmp_path, tmp_path)
    assert compare(DiffUnit(both, 2, 3, False, 1, BelowStart(True, 0, 2))).totals.below_start == 2
