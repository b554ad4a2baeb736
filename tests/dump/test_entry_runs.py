"""Many entries at a time: reading them, and cutting a window out."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.dump.entry_runs import READ_SIZE, EntryRun, read_run, within
from kafkafs.dump.offset_window import OffsetWindow
from kafkafs.format.batch import walk
from tests.dump.dumped import source_of
from tests.format.batch_maker import v2_around
from tests.format.golden import V1_NONE, V2_NONE


def test_a_batch_larger_than_a_read_is_read_whole(tmp_path: Path) -> None:
    """Batches of 20 MB exist."""
    large = v2_around(bytes(3 * READ_SIZE), 1)
    (tmp_path / "0.log").write_bytes(V2_NONE + large + V2_NONE)
    source = source_of(tmp_path, "0.log")
    first = read_run(source, 0, source.data.size)
    assert (len(first.rows), first.end) == (1, len(V2_NONE))
    second = read_run(source, first.end, source.data.size)
    assert (len(second.rows), second.end) == (1, len(V2_NONE) + len(large))


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
