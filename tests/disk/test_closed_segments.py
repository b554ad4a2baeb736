"""The quick look at closed segments believes nothing that is not as it was listed.

`tests/log/test_health.py` holds what it says against the closer look.
"""

import os

import pytest

from kafkafs.disk import page_cache
from kafkafs.disk.closed_segments import HEALTHY, IN_DOUBT, NO_TIMES, ClosedSegment, look_at_closed
from kafkafs.disk.directory import Directory
from kafkafs.errors import NotFound
from kafkafs.format.names import segment_file
from tests.disk.descriptors import descriptors
from tests.log.making import NAME, made, spread, write_partition

BATCHES = [made(number * 2, [1000 + number] * 2, size=300) for number in range(40)]
LARGE = [made(number, [1000 + number], size=100_000) for number in range(8)]
KINDS = ("log", "index", "timeindex")


def listed(data, base: int = 0, next_base: int = 40) -> ClosedSegment:
    abouts = [(data / NAME / segment_file(base, kind)).stat() for kind in KINDS]
    log, index, times = (about.st_ino for about in abouts)
    return ClosedSegment(base, next_base, log, index, times, abouts[0].st_size, abouts[0].st_mtime_ns)


def looked_at(data, *segments: ClosedSegment) -> list[tuple[int, int]]:
    return list(look_at_closed(Directory(str(data)), NAME, segments))


def test_a_segment_with_all_in_order_is_healthy(tmp_path):
    write_partition(tmp_path, spread(BATCHES, 20))
    assert looked_at(tmp_path, listed(tmp_path), listed(tmp_path, 40, 80)) == [(HEALTHY, 1019), (HEALTHY, 1039)]
    assert looked_at(tmp_path) == []


def test_answers_stand_in_the_order_of_the_questions(tmp_path):
    """Two threads look at many."""
    write_partition(tmp_path, spread(BATCHES, 20))
    one, other, bad = listed(tmp_path), listed(tmp_path, 40, 80), listed(tmp_path, next_base=39)
    asked = [other if number % 3 else bad if number % 7 == 0 else one for number in range(1500)]
    answers = {one: (HEALTHY, 1019), other: (HEALTHY, 1039), bad: (IN_DOUBT, 1019)}
    assert looked_at(tmp_path, *asked) == [answers[segment] for segment in asked]


def test_offsets_of_the_next_segment_are_in_doubt(tmp_path):
    write_partition(tmp_path, spread(BATCHES, 20))
    assert looked_at(tmp_path, listed(tmp_path, next_base=39))[0][0] == IN_DOUBT


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_was_replaced_since_it_was_listed_is_in_doubt(tmp_path, kind):
    """Compaction puts another in its place: what is said must be of one generation."""
    file = write_partition(tmp_path, spread(BATCHES, 20)) / segment_file(0, kind)
    segment = listed(tmp_path)
    (tmp_path / "other").write_bytes(file.read_bytes())
    os.utime(tmp_path / "other", ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    (tmp_path / "other").rename(file)
    assert looked_at(tmp_path, segment)[0][0] == IN_DOUBT
    file.unlink()
    assert looked_at(tmp_path, segment)[0][0] == IN_DOUBT
    os.symlink(segment_file(40, kind), file)
    assert looked_at(tmp_path, segment)[0][0] == IN_DOUBT


def test_a_log_that_was_written_since_it_was_listed_is_in_doubt(tmp_path):
    file = write_partition(tmp_path, spread(BATCHES, 20)) / segment_file(0, "log")
    segment = listed(tmp_path)
    os.utime(file, ns=(1, 1))
    assert looked_at(tmp_path, segment)[0][0] == IN_DOUBT


def test_an_empty_time_index_is_told_where_the_whole_log_was_read(tmp_path):
    file = write_partition(tmp_path, spread(BATCHES, 20)) / segment_file(0, "timeindex")
    file.write_bytes(b"")
    assert looked_at(tmp_path, listed(tmp_path)) == [(NO_TIMES, 1019)]


@pytest.mark.parametrize("dontcache", [True, False])
def test_long_reads_are_made_only_where_flags_keep_the_page_cache(tmp_path, monkeypatch, dontcache):
    """Elsewhere the closer look takes them, which asks `mincore` first."""
    write_partition(tmp_path, {0: LARGE, 8: BATCHES[4:]})
    root = Directory(str(tmp_path))
    monkeypatch.setattr(page_cache, "_takes", {tmp_path.stat().st_dev: dontcache})
    found = list(look_at_closed(root, NAME, [listed(tmp_path, next_base=8), listed(tmp_path, 8, 80)]))
    assert found == [(HEALTHY, 1007) if dontcache else (IN_DOUBT, 1007), (HEALTHY, 1039)]


def test_a_partition_that_is_gone_is_said_to_be(tmp_path):
    write_partition(tmp_path, spread(BATCHES, 20))
    segment = listed(tmp_path)
    (tmp_path / NAME).rename(tmp_path / "gone-0")
    with pytest.raises(NotFound):
        looked_at(tmp_path, segment)


def test_no_descriptor_stays_open(tmp_path):
    write_partition(tmp_path, spread(BATCHES, 20))
    (tmp_path / NAME / segment_file(40, "log")).write_bytes(b"")
    root, segments = Directory(str(tmp_path)), [listed(tmp_path), listed(tmp_path, 40, 80)]
    before = descriptors()
    list(look_at_closed(root, NAME, segments))
    assert descriptors() == before
