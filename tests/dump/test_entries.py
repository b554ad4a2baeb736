"""Headers as Kafka's tool takes them, and Java's arithmetic."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.disk.data_file import LocalFile
from kafkafs.dump.dump_options import DumpOptions, OffsetWindow
from kafkafs.dump.entries import (
    READ_SIZE,
    EntryRun,
    UnreadableEntry,
    entry_at,
    read_run,
    sequence_after,
    sequence_before,
    within,
    wrap,
)
from kafkafs.format.batch import LARGEST_HEADER, Batch, walk
from tests.dump.dumped import dumped, source_of
from tests.format.batch_maker import v2_around
from tests.format.golden import V1_NONE, V2_NONE

LARGEST = 2**31 - 1
sequences = st.integers(0, LARGEST)


@given(st.integers(-(2**66), 2**66))
def test_numbers_wrap_as_javas_do(number: int) -> None:
    """A damaged header may sum up to more than 64 bits."""
    assert wrap(number, 64) == int.from_bytes((number % 2**64).to_bytes(8, "big"), "big", signed=True)
    assert wrap(number, 32) == int.from_bytes((number % 2**32).to_bytes(4, "big"), "big", signed=True)


@given(sequences, sequences)
def test_a_sequence_goes_round_from_the_largest_to_zero(sequence: int, delta: int) -> None:
    """There are 2^31 sequence numbers, and none is negative."""
    assert sequence_after(sequence, delta) == (sequence + delta) % 2**31
    assert sequence_before(sequence_after(sequence, delta), delta) == sequence


def test_a_whole_batch_has_a_header() -> None:
    """The plain case, in v2 and v1."""
    batch = entry_at(V2_NONE[:LARGEST_HEADER], 40, 40 + len(V2_NONE))
    assert isinstance(batch, Batch)
    assert (batch.position, batch.size, batch.base_offset, batch.last_offset, batch.count) == (40, 97, 100, 102, 3)
    message = entry_at(V1_NONE[:LARGEST_HEADER], 0, len(V1_NONE))
    assert isinstance(message, Batch)
    assert (message.size, message.magic, message.last_offset, message.max_timestamp) == (38, 1, 100, 1000)


@pytest.mark.parametrize("end", range(len(V2_NONE)))
def test_a_cut_entry_is_the_end(end: int) -> None:
    """The newest batch of a running broker may be half there."""
    assert entry_at(V2_NONE[: min(end, LARGEST_HEADER)], 0, end) is None


def test_a_size_that_no_message_has_is_the_end() -> None:
    """Zeros behind the last batch of a preallocated file."""
    assert entry_at(bytes(LARGEST_HEADER), 0, 4096) is None


def test_a_magic_below_zero_is_no_format() -> None:
    """Its size still leads to the next entry."""
    data = V2_NONE[:16] + b"\xbd" + V2_NONE[17:]
    assert entry_at(data[:LARGEST_HEADER], 0, len(data)) == UnreadableEntry(0, 97, -67, 100)


@given(st.binary(max_size=LARGEST_HEADER), st.integers(0, 2**40), st.integers(0, 2**41))
def test_any_bytes_have_an_answer(header: bytes, position: int, end: int) -> None:
    """And one that leads on, within the file."""
    entry = entry_at(header, position, end)
    assert entry is None or (entry.size > 25 and entry.position + entry.size <= end)


def test_a_batch_larger_than_a_read_is_read_whole(tmp_path: Path) -> None:
    """Batches of 20 MB exist."""
    large = v2_around(bytes(3 * READ_SIZE), 1)
    (tmp_path / "0.log").write_bytes(V2_NONE + large + V2_NONE)
    source = source_of(tmp_path, "0.log")
    first = read_run(source, 0, source.data.size)
    assert (len(first.rows), first.end) == (1, len(V2_NONE))
    second = read_run(source, first.end, source.data.size)
    assert (len(second.rows), second.end) == (1, len(V2_NONE) + len(large))


@pytest.mark.parametrize("size", [READ_SIZE * 3 // 5, READ_SIZE * 3])
def test_of_a_large_batch_little_is_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """As many as fit are read whole: what of one is not whole the disk would have to give again."""
    (tmp_path / f"{0:020d}.log").write_bytes(b"".join(v2_around(bytes(size), 1 + number) for number in range(10)))
    sizes: list[int] = []
    read = LocalFile.read_long

    def read_long(self: LocalFile, position: int, size: int) -> memoryview:
        data = read(self, position, size)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(LocalFile, "read_long", read_long)
    assert dumped(tmp_path, f"{0:020d}.log", DumpOptions()).text.count("baseOffset") == 10
    assert sum(sizes) <= 10 * size + READ_SIZE + 10 * 1000


@pytest.mark.parametrize("rubbish", [b"", b"\xff" * 40, bytes(100), V2_NONE[:90]])
def test_what_looks_unsound_is_no_run(tmp_path: Path, rubbish: bytes) -> None:
    """It is looked at alone."""
    (tmp_path / "0.log").write_bytes(V2_NONE + rubbish)
    source = source_of(tmp_path, "0.log")
    assert len(read_run(source, 0, source.data.size).rows) == 1
    if rubbish:
        assert len(read_run(source, len(V2_NONE), source.data.size).rows) == 0


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=8),
    st.none() | st.integers(-1, 40),
    st.none() | st.integers(-1, 40),
)
def test_a_window_keeps_the_entries_that_overlap_it(sizes: list[int], start: int | None, stop: int | None) -> None:
    """Against a look at each entry."""
    ends = np.cumsum([size + 1 for size in sizes]).tolist()
    bases = [0, *ends[:-1]]
    data = b"".join(v2_around(b"", 0, base, end - 1) for base, end in zip(bases, ends, strict=True))
    kept, is_past = within(EntryRun(data, 0, walk(data, 0).rows), OffsetWindow(start, stop))
    wanted = [base for base, end in zip(bases, ends, strict=True)
              if (start is None or end > start) and (stop is None or base < max(stop, 0))]  # fmt: skip
    if start is None or stop is None or start < stop:
        assert kept.rows["base_offset"].tolist() == wanted
        assert is_past == (stop is not None and bases[-1] >= stop)


def test_a_run_gives_the_bytes_of_a_batch() -> None:
    """Wherever in the file it lies."""
    run = EntryRun(V2_NONE + V1_NONE, 500, walk(V2_NONE + V1_NONE, 500).rows)
    assert run.end == 500 + len(V2_NONE) + len(V1_NONE)
    assert run.part(0, len(run.rows)) is run
    assert run.part(1, 3).rows["position"].tolist() == [597, 635]
