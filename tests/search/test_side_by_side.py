"""Processes that search side by side: order, limits, and no bytes in common."""

import multiprocessing
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs.disk.forked import ForkedProcess
from kafkafs.errors import Denied, Exhausted
from kafkafs.format.jsonl import JsonLines
from kafkafs.format.memory import Buffers
from kafkafs.format.records import Records
from kafkafs.log.places import Between
from kafkafs.log.segment import Segment
from kafkafs.search.results import Done, FoundLines, SearchTask, Trouble
from kafkafs.search.search_units import Searched, UnitSizes
from kafkafs.search.selection import Pattern, Selection
from kafkafs.search.side_by_side import search
from tests.log.making import made, partition_of, spread, write_partition
from tests.mounting import wait_until

SIZES = UnitSizes(20_000, 20_000)


@pytest.fixture
def partitions(tmp_path):
    batches = [made(number * 5, [number] * 5, size=200) for number in range(400)]
    for name in ("t-0", "t-1"):
        write_partition(tmp_path, spread(batches, 200), name)
    return {name: partition_of(tmp_path, name) for name in ("t-0", "t-1")}


@pytest.mark.parametrize(("processes", "ahead"), [(1, 64 << 20), (2, 64 << 20), (5, 64 << 20), (3, 0), (3, 5000)])
def test_each_partition_comes_in_order(partitions, processes, ahead):
    """However many processes take part; they were forked from one that has read with the same buffers."""
    every = [unit for partition in partitions.values() for unit in Searched(partition, Between(), SIZES).units()]
    assert len(every) > 20
    task = SearchTask(Selection(Pattern("v")), lines_of=lambda name, _: JsonLines("t", name.partition), sizes=SIZES)
    events = list(search(partitions, task, lambda _: False, processes, ahead))
    for name in ("t-0", "t-1"):
        lines = b"".join(each.lines for each in events if isinstance(each, FoundLines) and each.partition == name)
        assert [int(line.split(b'"offset":')[1].split(b",")[0]) for line in lines.splitlines()] == list(range(2000))
    assert sum(each.size for each in events if isinstance(each, Done)) == sum(unit.size for unit in every)


class _Slow:
    """Lines of a unit: of the first one only when the last one's are on their way, more than a pipe has room for."""

    def __init__(self, done: Path) -> None:
        self.done = done

    def pieces(self, records: Records, room: object = None) -> Iterator[memoryview]:
        first = int(records.rows["offset"][0])
        if first == 0:
            wait_until(self.done.exists)
        elif first >= 1000:
            self.done.touch()
        yield memoryview(b"%d\n" % first + b"x" * (1 << 20 if first else 0))


def test_a_process_that_is_ahead_goes_on(tmp_path):
    """What it finds is kept for its turn: `grep .` keeps all processors at work, not the one whose turn it is."""
    write_partition(tmp_path, spread([made(at * 100, [1] * 100) for at in range(11)], 1))
    partitions = {"t-0": partition_of(tmp_path)}
    task = SearchTask(
        Selection(Pattern("v")), lines_of=lambda *_: _Slow(tmp_path / "done"), sizes=UnitSizes(first=20_000)
    )
    events = list(search(partitions, task, lambda _: False, 2))
    assert [int(each.lines.split(b"\n")[0]) for each in events if isinstance(each, FoundLines)] == list(
        range(0, 1100, 100)
    )


class _Failing:
    """Lines for which there is no memory."""

    def pieces(self, records: Records, room: object = None) -> Iterator[memoryview]:
        raise MemoryError("none is left")


def test_what_a_process_ends_with_is_raised_and_no_traceback_is_printed(partitions, capfd):
    """Regression: a traceback, and "was killed", which it was not."""
    task = SearchTask(Selection(Pattern("v")), lines_of=lambda *_: _Failing())
    with pytest.raises(MemoryError, match="none is left"):
        list(search(partitions, task, lambda _: False, 2))
    assert capfd.readouterr().err == ""


def test_a_process_that_was_killed_while_it_had_nothing_to_do_is_an_error(partitions):
    """Regression: BrokenPipeError, by which `grep` ended as if its reader had left: without a word."""
    events = search(partitions, SearchTask(Selection(Pattern("v")), sizes=SIZES), lambda _: False, 1)
    assert isinstance(next(events), FoundLines)
    (process,) = multiprocessing.active_children()
    wait_until(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S")
    process.kill()
    process.join()
    with pytest.raises(Exhausted, match="was killed"):
        list(events)


def test_a_partition_that_is_over_is_left(partitions):
    """One process, so that none can be ahead by more than the one unit that is given out."""
    found: Counter[str] = Counter()
    done = 0
    for event in search(partitions, SearchTask(Selection(Pattern("v")), sizes=SIZES), lambda name: found[name] > 0, 1):
        if isinstance(event, FoundLines):
            found[event.partition] += event.records
        done += isinstance(event, Done)
    assert set(found) == {"t-0", "t-1"}
    assert done < 10


def test_no_more_than_asked_for_is_handed_over(partitions):
    """A unit ends where its partition has all that is wanted."""
    task = SearchTask(Selection(Pattern("v")), most=3)
    found = [each for each in search(partitions, task, lambda _: False, 2) if isinstance(each, FoundLines)]
    assert max(each.records for each in found) == 3


def test_what_cannot_be_cut_is_reported_and_the_rest_is_searched(partitions, monkeypatch):
    """A partition that vanishes, or that nobody may read."""

    def refuse(*_: object) -> None:
        raise Denied("not for you")

    monkeypatch.setattr(partitions["t-0"], "log", refuse)
    events = list(search(partitions, SearchTask(Selection(Pattern("v")), sizes=SIZES), lambda _: False, 2))
    assert [each for each in events if isinstance(each, Trouble)] == [Trouble("t-0", "t-0: not for you")]
    assert sum(each.records for each in events if isinstance(each, FoundLines)) == 2000


@pytest.mark.parametrize("processes", [1, 3])
def test_small_partitions_are_looked_at_together_and_the_large_ones_among_them_are_cut(
    partitions, tmp_path, calls, processes
):
    """Regression: of 100,000 small partitions each was looked at twice, and cost a job; nothing is lost among them."""
    for number in range(60):
        write_partition(tmp_path, {0: [made(0, [1] * (number % 3))] if number % 3 else []}, f"small-{number}")
    small = {f"small-{number}": partition_of(tmp_path, f"small-{number}") for number in range(60)}
    given = calls(ForkedProcess, "give")
    found = Counter[str]()
    for event in search(
        {**small, **partitions}, SearchTask(Selection(Pattern("v")), sizes=SIZES), lambda _: False, processes
    ):
        assert not isinstance(event, Trouble)
        found[event.partition] += event.records if isinstance(event, FoundLines) else 0
    wanted = {f"small-{number}": number % 3 for number in range(60)} | {"t-0": 2000, "t-1": 2000}
    assert +found == +Counter(wanted)
    looks = [task for _, task in given if isinstance(task, list)]
    assert sorted(name for names in looks for name in names) == sorted(wanted)
    assert len(looks) < 50
    assert {task[0] for _, task in given if isinstance(task, tuple)} == {"t-0", "t-1"}


@pytest.mark.parametrize(("window", "is_reported"), [
    (Between(), True), (Between(from_offset=1000), False), (Between(from_offset=500), True),
    (Between(to_time=-5), False),
    (Between(to_offset=0), False),
])  # fmt: skip
def test_a_log_that_may_not_be_read_is_reported(partitions, monkeypatch, window, is_reported):
    """It is a gap for a range; for who looks for something, not finding it there is no answer."""
    monkeypatch.setattr(Segment, "is_readable", lambda segment: segment.base_offset != 0)
    events = list(search(partitions, SearchTask(Selection(Pattern("v")), window), lambda _: False, 2))
    wanted = [Trouble(name, f"{name}: {0:020}.log may not be read") for name in ("t-0", "t-1")]
    reported = [each for each in events if isinstance(each, Trouble)]  # by two processes, in any order
    assert sorted(reported, key=str) == (wanted if is_reported else [])


def test_what_is_forked_shares_no_buffer():
    """Regression: buffers were shared memory, and two processes read into the same one."""
    import os

    buffer = Buffers(4096, keep=1).take()
    buffer[0] = 1
    child = os.fork()
    if not child:
        buffer[0] = 2
        os._exit(0)
    os.waitpid(child, 0)
    assert buffer[0] == 1
