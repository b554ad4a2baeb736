"""Sound batches that hold more offsets than their headers state, against a consumer that reads from the start."""

import random
from pathlib import Path

import pytest

from kafkafs.errors import NotFound
from kafkafs.log.log import Log
from tests.log.making import log_of, partition_of, spread, write_partition, write_start
from tests.log.old_clients import batch, each_offset_once, log_of_old_clients
from tests.log.reading import Row, reader, rows

SEEDS = range(6)


def assert_each_offset_once(log: Log, truth: list[Row], chance: random.Random, *, exact: bool = True) -> None:
    """Ranges, points by offset and by time."""
    seen = reader(log)
    assert rows(seen.records(log.start_offset)) == truth
    assert seen.earliest() == truth[0].offset
    for _ in range(20):
        start, size = chance.randrange(seen.visible_end), chance.choice([1, 3, 10, 1000])
        wanted = [row for row in truth if start <= row.offset < start + size]
        assert rows(reader(log).records(start, start + size)) == wanted, (start, size)
    for offset in range(truth[0].offset, truth[-1].offset + 1):
        row = next(row for row in truth if row.offset >= offset)
        found = reader(log).lookup.first(offset)
        assert (found.offset, bytes(found.record.value(0) or b"")) == (row.offset, row.value), offset
    for time in range(1_000, truth[-1].timestamp + 1) if exact else ():
        by_time = next((row for row in truth if row.timestamp >= time), None)
        late = reader(log).lookup.first_at(time)
        assert (None if late is None else late.offset) == (None if by_time is None else by_time.offset), time


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_each_offset_comes_once_and_from_the_first_batch_that_has_it(tmp_path: Path, seed: int, indexed: bool) -> None:
    """Today's readers would lose the rest of such a batch, or the whole range: "Input/output error"."""
    chance = random.Random(seed)
    batches = log_of_old_clients(chance, 40)
    write_partition(tmp_path, spread(batches, 40), indexed=indexed)
    assert_each_offset_once(log_of(tmp_path), list(each_offset_once(batches)), chance)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_batch_that_reaches_into_the_next_segment(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    batches = log_of_old_clients(chance, 40)
    write_partition(tmp_path, spread(batches, 8))
    log = log_of(tmp_path)
    assert_each_offset_once(log, list(each_offset_once(batches)), chance)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_large_batch_that_reaches_over_many_small_ones(tmp_path: Path, seed: int) -> None:
    """Far behind it, where the index leads, no header tells of it any more."""
    chance = random.Random(seed)
    large = batch(400, range(400, 800), 0, last=400, packed=bool(seed % 2))
    small = [batch(401 + at, [401 + at], 1 + at, last=401 + at) for at in range(500)]
    batches = [large, *small]
    write_partition(tmp_path, {0: batches})
    assert_each_offset_once(log_of(tmp_path), list(each_offset_once(batches)), chance, exact=False)


@pytest.mark.parametrize("seed", SEEDS)
def test_compaction_has_left_fewer_records_than_the_header_has_offsets(tmp_path: Path, seed: int) -> None:
    """Then a header alone tells nothing: a record behind its last offset does."""
    chance = random.Random(seed)
    batches = log_of_old_clients(chance, 40, compacted=True)
    end = batches[-1].last + 1
    batches.append(batch(end, range(end, end + 9), 40, last=end + 8))  # the end of a log is never compacted
    write_partition(tmp_path, spread(batches, 41))
    log = log_of(tmp_path)
    assert rows(reader(log).records(0)) == list(each_offset_once(batches))


def test_a_batch_of_more_records_than_one_piece_has(tmp_path: Path) -> None:
    batches = [batch(40_000, range(40_000, 80_000), 0, last=40_000), batch(40_001, [40_001], 1, last=40_001)]
    write_partition(tmp_path, {0: batches})
    assert rows(reader(log_of(tmp_path)).records(0)) == list(each_offset_once(batches))


def test_below_the_log_start_nothing_claims_an_offset(tmp_path: Path) -> None:
    """A consumer that begins there never gets that batch, and the next one's records count."""
    batches = [batch(2, [2, 3, 4], 0, last=2), batch(4, [4, 5], 1, last=4), batch(5, [5], 2, last=5)]
    write_partition(tmp_path, {0: batches})
    write_start(tmp_path, 3)
    truth = list(each_offset_once(batches[1:]))
    assert rows(reader(log_of(tmp_path)).records(0)) == truth
    assert reader(log_of(tmp_path)).lookup.first(3).offset == 4


def test_what_the_last_batch_holds_behind_the_log_end(tmp_path: Path) -> None:
    """A consumer gets it; `latest` stays an offset that the log has."""
    batches = [batch(2, [2, 3, 4], 0, last=2)]
    write_partition(tmp_path, {0: batches})
    log = log_of(tmp_path)
    seen = reader(log)
    assert (log.end_offset, seen.visible_end, seen.latest()) == (3, 5, 2)
    assert [row.offset for row in rows(seen.records(0))] == [2, 3, 4]
    assert seen.lookup.first(4).offset == 4
    with pytest.raises(NotFound):
        seen.lookup.first(5)


def test_what_comes_later_is_held_against_what_is_known(tmp_path: Path) -> None:
    """A log that grows is not decoded anew from its start."""
    batches = log_of_old_clients(random.Random(5), 60)
    directory = write_partition(tmp_path, {0: batches[:30]}, indexed=False)
    partition = partition_of(tmp_path)
    found = rows(reader(partition.log()).records(0))
    for stop in range(31, 61):
        with (directory / "00000000000000000000.log").open("ab") as log:
            log.write(batches[stop - 1].data)
        partition.look_again()
        found += rows(reader(partition.log()).records(found[-1].offset + 1))
    assert found == list(each_offset_once(batches))


def test_problems_name_some_of_them(tmp_path: Path) -> None:
    batches = log_of_old_clients(random.Random(1), 40)
    write_partition(tmp_path, {0: batches})
    reported = reader(log_of(tmp_path)).overlap_problems()
    assert len(reported) == 6
    assert reported[-1].endswith("more batches do so")
    healthy = tmp_path / "healthy"
    write_partition(healthy, {0: [batch(0, [0, 1], 0, last=1)]})
    assert reader(log_of(healthy)).overlap_problems() == []


@pytest.mark.parametrize("behind", [1, 3, 10, 50, 400])
def test_one_old_batch_among_sound_ones_is_found_by_whoever_passes_it(tmp_path: Path, behind: int) -> None:
    """Nothing at the log's start tells of it: a point behind its stated last offset said "no such record", or gave the
    next batch's, until somebody had read the range."""
    sound = [batch(at, [at], at, last=at) for at in range(300)]
    lone = batch(300, range(300, 310), 300, last=300)
    more = [batch(at, [at], 1000 + at, last=at) for at in range(310, 310 + behind)]
    write_partition(tmp_path, {0: [*sound, lone, *more]})
    for offset in range(298, 310 + behind):
        assert reader(log_of(tmp_path)).lookup.first(offset).offset == offset
