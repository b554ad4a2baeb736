"""Processes that search side by side: order, limits, and no bytes in common."""

from collections import Counter

import pytest

from kafkafs.format.buffers import Buffers
from kafkafs.format.jsonl import JsonLines
from kafkafs.search.grep import Window, units
from kafkafs.search.pattern import Pattern
from kafkafs.search.selection import Selection
from kafkafs.search.side_by_side import Done, Found, search
from tests.log.making import made, partition_of, spread, write_partition


@pytest.fixture
def every(tmp_path, monkeypatch):
    monkeypatch.setattr("kafkafs.search.grep._FIRST_UNIT_BYTES", 20_000)
    monkeypatch.setattr("kafkafs.search.grep.UNIT_BYTES", 20_000)
    batches = [made(number * 5, [number] * 5, size=200) for number in range(400)]
    for name in ("t-0", "t-1"):
        write_partition(tmp_path, spread(batches, 200), name)
    return [unit for name in ("t-0", "t-1") for unit in units(partition_of(tmp_path, name), Window())]


@pytest.mark.parametrize("processes", [1, 2, 5])
def test_each_partition_comes_in_order(every, processes):
    """However many processes take part; they were forked from one that has read with the same buffers."""
    assert len(every) > 20
    events = list(
        search(every, Selection(Pattern("v")), lambda name: JsonLines("t", int(name[-1])), lambda _: False, processes)
    )
    for name in ("t-0", "t-1"):
        lines = b"".join(each.lines for each in events if isinstance(each, Found) and each.partition == name)
        assert [int(line.split(b'"offset":')[1].split(b",")[0]) for line in lines.splitlines()] == list(range(2000))
    assert sum(each.size for each in events if isinstance(each, Done)) == sum(unit.size for unit in every)


def test_a_partition_that_is_over_is_left(every):
    found: Counter[str] = Counter()
    done = 0
    for event in search(every, Selection(Pattern("v")), None, lambda name: found[name] > 0, 2):
        if isinstance(event, Found):
            found[event.partition] += event.records
        done += isinstance(event, Done)
    assert set(found) == {"t-0", "t-1"}
    assert done < len(every)


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
