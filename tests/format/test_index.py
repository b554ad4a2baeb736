"""Index lookups against a sorted list, and how much of the file they read."""

import struct
from bisect import bisect_right
from itertools import starmap

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kafkafs.format.index import PAGE, IndexPages, OffsetIndex, OffsetPosition, Probe, TimeIndex, TimestampOffset, rises

WARM_BYTES = 8192
BASE = 1_000_000


class File:
    """A file in memory that counts the pages it was read from."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.pages: set[int] = set()
        self.reads = 0

    def read(self, position: int, size: int) -> bytes:
        self.reads += 1
        self.pages |= set(range(position // PAGE, (position + max(size, 1) - 1) // PAGE + 1))
        return self.data[position : position + size]


def offset_index(
    entries: list[tuple[int, int]], tail: bytes = b"", pages: IndexPages | None = None
) -> tuple[OffsetIndex, File]:
    file = File(b"".join(starmap(struct.Struct(">ii").pack, entries)) + tail)
    return OffsetIndex(file.read, len(file.data), BASE, pages=pages), file


def time_index(entries: list[tuple[int, int]], tail: bytes = b"") -> tuple[TimeIndex, File]:
    file = File(b"".join(starmap(struct.Struct(">qi").pack, entries)) + tail)
    return TimeIndex(file.read, len(file.data), BASE), file


rising = st.lists(st.integers(1, 2**31 - 1), unique=True, max_size=3000).map(sorted)
tails = st.sampled_from([b"", bytes(5), bytes(8), bytes(12), bytes(4096), bytes(100_001)])


@given(offsets=rising, tail=tails, data=st.data())
def test_an_offset_finds_its_floor(offsets, tail, data):
    """A lookup one slot too far starts the scan behind the batch; one too early costs time."""
    entries = [(offset, position * 7) for position, offset in enumerate(offsets, start=1)]
    index, _ = offset_index(entries, tail)
    assert index.entries == len(entries)
    assert index.is_padded == (len(tail) >= 8)
    probes = data.draw(st.lists(st.integers(0, 2**31), max_size=20))
    for target in [*probes, *offsets[:3], *offsets[-3:], *(offset - 1 for offset in offsets[-3:])]:
        slot = bisect_right(offsets, target) - 1
        want = (-1, BASE, 0) if slot < 0 else (slot, BASE + entries[slot][0], entries[slot][1])
        end = entries[slot + 2][1] if slot + 2 < len(entries) else 0
        assert index.lookup(BASE + target) == index.entry(slot) == OffsetPosition(*(*want, end))


@given(offsets=rising.filter(bool), data=st.data())
def test_each_look_is_reported_and_leads_there(offsets, data):
    """What `.explain` shows is the search that was made: each look in the range that the ones before left, the warm
    section before all else, and no more looks than a binary search takes."""
    entries = [(offset, position * 7) for position, offset in enumerate(offsets, start=1)]
    index, _ = offset_index(entries)
    target = data.draw(st.integers(0, 2**31) | st.sampled_from(offsets))
    probes: list[Probe] = []
    found = index.lookup(BASE + target, probes)
    assert found == index.lookup(BASE + target)
    assert len(probes) <= 2 + (len(offsets)).bit_length() + 9
    low, high = -1, len(offsets)  # what is known to be reached, and not to be
    for slot, fields, is_reached in probes:
        assert fields == entries[slot]
        assert is_reached == (fields[0] <= target)
        low, high = (max(low, slot), high) if is_reached else (low, min(high, slot))
    assert (low, high) == (found.slot, found.slot + 1)
    assert (len(offsets) - index.first_warm_slot) * 8 <= WARM_BYTES
    if found.slot >= index.first_warm_slot:
        assert all(slot >= index.first_warm_slot for slot, _, _ in probes)
    else:
        assert probes[0].slot >= index.first_warm_slot


@given(times=st.lists(st.integers(0, 2**62), unique=True, max_size=2000).map(sorted), tail=tails, data=st.data())
def test_a_time_finds_its_floor(times, tail, data):
    """The twelve-byte entries straddle pages; none may be read wrong for that."""
    assume(times or len(tail) != 12)  # one entry of zeros is an entry: test_time_index
    entries = [(time, number) for number, time in enumerate(times, start=1)]
    index, _ = time_index(entries, tail)
    assert index.entries == len(entries)
    for target in [*data.draw(st.lists(st.integers(0, 2**62), max_size=20)), *times[-3:]]:
        slot = bisect_right(times, target) - 1
        want = (-1, -1, BASE) if slot < 0 else (slot, times[slot], BASE + entries[slot][1])
        assert index.lookup(target) == TimestampOffset(*want)
    assert index.last().timestamp == (times[-1] if times else -1)
    for number in (1, len(times) // 2, len(times)):
        assert index.lookup_offset(BASE + number).slot == min(number, len(times)) - 1


@pytest.mark.parametrize("padding", [0, 10 << 20])
@pytest.mark.parametrize(("make", "size"), [(offset_index, 8), (time_index, 12)])
def test_a_warm_lookup_reads_two_pages_and_a_cold_one_a_logarithmic_number(make, size, padding):
    """The broker keeps the end of its index in memory; the rest is on a disk, where each page is a seek."""
    count = 500_000
    index, file = make([(number, number) for number in range(1, count + 1)], bytes(padding))
    assert index.entries == count
    file.pages.clear()
    warm = WARM_BYTES // size
    for target in range(count - warm + PAGE // size + 2, count + 10, 17):
        file.pages.clear()
        assert index.lookup(BASE + target if size == 8 else target).slot == min(target, count) - 1
        assert len(file.pages) <= 2, target
    pages = count * size // PAGE
    for target in range(1, count - warm, 4999):
        file.pages.clear()
        index.lookup(BASE + target if size == 8 else target)
        assert len(file.pages) <= 2 + pages.bit_length() + 1, target


@pytest.mark.parametrize("count", [0, 1, 2, 300, 512, 513, 1000, 99_999])
@pytest.mark.parametrize(("make", "size"), [(offset_index, 8), (time_index, 12)])
def test_the_end_of_a_preallocated_index_takes_few_reads(make, size, count):
    """A directory that was not stopped cleanly has two such indexes for each of its partitions."""
    index, file = make([(number, number) for number in range(1, count + 1)], bytes(10 << 20))
    assert index.entries == count
    assert file.reads <= 3 + (2 * (count * size // PAGE)).bit_length() * 2
    assert file.reads <= 3 or count * size >= PAGE - size


def test_a_lookup_reads_no_page_twice():
    index, file = time_index([(number, number) for number in range(1, 100_000)])
    assert index.entries == 99_999
    for target in (5, 40_000, 99_990):
        file.pages.clear()
        file.reads = 0
        index.lookup(target)
        assert file.reads <= len(file.pages) + 1  # entries of 12 bytes may straddle the last two


@pytest.mark.parametrize("cut", range(25))
def test_a_cut_entry_does_not_count(cut):
    """Beside a live broker the last entry may be half there."""
    file = File(b"".join(struct.pack(">qi", time, time) for time in (5, 6))[:cut])
    index = TimeIndex(file.read, cut, BASE)
    assert index.entries == cut // 12
    assert index.is_sound() == (cut % 12 == 0)


@pytest.mark.parametrize("count", [0, 1, 3, 600])
def test_a_small_index_costs_a_look_at_20_000_of_them_little(count):
    """The log's size is asked once at most, and no read goes behind the end, where another tells that it is the end."""
    asked, read = list[int](), list[int]()
    data = b"".join(struct.pack(">qi", number, number) for number in range(1, count + 1))

    def read_recorded(position: int, size: int) -> bytes:
        read.append(position + size)
        return data[position : position + size]

    def log_size() -> int:
        asked.append(1)
        return 1 << 20

    index = TimeIndex(read_recorded, len(data), BASE, log_size)
    assert index.is_sound()
    assert index.last().timestamp == (count or -1)
    assert (len(asked), max(read, default=0)) == (min(count, 1), len(data))


def test_an_index_cut_under_the_reader_gives_a_harmless_hint():
    """The broker trims an index when its segment is closed, whoever is reading it."""
    index, file = offset_index([(number, number) for number in range(1, 5000)])
    assert index.entries == 4999
    file.data = file.data[:80]
    assert index.lookup(BASE + 4000).position in range(4001)


def test_zeros_are_no_entries_however_many():
    index, _ = offset_index([], bytes(10 << 20))
    assert (index.entries, index.is_padded, index.lookup(BASE + 5)) == (0, True, OffsetPosition(-1, BASE, 0, 0))
    times, _ = time_index([], bytes(10_485_756))
    assert (times.entries, times.last()) == (0, TimestampOffset(-1, -1, BASE))


def test_what_rises_is_reported_without_a_difference():
    last = 2**63 - 1
    assert rises(np.array([0, last, last, -5, 3]), -1).tolist() == [True, True, False, False, True]
    assert rises(np.array([], np.int64), last).tolist() == []


def test_pages_are_remembered_and_few_of_them():
    """Two indexes in one process share no page; forgetting costs reads, never an answer."""
    pages = IndexPages(3)
    entries = [(slot * 10, slot * 7) for slot in range(1, 6 * PAGE // 8)]
    index, file = offset_index(entries, pages=pages)
    other, _ = offset_index([(offset, 1) for offset, _ in entries], pages=pages)
    assert index.lookup(BASE + 15).position == 7
    read = file.reads
    assert index.lookup(BASE + 25).position == 14
    assert file.reads == read
    assert other.lookup(BASE + 15).position == 1
    for offset, position in entries[:: PAGE // 32]:
        assert index.lookup(BASE + offset).position == position
        assert len(pages) <= 3


def test_a_page_that_could_not_be_read_is_not_remembered():
    """What fails for a moment, as where an operator changes who may read, would cost a scan for ever."""
    index, file = offset_index([(slot * 10, slot * 7) for slot in range(1, 2000)])
    assert index.entries == 1999
    data, file.data = file.data, b""
    assert index.lookup(BASE + 500).position == 0
    file.data = data
    assert [index.lookup(BASE + offset).position for offset in (500, 19_000)] == [50 * 7, 1900 * 7]
