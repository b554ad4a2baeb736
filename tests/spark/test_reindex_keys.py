"""`kafkafs reindex --keys`: a file for each closed segment, written once, and used by lookups."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafkafs.spark.reindex_keys import make_keys, reindex_keys
from kafkafs.spark.segment_units import segments_of
from tests.log.making import partition_of, write_partition
from tests.log.reading import reader
from tests.search.test_key_indexes import indexed, segments
from tests.search.test_partition_keys import assert_like_a_dictionary, batch


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
    assert keys.known[0].has_index
    (target / "t-0" / made[0].name).write_bytes(b"x")
    again = make_keys(units[0], target)
    assert again is not None
    assert again.written == made[0].written


def _flipped(position: int) -> Callable[[Path], object]:
    def flip(file: Path) -> None:
        data = bytearray(file.read_bytes())
        data[position] ^= 1
        file.write_bytes(data)

    return flip


def _in_its_place(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def replace(file: Path) -> None:
        file.unlink()
        make(file)

    return replace


@pytest.mark.parametrize("damage", [
    _flipped(0), _flipped(4096), _flipped(-1),
    _in_its_place(os.mkfifo), _in_its_place(lambda file: file.symlink_to("/dev/zero")),
], ids=["header", "page", "fence", "fifo", "link"])  # fmt: skip
def test_what_lookups_cannot_use_is_made_again(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    """Wherever it is damaged: a page that was left would cost a scan at each mount. A FIFO has nobody wait."""
    write_partition(tmp_path / "data", segments(2))
    unit, target = segments_of([tmp_path / "data"])[0], tmp_path / "indexes"
    first = make_keys(unit, target)
    assert first is not None
    place = target / "t-0" / first.name
    damage(place)
    again = make_keys(unit, target)
    assert again == first
    assert not place.is_symlink()
    assert place.stat().st_size == first.written


def names(place: Path) -> dict[str, int]:
    """What is in a partition's directory, and when it was written."""
    return {file.name: file.stat().st_mtime_ns for file in (place / "t-0").iterdir()}


def test_a_second_run_adds_what_is_new_and_replaces_what_was_compacted(spark: SparkSession, tmp_path: Path) -> None:
    """A nightly job writes a day's indexes, not a year's; and lookups use each of them."""
    data, target = tmp_path / "data", tmp_path / "indexes"
    write_partition(data, segments(4))
    assert len([each for each in reindex_keys(spark, [data], target) if each.written]) == 3
    first = names(target)
    write_partition(data, segments(6))
    compacted = data / "t-0" / f"{300:020}.log"
    (data / "new").write_bytes(batch(300, [b"%d" % number for number in range(30)]).data)
    (data / "new").replace(compacted)
    for kind in ("index", "timeindex"):
        compacted.with_suffix(f".{kind}").unlink()
    made = reindex_keys(spark, [data], target)
    assert sorted(each.name[:20] for each in made if each.written) == [f"{base:020}" for base in (300, 900, 1200)]
    second = names(target)
    assert sorted(name[:20] for name in second) == [f"{base:020}" for base in range(0, 1500, 300)]
    same = first.keys() & second.keys()
    assert {name: first[name] for name in same} == {name: second[name] for name in same}
    assert len(same) == 2
    log = partition_of(data).log()
    keys = indexed(log, target)
    assert_like_a_dictionary(keys, reader(log))
    assert all(keys.known[base].has_index for base in range(0, 1500, 300))
    assert all(not each.written for each in reindex_keys(spark, [data], target))


def test_a_run_that_was_killed_is_continued(spark: SparkSession, tmp_path: Path) -> None:
    """What it had finished stands; what it had begun goes, unless another run may be at it right now."""
    data, target = tmp_path / "data", tmp_path / "indexes"
    write_partition(data, segments(4))
    (finished,) = [make_keys(unit, target) for unit in segments_of([data])][:1]
    assert finished is not None
    for file in (target / "t-0").iterdir():
        if file.name != finished.name:
            file.rename(file.with_name(f"{file.name}.77.tmp"))
    left = sorted((target / "t-0").glob("*.tmp"))
    os.utime(left[0], (0, 0))
    made = reindex_keys(spark, [data], target)
    assert [each.written > 0 for each in sorted(made, key=lambda each: each.name)] == [False, True, True]
    assert sorted((target / "t-0").glob("*.tmp")) == left[1:]
    log = partition_of(data).log()
    assert_like_a_dictionary(indexed(log, target), reader(log))


Told = Callable[..., tuple[int, str]]


@pytest.fixture
def reindex_command(command: Callable[..., int], capsys) -> Told:
    """`kafkafs reindex --keys`: exit code, and what it says."""

    def run(data: Path, target: Path) -> tuple[int, str]:
        return command("reindex", "--keys", data, "--index-dir", target), capsys.readouterr().err

    return run


def test_a_person_learns_how_many_are_new(reindex_command: Told, tmp_path: Path) -> None:
    data, target = tmp_path / "data", tmp_path / "indexes"
    write_partition(data, segments(4))
    assert reindex_command(data, target) == (0, f"3 key indexes, 3 of them new, in {target}\n")
    write_partition(data, segments(5))
    assert reindex_command(data, target) == (0, f"4 key indexes, 1 of them new, in {target}\n")
    assert reindex_command(data, target) == (0, f"4 key indexes, 0 of them new, in {target}\n")


def test_what_is_of_another_topic_stays(reindex_command: Told, tmp_path: Path) -> None:
    """One index directory may serve several data directories: an absent partition is no reason to take its indexes."""
    data, target = tmp_path / "data", tmp_path / "indexes"
    for name in ("t-0", "u-0"):
        write_partition(data, segments(4), name)
    reindex_command(data, target)
    shutil.rmtree(data / "u-0")
    assert reindex_command(data, target)[1].startswith("3 key indexes, 0 of them new")
    assert len(list((target / "u-0").iterdir())) == 3


@pytest.mark.parametrize("place", ["data/indexes", "file", "/proc/kafkafs"])
def test_a_place_for_no_indexes_is_a_sentence(reindex_command: Told, tmp_path: Path, place) -> None:
    """Inside the data, where nothing is written; a file; where nobody may write."""
    write_partition(tmp_path / "data", segments(2))
    (tmp_path / "file").write_bytes(b"")
    code, reported = reindex_command(tmp_path / "data", tmp_path / place)
    assert (code, reported.count("\n")) == (2, 1)
    assert "the index directory" in reported


def test_an_index_that_cannot_be_written_is_a_sentence(reindex_command: Told, tmp_path: Path) -> None:
    """From within a task of Spark's; a full disk ends so, too. The next run goes on."""
    data, target = tmp_path / "data", tmp_path / "indexes"
    write_partition(data, segments(3))
    target.mkdir()
    (target / "t-0").write_bytes(b"in the way")
    code, reported = reindex_command(data, target)
    assert (code, reported.count("\n")) == (1, 1)
    assert "cannot be written" in reported
    (target / "t-0").unlink()
    assert reindex_command(data, target)[1].startswith("2 key indexes, 2 of them new")
