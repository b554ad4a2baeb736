"""Points and ranges against one state of a log: what is absolute, what moves, what isolation touches."""

import pytest

from kafkafs.errors import CorruptData, NotFound
from kafkafs.log.options import ReadOptions
from kafkafs.log.transactions import OpenTransactions
from kafkafs.search.key_memory import KeyMemory
from kafkafs.search.partition_keys import PartitionKeys
from kafkafs.view.grammar import OffsetPoint, OffsetRange, TimePoint, TimeRange, parse_offset_name
from kafkafs.view.targets import LogSnapshot, point_target, range_target
from tests.log.making import log_of, made, write_partition
from tests.log.transactional import data, marker


def snapshot(path, **options):
    return LogSnapshot(log_of(path), ReadOptions(**options), OpenTransactions(), PartitionKeys(KeyMemory()))


def point(name: str):
    query = parse_offset_name(name)
    assert query is not None
    assert isinstance(query.target, OffsetPoint)
    return point_target(query.target)


def between(name: str):
    query = parse_offset_name(name)
    assert query is not None
    assert isinstance(query.target, OffsetRange)
    return range_target(query.target)


@pytest.mark.parametrize(("isolation", "same"), [("read_uncommitted", True), ("read_committed", False)])
def test_a_snapshot_makes_each_of_its_readers_once(transactional, isolation, same):
    """Each lookup of a raw time asks for one: under read_committed each made another, with options of its own."""
    asked = snapshot(transactional, isolation=isolation)
    assert asked.uncommitted is asked.uncommitted
    assert asked.visible is asked.visible
    assert (asked.uncommitted is asked.visible) is same
    assert [record.rows["offset"][-1] for record in asked.uncommitted.records(4)] == [4]


@pytest.fixture
def transactional(tmp_path):
    """0 committed, 2 aborted, 4 open; markers at 1 and 3."""
    write_partition(tmp_path, {0: [data(0, 1), marker(1, 1, True), data(2, 1), marker(3, 1, False), data(4, 1)]})
    return tmp_path


def test_ends_count_from_the_log_end_on_disk_whatever_is_committed(transactional):
    """`-n` and `end` are places in the log; `latest` is a record that one may see."""
    for isolation, latest in (("read_uncommitted", 4), ("read_committed", 0)):
        view = snapshot(transactional, isolation=isolation)
        places = {name: point(name).batch(view)[1].base_offset for name in ("-1", "-5", "3", "latest", "earliest")}
        assert places == {"-1": 4, "-5": 0, "3": 3, "latest": latest, "earliest": 0}
        assert between("end..").offsets(view, isolated=True) == (5, None)
        assert between("latest..-1").offsets(view, isolated=False) == (latest, 4)


def test_a_point_on_what_is_hidden_leads_to_the_next_visible_record(transactional):
    """As it does for a consumer that seeks there."""
    uncommitted, committed = snapshot(transactional), snapshot(transactional, isolation="read_committed")
    assert [point(f"{offset}").record(uncommitted).offset for offset in range(5)] == [0, 2, 2, 4, 4]
    assert point("0").record(committed).offset == 0
    for hidden in ("1", "2", "3", "4"):
        with pytest.raises(NotFound):
            point(hidden).record(committed)
    assert point("1").batch(committed)[1].base_offset == 1


def test_a_raw_point_leads_to_a_record_of_the_batch_that_it_shows(tmp_path):
    """Its attribute `offset` named a record of another batch, or none, where isolation hides that batch's."""
    write_partition(tmp_path, {0: [data(0, 1), marker(1, 1, False), data(2, 1), marker(3, 1, True), data(4, 1)]})
    view = snapshot(tmp_path, isolation="read_committed")
    assert [point(f"{offset}").leads_to(view) for offset in range(5)] == [0, 2, 2, 4, 4]
    time = point_target(TimePoint(5))
    assert (time.batch(view)[1].base_offset, time.leads_to(view), time.record(view).offset) == (0, 0, 2)


def test_times_lead_to_visible_records_in_decoded_views_only(transactional):
    committed = snapshot(transactional, isolation="read_committed")
    assert point_target(TimePoint(5)).batch(committed)[1].base_offset == 0
    assert range_target(TimeRange(0, 6)).offsets(committed, isolated=True) == (0, 5)
    assert range_target(TimeRange(5, 6)).offsets(committed, isolated=False) == (0, 5)
    with pytest.raises(NotFound):
        point_target(TimePoint(6)).record(committed)


def test_nothing_visible_leads_nowhere(tmp_path):
    write_partition(tmp_path, {0: [marker(0, 1, True)]})
    view = snapshot(tmp_path)
    for name in ("earliest", "latest"):
        with pytest.raises(NotFound):
            point(name).batch(view)
    assert between("earliest..latest").offsets(view, isolated=True) == (1, 1)


def test_a_corrupt_batch_leads_nowhere_and_says_so(tmp_path):
    path = write_partition(tmp_path, {0: [made(0, [1, 2]), made(2, [3])]}) / f"{0:020}.log"
    damaged = bytearray(path.read_bytes())
    damaged[70] ^= 1
    path.write_bytes(damaged)
    view = snapshot(tmp_path)
    assert point("1").leads_to(view) is None
    with pytest.raises(CorruptData):
        point("1").record(view)
    assert point_target(TimePoint(1)).leads_to(view) == 2
