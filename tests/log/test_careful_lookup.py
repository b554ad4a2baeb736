"""The careful way of a lookup: its answers against a list of records; who listens to its steps changes none of them.

That it answers as the quick way does: `test_quick_lookup.py`.
"""

from kafkafs.log.careful_lookup import CarefulLookup
from kafkafs.log.log import Log
from kafkafs.log.options import ISOLATIONS, ReadOptions
from kafkafs.log.transactions import OpenTransactions
from tests.log.making import log_of, made, spread, write_partition
from tests.log.reading import careful

BATCHES = [made(number * 4, [1000 + number * 10, 1005 + number * 10], size=300) for number in range(40)]
"""Two records each, with the offsets 4n and 4n + 1."""
RECORDS = [record for batch in BATCHES for record in batch.records]


def answers(lookup: CarefulLookup) -> list[object]:
    """What it says to every offset and time of `BATCHES`."""
    times = range(990, 1410, 3)
    records = [*map(lookup.first, range(158)), *map(lookup.first_at, times)]
    return [each and (each.offset, each.timestamp, each.batch) for each in records] + [*map(lookup.batch_at, times)]


def test_points_lead_to_the_first_record_at_or_behind_them(tmp_path):
    write_partition(tmp_path, spread(BATCHES, 15))
    lookup = careful(log_of(tmp_path))
    for offset in range(158):
        assert lookup.first(offset).offset == next(each.offset for each in RECORDS if each.offset >= offset)
    for time in range(990, 1410, 3):
        found = lookup.first_at(time)
        assert (found and found.offset) == next((each.offset for each in RECORDS if each.timestamp >= time), None)


def test_whoever_listens_changes_no_answer(tmp_path):
    write_partition(tmp_path, spread(BATCHES, 15))
    log = log_of(tmp_path)
    for isolation in ISOLATIONS:
        options, told = ReadOptions(isolation=isolation), list[str]()
        aloud = CarefulLookup(log, options, OpenTransactions(), told.append)
        assert answers(aloud) == answers(CarefulLookup(log, options, OpenTransactions()))
        assert told


def steps(log: Log, offset: int) -> list[str]:
    told: list[str] = []
    CarefulLookup(log, ReadOptions(), OpenTransactions(), told.append).locate(offset)
    return told


def test_the_steps_to_an_offset_name_the_segment_the_index_and_the_batch(tmp_path):
    write_partition(tmp_path, spread(BATCHES, 15))
    segment, index, batch = steps(log_of(tmp_path), 70)
    assert segment.startswith(f"segment {60:020}.log: the last one with a base offset at or below 70")
    assert index.startswith(f"offset index {60:020}.index: slot 1 of 14: offset 69 -> position")
    assert "to the batch 72..73 at position" in batch
