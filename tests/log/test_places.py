"""Points and ranges against one state of a log: what is absolute, what moves, what isolation touches."""

import random

import pytest

from kafkafs.errors import CorruptData, NotFound
from kafkafs.format.times import FromEnd
from kafkafs.log.places import Anchor, AtOffset, AtTime, BeforeTime, BetweenOffsets, BetweenTimes
from kafkafs.view.grammar import parse_offset_name
from tests.log import reading
from tests.log.making import log_of, made, spread, write_partition
from tests.log.reading import rows
from tests.log.transactional import data, marker


def look(path, **options):
    return reading.look(log_of(path), **options)


def point(name: str):
    query = parse_offset_name(name)
    assert query is not None
    assert isinstance(query.target, AtOffset)
    return query.target


def between(name: str):
    query = parse_offset_name(name)
    assert query is not None
    assert isinstance(query.target, BetweenOffsets)
    return query.target


@pytest.mark.parametrize(("isolation", "same"), [("read_uncommitted", True), ("read_committed", False)])
def test_a_look_makes_each_of_its_readers_once(transactional, isolation, same):
    """Each lookup of a raw time asks for one: under read_committed each made another, with options of its own."""
    asked = look(transactional, isolation=isolation)
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
        view = look(transactional, isolation=isolation)
        places = {name: point(name).batch(view)[1].base_offset for name in ("-1", "-5", "3", "latest", "earliest")}
        assert places == {"-1": 4, "-5": 0, "3": 3, "latest": latest, "earliest": 0}
        assert between("end..").offsets(view, isolated=True) == (5, None)
        assert between("latest..-1").offsets(view, isolated=False) == (latest, 4)


def test_a_point_on_what_is_hidden_leads_to_the_next_visible_record(transactional):
    """As it does for a consumer that seeks there."""
    uncommitted, committed = look(transactional), look(transactional, isolation="read_committed")
    assert [point(f"{offset}").record(uncommitted).offset for offset in range(5)] == [0, 2, 2, 4, 4]
    assert point("0").record(committed).offset == 0
    for hidden in ("1", "2", "3", "4"):
        with pytest.raises(NotFound):
            point(hidden).record(committed)
    assert point("1").batch(committed)[1].base_offset == 1


def test_a_raw_point_leads_to_a_record_of_the_batch_that_it_shows(tmp_path):
    """Its attribute `offset` named a record of another batch, or none, where isolation hides that batch's."""
    write_partition(tmp_path, {0: [data(0, 1), marker(1, 1, False), data(2, 1), marker(3, 1, True), data(4, 1)]})
    view = look(tmp_path, isolation="read_committed")
    assert [point(f"{offset}").leads_to(view) for offset in range(5)] == [0, 2, 2, 4, 4]
    time = AtTime(5)
    assert (time.batch(view)[1].base_offset, time.leads_to(view), time.record(view).offset) == (0, 0, 2)


def test_times_lead_to_visible_records_in_decoded_views_only(transactional):
    committed = look(transactional, isolation="read_committed")
    assert AtTime(5).batch(committed)[1].base_offset == 0
    assert BetweenTimes(0, 6).offsets(committed, isolated=True) == (0, 5)
    assert BetweenTimes(5, 6).offsets(committed, isolated=False) == (0, 5)
    with pytest.raises(NotFound):
        AtTime(6).record(committed)


def test_nothing_visible_leads_nowhere(tmp_path):
    write_partition(tmp_path, {0: [marker(0, 1, True)]})
    view = look(tmp_path)
    for name in ("earliest", "latest"):
        with pytest.raises(NotFound):
            point(name).batch(view)
    assert between("earliest..latest").offsets(view, isolated=True) == (1, 1)


def test_a_corrupt_batch_leads_nowhere_and_says_so(tmp_path):
    path = write_partition(tmp_path, {0: [made(0, [1, 2]), made(2, [3])]}) / f"{0:020}.log"
    damaged = bytearray(path.read_bytes())
    damaged[70] ^= 1
    path.write_bytes(damaged)
    view = look(tmp_path)
    assert point("1").leads_to(view) is None
    with pytest.raises(CorruptData):
        point("1").record(view)
    assert AtTime(1).leads_to(view) == 2


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize("seed", range(6))
def test_the_record_before_a_time_is_the_last_of_the_range_up_to_it(tmp_path, seed, isolation):
    """Timestamps out of order, segments, markers: against a plain reading of all records."""
    chance, batches, at = random.Random(seed), [], 0
    for _ in range(30):
        if chance.random() < 0.2:
            batches += [data(at, 1), marker(at + 1, 1, chance.random() < 0.5)]
            at += 2
            continue
        times = [chance.choice([-1, chance.randrange(1, 60)]) for _ in range(chance.randint(1, 5))]
        batches.append(made(at, times))
        at += len(times)
    write_partition(tmp_path, spread(batches, 7))
    view = look(tmp_path, isolation=isolation)
    shown = rows(view.visible.records(0))
    for time_ms in range(62):
        behind = next((number for number, row in enumerate(shown) if row.timestamp >= time_ms), len(shown))
        behind = 0 if time_ms == 0 else behind
        target = BeforeTime(time_ms)
        if not behind:
            with pytest.raises(NotFound):
                target.record(view)
            continue
        found, wanted = target.record(view), shown[behind - 1]
        assert (found.offset, bytes(found.record.value(0) or b"")) == (wanted.offset, wanted.value), time_ms
        between = BetweenTimes(0, time_ms).offsets(view, isolated=True)
        assert rows(view.visible.records(*between))[-1] == wanted
        plain, reported = look(tmp_path), list[str]()
        assert target.batch(plain, reported.append)[1] == target.batch(plain)[1]
        assert any("in front of it" in step for step in reported)


def test_the_end_of_a_log_is_its_newest_data(tmp_path):
    """Whatever the clock says, and whenever the marker of a transaction was written."""
    batches = [made(0, [100_000, 160_000]), made(2, [130_000])]
    write_partition(tmp_path, {0: batches, 3: [data(3, 1), marker(4, 1, True)]})
    view = look(tmp_path)
    for ago_s, offset in ((0, 1), (30, 1), (31, 1), (60, 0), (61, 0), (1_000_000, 0)):
        assert AtTime(FromEnd(1000 * ago_s)).record(view).offset == offset, ago_s
    assert BeforeTime(FromEnd(0)).record(view).offset == 0
    assert BetweenTimes(FromEnd(30_000), None).offsets(view, isolated=True) == (1, None)
    assert BetweenTimes(FromEnd(60_000), FromEnd(0)).offsets(view, isolated=True) == (0, 1)
    assert BetweenTimes(FromEnd(0), FromEnd(30_000)).offsets(view, isolated=True) == (1, 1)
    assert BetweenTimes(BeforeTime(FromEnd(0)), None).offsets(view, isolated=True) == (0, None)
    last = AtOffset(Anchor.LATEST)
    assert BetweenTimes(last, None).offsets(view, isolated=True) == (3, None)
    assert BetweenTimes(AtOffset(Anchor.EARLIEST), last).offsets(view, isolated=True) == (0, 3)
    assert last.record(view).offset == 3


def test_a_log_without_times_has_no_end_in_time(tmp_path):
    write_partition(tmp_path, {0: []})
    for target in (AtTime(FromEnd(0)), BeforeTime(5), BeforeTime(FromEnd(0)), AtOffset(Anchor.LATEST)):
        with pytest.raises(NotFound):
            target.record(look(tmp_path))
