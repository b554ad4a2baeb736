"""Corrupt batches (design.md, section 3): whatever byte is wrong, one batch is lost, and its neighbours are not."""

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.disk.budget import Budget
from kafkafs.disk.data_file import DataFile
from kafkafs.disk.hints import Hints
from kafkafs.disk.prefetch import MEMORY, Prefetch
from kafkafs.errors import CorruptData
from kafkafs.format.bounded import BoundedDict
from kafkafs.log.batch_runs import LONGEST_READ, BatchRun, Damage, Start
from kafkafs.log.extents import Extent
from kafkafs.log.large_batches import SoundBatches
from tests.log.making import Made, log_of, made, spread, write_partition, write_start
from tests.log.reading import Row, reader, rows, rows_until_error

HEADER_SIZE = 61
EPOCH = range(12, 16)  # the only bytes of a batch that nothing checks
BATCHES = [made(number * 3, [1000 + number * 10 + at for at in range(3)], size=7 * number) for number in range(8)]

PREFETCH = Prefetch(Budget(MEMORY))


def wanted(batches: list[Made]) -> list[Row]:
    return [Row(*record[:2], *record[3:5]) for batch in batches for record in batch.records]


def places(batch: Made) -> list[int]:
    """Every byte of the header but those that nothing checks, and some of the records."""
    header = [at for at in range(HEADER_SIZE) if at not in EPOCH]
    return [*header, HEADER_SIZE, len(batch.data) // 2, len(batch.data) - 1]


def damaged_at(tmp_path, number: int, at: int, value: int):
    """The log of BATCHES in two segments, with byte `at` of one batch changed by `value`; the batch's position."""
    segments = spread(BATCHES, 4)
    directory = write_partition(tmp_path, segments)
    base = max(base for base in segments if base <= BATCHES[number].base)
    position = sum(len(batch.data) for batch in BATCHES[number // 4 * 4 : number])
    path = directory / f"{base:020}.log"
    data = bytearray(path.read_bytes())
    data[position + at] ^= value
    path.write_bytes(data)
    return log_of(tmp_path), position


@pytest.mark.parametrize("number", range(7))
def test_any_wrong_byte_costs_its_own_batch_and_no_other(tmp_path, number):
    """A flipped bit on disk must neither hide the records around it nor pass for data."""
    chance, batch = random.Random(number), BATCHES[number]
    for at in places(batch):
        log, position = damaged_at(tmp_path, number, at, 1 << chance.randrange(8))
        others = BATCHES[:number] + BATCHES[number + 1 :]
        assert rows(reader(log, corrupt_skip=True).records(0)) == wanted(others), at
        assert rows_until_error(reader(log).records(0)) == (wanted(BATCHES[:number]), CorruptData), at
        offset = chance.randint(batch.base, batch.last)
        with pytest.raises(CorruptData):
            reader(log).lookup.first(offset)
        assert reader(log, corrupt_skip=True).lookup.first(offset).offset == batch.last + 1
        assert log.locate(offset)[1] == Damage(position, len(batch.data), batch.base, batch.last), at
        late = reader(log).lookup.first_at(batch.records[1].timestamp)
        assert late is not None
        assert late.offset == batch.last + 1, at


@pytest.mark.parametrize("wanted_end", [0, 1, 450])
@pytest.mark.parametrize("first_read", [61, 300, 1000, LONGEST_READ])
def test_a_walk_finds_the_same_however_much_it_reads_first(tmp_path, first_read, wanted_end):
    """And wherever an index, which may lie, says that it will end."""
    chance = random.Random(first_read)
    for number in range(7):
        log, _ = damaged_at(tmp_path, number, chance.choice(places(BATCHES[number])), 1 << chance.randrange(8))
        for segment in log.visible_segments():
            usual, other = (
                found(segment.walk(start, log.walk_end(segment)))
                for start in (
                    Start(0, segment.base_offset),
                    Start(0, segment.base_offset, first_read=first_read, wanted_end=wanted_end),
                )
            )
            assert other == usual


def found(walk: Iterator[BatchRun | Damage]) -> list[int | Damage]:
    """The base offsets of batches, and damage between them, in however many runs they came."""
    lists = ([item] if isinstance(item, Damage) else item.rows["base_offset"].tolist() for item in walk)
    return [each for some in lists for each in some]


def test_a_wrong_byte_in_the_last_batch_is_the_end_of_the_log(tmp_path):
    """The broker is writing there: half a batch is no error. (Its base offset alone nothing can check.)"""
    for at in places(BATCHES[7])[8:]:
        log, _ = damaged_at(tmp_path, 7, at, 0x10)
        assert rows_until_error(reader(log).records(0)) == (wanted(BATCHES[:7]), None), at
        assert log.end_offset == BATCHES[7].base, at


def test_what_no_checksum_covers_changes_no_answer(tmp_path):
    for at in EPOCH:
        log, _ = damaged_at(tmp_path, 2, at, 0xFF)
        assert rows(reader(log).records(0)) == wanted(BATCHES)


@pytest.mark.parametrize("cut", [1, 12, 17, 60, 61, 100])
def test_a_closed_segment_cut_in_its_last_batch_is_corrupt_there(tmp_path, cut):
    """Offsets are missing between two segments: silence would be a lie."""
    segments = spread(BATCHES, 4)
    path = write_partition(tmp_path, segments) / f"{0:020}.log"
    path.write_bytes(path.read_bytes()[:-cut])
    log = log_of(tmp_path)
    assert rows_until_error(reader(log).records(0)) == (wanted(BATCHES[:3]), CorruptData)
    assert rows(reader(log, corrupt_skip=True).records(0)) == wanted(BATCHES[:3] + BATCHES[4:])
    for offset in range(9, 12):
        with pytest.raises(CorruptData):
            reader(log).lookup.first(offset)


@pytest.mark.parametrize("cut", [1, 12, 60, 61, 100])
def test_a_growing_segment_cut_in_its_last_batch_ends_before_it(tmp_path, cut):
    path = write_partition(tmp_path, spread(BATCHES, 4)) / f"{12:020}.log"
    path.write_bytes(path.read_bytes()[:-cut])
    log = log_of(tmp_path)
    assert rows_until_error(reader(log).records(0)) == (wanted(BATCHES[:7]), None)
    assert log.end_offset == BATCHES[7].base


@pytest.mark.parametrize("zeros", [1, 16, 17, 18, 61, 5000])
def test_zero_bytes_behind_the_last_batch(tmp_path, zeros):
    """Preallocation leaves them at the growing end; few of them at a closed one are what Kafka's reader ignores too."""
    directory = write_partition(tmp_path, spread(BATCHES, 4))
    for base in (0, 12):
        with open(directory / f"{base:020}.log", "ab") as file:
            file.write(bytes(zeros))
    log = log_of(tmp_path)
    assert log.end_offset == 24
    got = rows_until_error(reader(log).records(0))
    assert got == ((wanted(BATCHES), None) if zeros <= 17 else (wanted(BATCHES[:4]), CorruptData))
    assert rows(reader(log, corrupt_skip=True).records(0)) == wanted(BATCHES)
    raw = b"".join(
        bytes(each.read(each.position, each.end - each.position, PREFETCH)) for each in Extent.between(log, 0, None)
    )
    middle = bytes(zeros) if zeros > 17 else b""
    assert raw == b"".join(batch.data for batch in BATCHES[:4]) + middle + b"".join(b.data for b in BATCHES[4:])


def test_a_zeroed_batch_is_one_corrupt_batch(tmp_path):
    """What a lost page looks like."""
    segments = spread(BATCHES, 4)
    path = write_partition(tmp_path, segments) / f"{0:020}.log"
    first, second = len(BATCHES[0].data), len(BATCHES[1].data)
    path.write_bytes(BATCHES[0].data + bytes(second) + path.read_bytes()[first + second :])
    log = log_of(tmp_path)
    assert log.locate(4)[1] == Damage(first, second, 3, 5)
    assert rows(reader(log, corrupt_skip=True).records(0)) == wanted(BATCHES[:1] + BATCHES[2:])


def test_a_corrupt_batch_owns_the_gap_around_it(tmp_path):
    """After compaction nobody can say which of the missing offsets stood in the batch that is lost."""
    batches = [made(number * 10, [number]) for number in range(4)]
    path = write_partition(tmp_path, {0: batches}) / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[len(batches[0].data) + 30] ^= 1
    path.write_bytes(data)
    log = log_of(tmp_path)
    for offset in range(1, 20):
        with pytest.raises(CorruptData):
            reader(log).lookup.first(offset)
    assert reader(log).lookup.first(20).offset == 20


@pytest.mark.parametrize("copied", [[2], [3], [1, 2]], ids=str)
def test_of_a_batch_that_stands_there_twice_the_second_one_is_corrupt(tmp_path, copied):
    """It is the one whose offsets do not ascend: nothing that stands before it is held back."""
    segments = spread(BATCHES, 4)
    path = write_partition(tmp_path, segments) / f"{0:020}.log"
    before = sum(len(batch.data) for batch in BATCHES[: copied[-1] + 1])
    again = b"".join(BATCHES[number].data for number in copied)
    data = path.read_bytes()
    path.write_bytes(data[:before] + again + data[before:])
    log = log_of(tmp_path)
    assert rows_until_error(reader(log).records(0)) == (wanted(BATCHES[: copied[-1] + 1]), CorruptData)
    assert rows(reader(log, corrupt_skip=True).records(0)) == wanted(BATCHES)
    for offset in range(24):
        assert reader(log).lookup.first(offset).offset == offset


@given(data=st.data())
def test_ranges_beside_damage_answer_like_a_model(tmp_path_factory, data):
    """Damage in one batch must fail exactly those ranges that reach it, and after all that stands before it."""
    tmp_path = tmp_path_factory.mktemp("damage")
    number = data.draw(st.integers(0, 6))
    log, _ = damaged_at(tmp_path, number, data.draw(st.sampled_from(places(BATCHES[number]))), 0x04)
    start, end = data.draw(st.integers(0, 26)), data.draw(st.none() | st.integers(0, 26))
    stop = 24 if end is None else min(end, 24)
    bad = BATCHES[number]
    fails = start < stop and start <= bad.last and stop > bad.base
    want = [row for row in wanted(BATCHES) if start <= row.offset < stop and not (fails and row.offset >= bad.base)]
    assert rows_until_error(reader(log).records(start, end)) == (want, CorruptData if fails else None)


def test_damage_below_the_log_start_is_nobodys_affair(tmp_path):
    log, _ = damaged_at(tmp_path, 1, 40, 1)
    write_start(tmp_path, 6)
    log = log_of(tmp_path)
    assert rows_until_error(reader(log).records(0)) == (wanted(BATCHES[2:]), None)


@pytest.mark.parametrize("size", [20_000, 300_000, 850_000, 1_500_000])
def test_large_batches_are_read_once(tmp_path, calls, size):
    """What is read of a batch that is not whole is read again, from a disk perhaps: it costs a sixth at 850 KB."""
    batches = [made(number, [number], size=size) for number in range(12_000_000 // size)]
    log = log_of(write_partition(tmp_path, {0: batches}).parent)
    reads = calls(DataFile, "read_long")
    assert sum(len(records.rows) for records in reader(log).records(0)) == len(batches)
    assert sum(size for _, _, size in reads) < 1.05 * sum(len(batch.data) for batch in batches)


def test_a_batch_is_known_of_the_generation_that_it_was_found_sound_in():
    """Another state of the log has other bytes at the same place."""
    known: BoundedDict[int, None] = BoundedDict(10)
    SoundBatches(1, known).add(2**31 - 1)
    assert SoundBatches(1, known).has(2**31 - 1)
    assert not SoundBatches(2, known).has(2**31 - 1)
    assert not SoundBatches(1, known).has(0)


def test_however_many_are_passed_no_more_than_a_megabyte_is_remembered():
    """A mount stays as large as it is, however many terabytes are asked for."""
    known = Hints().sound_batches
    for position in range(40_000):
        SoundBatches(7, known).add(position)
        assert SoundBatches(7, known).has(position)
        assert len(known) <= 1 << 14
