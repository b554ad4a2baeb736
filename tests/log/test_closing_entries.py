"""Times proved by indexes: the logs that a lookup by time opens, and the same answers as a look at every record."""

import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkafs.log.closing_entries import proven_largest
from kafkafs.log.segment_files import SegmentFiles
from tests.log.making import Made, log_of, made, spread, write_partition
from tests.log.reading import lookup_of

PER_SEGMENT = 5
Damage = Callable[[Path, random.Random], None]


def rising(count: int) -> list[Made]:
    return [made(number * 2, [1000 + number * 10, 1005 + number * 10]) for number in range(count)]


def naive(batches: list[Made], time: int) -> int | None:
    return next((each.offset for batch in batches for each in batch.records if each.timestamp >= time), None)


def logs(opened: list[tuple[SegmentFiles, str]]) -> set[int]:
    """Base offsets of the segments whose logs were opened."""
    return {files.base_offset for files, kind in opened if kind == "log"}


def test_a_lookup_by_time_leaves_the_logs_in_front_closed(tmp_path, calls):
    """Regression: it opened the log of each segment in front of the time, and a plan did so for each partition."""
    batches = rising(60 * PER_SEGMENT)
    write_partition(tmp_path, spread(batches, PER_SEGMENT))
    opened = calls(SegmentFiles, "open")
    for number in (0, 7, 150, 299):
        lookup = lookup_of(log_of(tmp_path))
        opened.clear()
        assert lookup.offset_of_broker(1001 + number * 10) == number * 2 + 1
        assert len(logs(opened)) <= 3, number


def test_a_time_behind_all_leaves_the_logs_closed(tmp_path, calls):
    batches = rising(30 * PER_SEGMENT)
    write_partition(tmp_path, spread(batches, PER_SEGMENT))
    lookup = lookup_of(log_of(tmp_path))
    opened = calls(SegmentFiles, "open")
    assert lookup.offset_of_broker(10**12) is None
    assert len(logs(opened)) <= 2


def test_an_index_without_its_last_entry_proves_nothing(tmp_path):
    """Neither one that lost the entry of the closing, nor one whose last batch came with an offset index entry."""
    for name, times in (("a-0", [10, 20, 30, 40, 50]), ("b-0", [10, 20, 50, 40, 30])):
        batches = [made(number, [time]) for number, time in enumerate(times)] + [made(5, [60])]
        directory = write_partition(tmp_path, spread(batches, PER_SEGMENT), name)
        index = directory / f"{0:020}.timeindex"
        whole = index.read_bytes()
        assert proven_largest(log_of(tmp_path, name).segments[0]) == (50 if name == "a-0" else None)
        for left in range(len(whole)):
            index.write_bytes(whole[:left])
            assert proven_largest(log_of(tmp_path, name).segments[0]) is None


def cut_entries(index: Path, chance: random.Random) -> None:
    data = index.read_bytes()
    index.write_bytes(data[: -12 * chance.randint(1, 3)])


def cut_bytes(index: Path, chance: random.Random) -> None:
    data = index.read_bytes()
    index.write_bytes(data[: chance.randrange(len(data))])


def pad(index: Path, chance: random.Random) -> None:
    index.write_bytes(index.read_bytes() + bytes(12 * chance.randint(1, 9)))


def blank(index: Path, chance: random.Random) -> None:
    index.write_bytes(bytes(index.stat().st_size))


def lose(index: Path, chance: random.Random) -> None:
    index.unlink()


def empty(index: Path, chance: random.Random) -> None:
    index.write_bytes(b"")


def raise_last(index: Path, chance: random.Random) -> None:
    data = index.read_bytes()
    index.write_bytes(data[:-12] + struct.pack(">q", 2**62) + data[-4:])


def lower_last(index: Path, chance: random.Random) -> None:
    """The last time is any that is later than the one in front of it."""
    data = index.read_bytes()
    time, before = (struct.unpack_from(">q", data, len(data) - at)[0] for at in (12, 24))
    index.write_bytes(data[:-12] + struct.pack(">q", chance.randint(before, time)) + data[-4:])


DAMAGES: tuple[Damage, ...] = (cut_entries, cut_bytes, pad, blank, lose, empty, raise_last)


def falling(chance: random.Random) -> list[Made]:
    """Times that fall, equal ones, and one far ahead now and then."""
    found = []
    for number in range(12 * PER_SEGMENT):
        times = [number * chance.choice((0, 5, 10)) + chance.randint(0, 60) for _ in range(2)]
        found.append(made(number * 2, [10**6 + times[0] if chance.random() < 0.02 else times[0], times[1]]))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_no_damaged_index_changes_the_answer_for_a_time(tmp_path, seed):
    chance = random.Random(seed)
    is_rising = seed % 3 == 0
    batches = rising(12 * PER_SEGMENT) if is_rising else falling(chance)
    directory = write_partition(tmp_path, spread(batches, PER_SEGMENT))
    lied = False
    for index in sorted(directory.glob("*.timeindex")):
        damage = chance.choice((*DAMAGES, lower_last) if is_rising and not lied else DAMAGES)
        lied = damage is lower_last  # two false times side by side can hide an answer
        kind = chance.random()
        if kind < 0.5:
            damage(index, chance)
        elif kind < 0.7:
            chance.choice((lose, empty, blank, pad))(index.with_suffix(".index"), chance)
    lookup = lookup_of(log_of(tmp_path))
    wanted = {each.timestamp + chance.choice((0, 1)) for batch in batches for each in batch.records}
    for time in chance.sample(sorted(wanted), 20):
        assert lookup_of(log_of(tmp_path)).offset_of_broker(time) == naive(batches, time), time
        assert lookup.offset_of_broker(time) == naive(batches, time), time
