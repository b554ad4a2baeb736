"""What counts as a segment while files are swapped, and which names are told of."""

import os
import threading
import time
from contextlib import suppress
from itertools import count

import pytest

from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.errors import CorruptData, Vanished
from kafkafs.format.names import segment_file
from kafkafs.log.listing import list_partition
from tests.log.making import NAME, NO_REGULAR_FILE, Made, log_of, made, partition_of, write_partition
from tests.log.reading import reader, rows
from tests.mounting import PATIENCE_S

OLD = [made(number * 10, [number] * 10) for number in range(9)]
CLEANED = [made(number * 10 + 9, [number]) for number in range(9)]
"""The same offsets compacted: of each batch the last record is left."""


def offsets(data) -> list[int]:
    return [row.offset for row in rows(reader(log_of(data)).records(0))]


def wanted(batches: list[Made]) -> list[int]:
    return [record.offset for batch in batches for record in batch.records]


def swap(directory, base: int, batches: list[Made], state: str = "swap") -> None:
    (directory / f"{base:020}.log.{state}").write_bytes(b"".join(batch.data for batch in batches))


def test_a_complete_swap_file_stands_in_where_the_plain_one_is_gone(tmp_path):
    """Between two renames of the broker only `.swap` has the offsets: a reader must not see a hole."""
    directory = write_partition(tmp_path, {0: OLD[:3], 30: OLD[3:6], 60: OLD[6:]})
    swap(directory, 0, CLEANED[:6])
    assert offsets(tmp_path) == wanted(OLD)
    (directory / f"{0:020}.log").rename(directory / f"{0:020}.log.deleted")
    assert offsets(tmp_path) == wanted(CLEANED[:3] + OLD[3:])
    (directory / f"{30:020}.log").rename(directory / f"{30:020}.log.deleted")
    assert offsets(tmp_path) == wanted(CLEANED[:6] + OLD[6:])
    (directory / f"{0:020}.log.swap").rename(directory / f"{0:020}.log")
    assert offsets(tmp_path) == wanted(CLEANED[:6] + OLD[6:])


def test_an_unfinished_file_counts_for_nothing(tmp_path):
    """What the cleaner is writing may end anywhere, and a swap file beside it is not complete either."""
    directory = write_partition(tmp_path, {0: OLD[:3], 30: OLD[3:]})
    swap(directory, 0, CLEANED[:2], "cleaned")
    assert offsets(tmp_path) == wanted(OLD)
    (directory / f"{0:020}.log").unlink()
    swap(directory, 0, CLEANED[:3])
    assert offsets(tmp_path) == wanted(OLD[3:])


def test_files_on_their_way_out_count_for_nothing(tmp_path):
    directory = write_partition(tmp_path, {0: OLD[:3], 30: OLD[3:]})
    for kind in ("log", "index", "timeindex"):
        (directory / f"{0:020}.{kind}").rename(directory / f"{0:020}.{kind}.deleted")
    assert offsets(tmp_path) == wanted(OLD[3:])
    assert log_of(tmp_path).start_offset == 30


@pytest.mark.parametrize("make", NO_REGULAR_FILE)
@pytest.mark.parametrize(
    "name", [f"{30:020}.log", f"{0:020}.index", f"{0:020}.timeindex", "leader-epoch-checkpoint", "partition.metadata"]
)
def test_what_is_no_regular_file_is_reported_and_not_opened(tmp_path, name, make):
    """A FIFO would hang whoever opens it; a link leads out of the directory."""
    path = write_partition(tmp_path, {0: OLD[:3], 30: OLD[3:6], 60: OLD[6:]}) / name
    path.unlink(missing_ok=True)
    make(path)
    listing = list_partition(partition_of(tmp_path).root, NAME)
    assert any(name in problem for problem in listing.problems)
    assert name not in listing.names
    assert offsets(tmp_path) == wanted(OLD[:3] + OLD[6:] if name.endswith(".log") else OLD)


def test_an_old_look_is_not_taken_for_a_new_one(tmp_path):
    """A directory that has just changed may change again within the same tick of the clock."""
    directory = write_partition(tmp_path, {0: OLD[:3]})
    root, soon = partition_of(tmp_path).root, time.time() + PATIENCE_S
    os.utime(directory, (soon, soon))  # it has just changed, however long this machine takes
    assert not list_partition(root, NAME).settled
    os.utime(directory, (1, 1))
    assert list_partition(root, NAME).settled


def test_logs_that_come_and_go_meanwhile_are_no_missing_partition(tmp_path):
    """A look may take them in or not, or have to be made again, but the directory is there all the time."""
    (tmp_path / "t-0").mkdir()
    names = [tmp_path / "t-0" / segment_file(base, "log") for base in range(0, 2000, 10)]
    done = threading.Event()

    def churn() -> None:
        while not done.is_set():
            for name in names:
                name.touch()
            for name in names:
                name.unlink()

    churning, listed, root = threading.Thread(target=churn), 0, LocalDirectory(str(tmp_path))
    deadline = time.monotonic() + PATIENCE_S
    churning.start()
    try:
        for look in count():
            with suppress(Vanished):
                listed += len(list_partition(root, "t-0").segments)
            if look >= 300 and listed:
                break
            assert time.monotonic() < deadline
    finally:
        done.set()
        churning.join(300)


def test_what_a_swap_file_holds_across_the_next_segments_base_is_an_error(tmp_path):
    """Regression: a batch of 40 offsets of which the next plain segment has the last 20 was left out without a word."""
    before, spanning = made(0, [1] * 20), made(20, [2] * 40)
    directory = write_partition(tmp_path, {40: [made(40, [3] * 20)], 60: [made(60, [4])]})
    swap(directory, 0, [before, spanning, made(60, [4])])
    view = reader(log_of(tmp_path))
    assert [row.offset for row in rows(view.records(0, 20))] == list(range(20))
    for first in (0, 20, 39):
        with pytest.raises(CorruptData):
            list(view.records(first))
    with pytest.raises(CorruptData):
        view.lookup.first(25)
    assert [row.offset for row in rows(view.records(40))] == list(range(40, 61))
    skipping = reader(log_of(tmp_path), corrupt_skip=True)
    assert [row.offset for row in rows(skipping.records(0))] == [*range(20), *range(40, 61)]


def test_damage_in_a_swap_file_across_the_next_segments_base_is_an_error(tmp_path):
    before, broken = made(0, [1] * 20), made(20, [2] * 40)
    broken = Made(broken.data[:-1] + b"x", broken.records)
    directory = write_partition(tmp_path, {40: [made(40, [3] * 20)], 60: [made(60, [4])]})
    swap(directory, 0, [before, broken, made(60, [4])])
    view = reader(log_of(tmp_path))
    with pytest.raises(CorruptData):
        list(view.records(0))
    assert [row.offset for row in rows(view.records(40))] == list(range(40, 61))


def test_a_swap_file_that_ends_where_the_next_segment_begins_has_all_there_is(tmp_path):
    directory = write_partition(tmp_path, {40: [made(40, [3] * 20)], 60: [made(60, [4])]})
    swap(directory, 0, [made(0, [1] * 20), made(20, [2] * 20), made(40, [3] * 20)])
    assert [row.offset for row in rows(reader(log_of(tmp_path)).records(0))] == list(range(61))
