"""A segment's indexes made as its batches pass by, in as many pieces as they come in; brokers: test_reindex_job.py."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.format.batch import BATCH
from kafkafs.format.index import OffsetIndex, TimeIndex
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.rebuilding import Indexes, Rebuilding
from kafkafs.log.transaction_events import Tracker
from tests.kafka.dataset import Dataset
from tests.log.making import log_of, made, write_partition


def runs_of(directory: str) -> tuple[int, list[BatchRun]]:
    """The first segment's base offset, and all that stands in it."""
    log = open_data_directory(Dataset("4.3.1", "stopped").path).partition(directory).log()
    segment = log.segments[0]
    found = [item for at, item in log.walk(segment.base_offset, log.end_offset) if at is segment]
    return segment.base_offset, [item for item in found if isinstance(item, BatchRun)]


def indexes(base: int, runs: list[BatchRun], interval: int) -> Indexes:
    rebuilding = Rebuilding(base, interval, Tracker())
    assert all(rebuilding.add(run) is run for run in runs)
    return rebuilding.finish()


@given(st.lists(st.integers(0, 400), max_size=5), st.sampled_from((0, 100, 4096)))
def test_it_does_not_matter_in_how_many_runs_they_come(cuts: list[int], interval: int) -> None:
    """A reader's windows are of no meaning."""
    base, (run, *_) = runs_of("transactions-0")
    borders = sorted({0, *(min(cut, len(run.rows)) for cut in cuts), len(run.rows)})
    parts = [run._replace(rows=run.rows[first:stop]) for first, stop in pairwise(borders)]
    whole = indexes(base, [run], interval)
    assert indexes(base, parts, interval) == whole
    assert whole.transaction_index


def test_a_batch_too_far_from_the_base_ends_it() -> None:
    """As recovery does: its relative offset would not fit in the index."""
    _, (run, *_) = runs_of("transactions-0")
    rows = run.rows.copy()
    rows["base_offset"][3:] += 2**31
    rows["last_offset"][3:] += 2**31
    rebuilding = Rebuilding(0, 0, Tracker())
    assert len(rebuilding.add(run._replace(rows=rows)).rows) == 3
    assert rebuilding.finish().valid_end == int(rows["position"][3])


def test_the_last_time_there_is_gets_its_entry(tmp_path: Path) -> None:
    """Regression: between -1 and 2^63-1 there is no difference in 64 bits, and no batch was the one that reached it."""
    batches = [made(0, [5]), made(1, [2**63 - 1]), made(2, [7])]
    log = log_of(write_partition(tmp_path, {0: batches}).parent)
    rebuilt = indexes(0, [item for _, item in log.walk(0, 3) if isinstance(item, BatchRun)], 4096)
    assert np.frombuffer(rebuilt.time_index, TimeIndex.dtype).tolist() == [(2**63 - 1, 1)]


def naive(rows: Sequence[tuple[int, int, int]], interval: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Offset and time entries of batches (size, largest timestamp, last offset), one after the other."""
    offsets, times, since, position, largest = list[tuple[int, int]](), list[tuple[int, int]](), 0, 0, (-1, -1)
    for size, timestamp, last_offset in rows:
        if timestamp > largest[0]:
            largest = timestamp, last_offset
        if since > interval:
            offsets.append((last_offset, position))
            if largest[0] > (times[-1][0] if times else -1):
                times.append(largest)
            since = 0
        since += size
        position += size
    if largest[0] > (times[-1][0] if times else -1):
        times.append(largest)
    return offsets, times


@given(
    st.lists(st.tuples(st.integers(61, 500) | st.integers(4000, 9000), st.integers(-1, 50)), min_size=1, max_size=60),
    st.sampled_from((0, 100, 4096)), st.integers(1, 30),
)  # fmt: skip
def test_entries_are_those_of_one_batch_after_the_other(
    reported: list[tuple[int, int]], interval: int, together: int
) -> None:
    """Small batches and large ones, mixed, in runs of any length."""
    rows = np.zeros(len(reported), BATCH)
    rows["size"], rows["max_timestamp"] = np.array(reported).T
    rows["position"] = np.cumsum(rows["size"]) - rows["size"]
    rows["base_offset"] = np.arange(len(reported)) * 3
    rows["last_offset"] = rows["base_offset"] + 2
    runs = [rows[first : first + together] for first in range(0, len(rows), together)]
    found = indexes(0, [BatchRun(b"", int(run["position"][0]), run) for run in runs], interval)
    each = zip(rows["size"].tolist(), rows["max_timestamp"].tolist(), rows["last_offset"].tolist(), strict=True)
    offsets, times = naive([*each], interval)
    assert np.frombuffer(found.offset_index, OffsetIndex.dtype).tolist() == offsets
    assert np.frombuffer(found.time_index, TimeIndex.dtype).tolist() == times
