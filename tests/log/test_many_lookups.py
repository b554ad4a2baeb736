"""Many lookups at once, against single ones, against a broker's ListOffsets, and against a scan."""

import random

import numpy as np
import pytest

from kafkafs.errors import KafkafsError, NotFound
from kafkafs.format.records import Refusal
from kafkafs.log.batch_runs import Damage
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.log import Log
from kafkafs.log.look import Reader
from kafkafs.log.many_lookups import first_timestamps, offsets_after
from kafkafs.log.outcomes import OpenTransactions
from kafkafs.log.read_options import ISOLATIONS, ReadOptions
from tests.counting import logs_opened
from tests.kafka.dataset import Dataset
from tests.log.making import made, write_partition

STOPPED = Dataset("4.3.1", "stopped")
OLD = Dataset("2.8.0", "stopped")
SPLIT = ("deleted-late",)


def readers(dataset, isolation="read_uncommitted"):
    directory = open_data_directory(dataset.path)
    for name in dataset.partitions(internal=True):
        partition = directory.partition(name.directory)
        options = ReadOptions(isolation=isolation)
        yield name, Reader(partition.log(), options, partition.transactions)


def singly(reader, offset):
    try:
        return reader.lookup.first(max(offset, reader.log.start_offset)).timestamp
    except NotFound:
        return None
    except KafkafsError:
        return "unreadable"


@pytest.mark.parametrize("dataset", [STOPPED, OLD], ids=["4.3.1", "2.8.0"])
@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_timestamps_are_those_of_single_lookups(dataset, isolation):
    chance = random.Random(4)
    for name, reader in readers(dataset, isolation):
        every = range(max(0, reader.log.start_offset - 2), reader.log.end_offset + 2)
        offsets = sorted(chance.sample(every, min(len(every), chance.choice((5, 60)))))
        found = first_timestamps(reader.lookup, offsets)
        assert {each: found.get(each, "unreadable") for each in offsets} == {
            each: singly(reader, each) for each in offsets
        }, name


def test_a_walk_goes_on_to_the_next_offset_if_it_is_near(tmp_path, calls):
    """Thousands of groups of a topic: a lookup by the index for each of their offsets takes most of the time."""
    batches = [made(base, range(base, base + 4), 50 if base < 2000 else 5000) for base in range(0, 4000, 4)]
    write_partition(tmp_path, {0: batches})
    reader = Reader(open_data_directory(tmp_path).partition("t-0").log(), ReadOptions(), OpenTransactions())
    walks = calls(reader.lookup.visible, "batches")
    near, far = list(range(1, 2000, 40)), [3000, 3900]
    assert first_timestamps(reader.lookup, near + far) == {each: each for each in near + far}
    assert [start for start, _ in walks] == [1, 3000, 3900]


@pytest.mark.parametrize("dataset", [STOPPED, OLD], ids=["4.3.1", "2.8.0"])
def test_offsets_by_time_are_those_that_a_broker_answers(dataset):
    """ListOffsets asks for the first record at or after a time; this, for the first one later than the one before."""
    checked = 0
    for name, reader in readers(dataset):
        reported = dataset.list_offsets(*name) or {}
        found = offsets_after(reader.lookup, [asked - 1 for asked in reported])
        for asked, answer in reported.items():
            if name.topic in SPLIT:
                continue
            expected = reader.log.end_offset if answer.offset < 0 else answer.offset
            assert found[asked - 1] == expected, (name, asked)
            checked += 1
    assert checked > 1000


def scanned(log: Log, time: int) -> int:
    """The same by reading all."""
    for segment, item in log.walk(log.start_offset, log.end_offset):
        if isinstance(item, Damage):
            continue
        reader = Reader(log, ReadOptions(), OpenTransactions())
        for piece in reader.decoded(segment, item):
            assert not isinstance(piece, Refusal)
            later = (piece.rows["timestamp"] > time) & (piece.rows["offset"] >= log.start_offset)
            if later.any():
                return int(piece.rows["offset"][later.argmax()])
    return log.end_offset


def test_times_in_disorder_over_several_segments(tmp_path):
    chance = random.Random(7)
    for round_ in range(12):
        times = [chance.randrange(1000, 1400) for _ in range(240)]
        batches = [made(2 * number, times[2 * number : 2 * number + 2], size=40) for number in range(120)]
        borders = sorted({0, *chance.sample(range(1, 120), 3)})
        parts = {2 * low: batches[low:high] for low, high in zip(borders, [*borders[1:], 120], strict=True)}
        place = write_partition(tmp_path / str(round_), parts)
        log = open_data_directory(place.parent).partition(place.name).log()
        asked = sorted(chance.sample(range(990, 1410), 60))
        found = offsets_after(Reader(log, ReadOptions(), OpenTransactions()).lookup, asked)
        assert found == {time: scanned(log, time) for time in asked}
        assert np.all(np.diff([found[time] for time in asked]) >= 0)


@pytest.mark.parametrize("segments", [6, 60])
def test_logs_in_front_of_a_time_are_not_opened(segments, tmp_path):
    """Regression: the largest timestamp of each segment in front was asked of its log."""
    parts = {
        4 * number: [made(offset, [1000 + offset]) for offset in range(4 * number, 4 * number + 4)]
        for number in range(segments)
    }
    place = write_partition(tmp_path, parts)
    found = dict[int, int]()

    def ask() -> None:
        log = open_data_directory(place.parent).partition(place.name).log()
        times = (1000 + 4 * segments - 7, 2000)
        found.update(offsets_after(Reader(log, ReadOptions(), OpenTransactions()).lookup, times))

    assert logs_opened(ask) <= 3
    assert found == {1000 + 4 * segments - 7: 4 * segments - 6, 2000: 4 * segments}
