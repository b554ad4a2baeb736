"""`kafkafs reindex --keys`: a file for each closed segment, written once, and used by lookups."""

from pathlib import Path

from kafkafs.spark.reindex.keys import make_keys
from kafkafs.spark.segments import segments_of
from tests.log.making import partition_of, write_partition
from tests.log.reading import reader
from tests.search.test_key_building import indexed, segments
from tests.search.test_partition_keys import assert_like_a_dictionary


def test_each_closed_segment_gets_its_file_once(tmp_path: Path) -> None:
    """A second run writes nothing; a damaged file is made anew."""
    write_partition(tmp_path / "data", segments(5))
    units, target = segments_of([tmp_path / "data"]), tmp_path / "indexes"
    made = [found for unit in units if (found := make_keys(unit, target)) is not None]
    assert len(made) == 4
    assert all(each.written for each in made)
    assert [each.written for unit in units if (each := make_keys(unit, target)) is not None] == [0] * 4
    log = partition_of(tmp_path / "data").log()
    keys = indexed(log, target)
    assert_like_a_dictionary(keys, reader(log))
    assert keys._known[0].has_index
    (target / "t-0" / made[0].name).write_bytes(b"x")
    again = make_keys(units[0], target)
    assert again is not None
    assert again.written == made[0].written
