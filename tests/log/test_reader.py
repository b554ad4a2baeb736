"""Records, ends and times of every partition that real brokers wrote, against what Kafka's own consumer and
ListOffsets say."""

import random
from bisect import bisect_left

import pytest

from kafkafs.errors import CorruptData, NotFound
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.outcomes import OpenTransactions
from tests.log.making import log_of, made, write_partition
from tests.log.reading import reader, rows, wanted

SAMPLES = 12


@pytest.fixture(scope="module")
def partitions(dataset):
    """(topic and partition, its log) of one data set."""
    directory = open_data_directory(dataset.path)
    return [(each, directory.partition(each.directory).log()) for each in dataset.partitions()]


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_every_record_is_the_consumers(dataset, partitions, isolation):
    """Offsets, timestamps, keys and values, in order: nothing lost, nothing shown that a consumer does not see."""
    for (topic, number), log in partitions:
        truth = wanted(dataset.records(topic, number, isolation))
        view = reader(log, isolation=isolation)
        assert rows(view.records(0)) == truth, topic
        ends = (truth[0].offset, truth[-1].offset) if truth else (None, None)
        assert (view.earliest(), view.latest()) == ends, topic


def test_the_log_begins_and_ends_where_the_broker_says(dataset, partitions):
    for (topic, number), log in partitions:
        reported = dataset.offsets(topic, number)
        found = (log.start_offset, log.end_offset, OpenTransactions().last_stable_offset(log))
        assert found == (reported.earliest, reported.latest, reported.latest_committed), topic


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_points_and_ranges_are_slices_of_the_whole(dataset, partitions, isolation):
    """An offset that compaction removed leads to the next record; a range holds what lies in it."""
    for (topic, number), log in partitions:
        truth, chance = wanted(dataset.records(topic, number, isolation)), random.Random(topic)
        view, offsets = reader(log, isolation=isolation), [row.offset for row in truth]
        for _ in range(SAMPLES):
            start = chance.randint(log.start_offset - 1, log.end_offset + 1)
            end = start + chance.choice([0, 1, 2, 10, 100, 10_000])
            first, last = bisect_left(offsets, start), bisect_left(offsets, end)
            assert rows(view.records(start, end)) == truth[first:last], (topic, start, end)
            if first == len(truth) or not log.start_offset <= start:
                with pytest.raises(NotFound):
                    view.lookup.first(start)
            else:
                assert view.lookup.first(start).offset == offsets[first], (topic, start)


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_a_time_leads_to_the_first_record_at_or_after_it(dataset, partitions, isolation):
    """In offset order, over all segments, never to a marker or, under read_committed, to an aborted record, also where
    the log start cuts a batch; where ListOffsets looks far enough it says the same."""
    for (topic, number), log in partitions:
        truth, view = wanted(dataset.records(topic, number, isolation)), reader(log, isolation=isolation)
        reported = dataset.list_offsets(topic, number, isolation) or {}
        asked = {time: found for time, found in reported.items() if time >= 0}
        data = {row.offset: row.timestamp for row in truth}
        every = wanted(dataset.records(topic, number))
        times = {*asked, *(row.timestamp + more for row in every[:: max(1, len(every) // SAMPLES)] for more in (0, 1))}
        for time in random.Random(topic).sample(sorted(times), min(len(times), 3 * SAMPLES)):
            found = view.lookup.first_at(time)
            offset = next((row.offset for row in truth if row.timestamp >= time), None)
            assert (found and found.offset) == offset, (topic, time)
            if time in asked and asked[time].offset in data:
                assert asked[time].offset == offset, (topic, time)


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_a_time_leads_the_data_source_where_a_broker_would_lead(dataset, partitions, isolation):
    """To a marker and an aborted record, too. Behind a segment whose latest records were deleted the broker does not
    look: it answers that nothing is there."""
    for (topic, number), log in partitions:
        view = reader(log, isolation=isolation)
        for time, reported in (dataset.list_offsets(topic, number, isolation) or {}).items():
            if time >= 0 and (topic != "deleted-late" or reported.offset >= 0):
                found = view.lookup.offset_of_broker(time)
                assert found == (reported.offset if reported.offset >= 0 else None), (topic, time)


def test_damage_is_named_with_its_file(tmp_path):
    """A partition has thousands of segments, and in each that position."""
    directory = write_partition(tmp_path, {0: [made(0, [1])], 1: [made(1, [2]), made(2, [3])], 3: [made(3, [4])]})
    with (directory / f"{1:020}.log").open("r+b") as file:
        file.write(bytes(16))
    with pytest.raises(CorruptData, match=rf"^t-0: {1:020}\.log: [0-9]+ bytes at position 0 are not a valid batch$"):
        list(reader(log_of(tmp_path)).records(0))
