"""Transactions: who waits for whom, and what a growing log does to the last stable offset. The records that a
read_committed consumer sees are compared in test_reader.
"""

import gc
import struct
import threading

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from kafkafs.disk.blocking import non_blocking
from kafkafs.errors import WouldBlock
from kafkafs.format.transaction_index import ABORTED
from kafkafs.log.batch_runs import BatchRun
from kafkafs.log.log import Log
from kafkafs.log.look import Look, Reader
from kafkafs.log.outcomes import Fate, OpenTransactions, Outcomes
from kafkafs.log.read_options import ReadOptions
from kafkafs.log.transaction_events import Event, Tracker, events
from kafkafs.spark.segment_units import SegmentLook, segments_of
from tests.counting import counted
from tests.kafka.dataset import Dataset
from tests.log.making import log_of, made, partition_of, write_partition
from tests.log.reading import reader, rows
from tests.log.transactional import data, marker

DATA = Dataset("4.3.1", "stopped")


def offsets(reader: Reader) -> list[int]:
    return [row.offset for row in rows(reader.records(0))]


def committed(log: Log) -> Reader:
    return reader(log, isolation="read_committed")


def test_outcomes_of_interleaved_producers(tmp_path):
    """Each batch is decided by the next marker of its own producer."""
    log = [data(0, 1), data(1, 2), marker(2, 1, True), data(3, 1), marker(4, 2, False), marker(5, 1, False), data(6, 2)]
    write_partition(tmp_path, {0: log, 7: [marker(7, 2, True), data(8, 3), data(9, 1), marker(10, 1, True)]})
    found = committed(log_of(tmp_path))
    assert offsets(found) == [0, 6]
    assert found.visible_end == 8
    assert (found.earliest(), found.latest()) == (0, 6)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ddca")), min_size=8, max_size=40),
    st.sets(st.integers(1, 39), max_size=5),
    st.integers(0, 39),
    st.integers(1, 9),
)
def test_an_outcome_is_that_of_the_producers_next_marker(tmp_path_factory, moves, rolls, first, together):
    """Wherever it stands: in the same run of batches, in a later one, among those of others, or nowhere."""
    place = tmp_path_factory.mktemp("log")
    made = [data(at, of) if kind == "d" else marker(at, of, kind == "c") for at, (of, kind) in enumerate(moves)]
    bases = [0, *sorted(roll for roll in rolls if roll < len(made))]
    write_partition(place, {base: made[base:end] for base, end in zip(bases, [*bases[1:], None], strict=True)})
    log, first = log_of(place), first % len(made)
    runs = [(segment, run) for segment, run in log.walk(first, log.end_offset) if isinstance(run, BatchRun)]
    outcomes = Outcomes(log)
    for segment, run in runs:
        for at in range(0, len(run.rows), together):
            rows = run.rows[at : at + together]
            wanted = [_aborts(moves, offset) for offset in rows["last_offset"].tolist()]
            assert (outcomes.fates(segment, rows) == Fate.ABORTED).tolist() == wanted


def _aborts(moves: list[tuple[int, str]], at: int) -> bool:
    """By the simplest means."""
    producer, kind = moves[at]
    return kind == "d" and next((kind for of, kind in moves[at:] if of == producer and kind != "d"), "") == "a"


@pytest.mark.parametrize("end", [marker(500, 1, False), None], ids=["aborted", "open"])
@pytest.mark.parametrize("question", [lambda found: found.lookup.first_at(5), Reader.latest], ids=["by time", "latest"])
def test_what_a_long_transaction_hides_is_read_a_few_times(tmp_path, question, end):
    """Each of its batches was a scan of its own, up to the marker: minutes for a point, and hours for `latest`."""
    hidden = [*(data(offset, 1) for offset in range(500)), *([end] if end else [])]
    path = write_partition(tmp_path, {0: hidden}) / f"{0:020}.log"
    found = committed(log_of(tmp_path))
    answer, size = counted(question, found)
    assert answer is None
    assert size < 8 * path.stat().st_size


def test_a_search_by_time_ends_at_the_last_stable_offset(tmp_path):
    """A transaction that hangs may have all of a partition behind it."""
    behind = [made(offset, [6]) for offset in range(1, 3000)]
    path = write_partition(tmp_path, {0: [data(0, 1), *behind]}) / f"{0:020}.log"
    lookup = committed(log_of(tmp_path)).lookup
    assert lookup.first_at(6) is None  # which learns the largest timestamp, and reads all for it
    answer, size = counted(lookup.first_at, 6)
    assert answer is None
    assert size < path.stat().st_size / 4


def test_a_transaction_index_that_says_too_much_hides_nothing(tmp_path):
    """Its entry is of the aborted transaction, and reaches back over the committed one before."""
    log = [data(0, 1), marker(1, 1, True), data(2, 1), marker(3, 1, False), data(4, 1), marker(5, 1, True)]
    directory = write_partition(tmp_path, {0: log})
    (directory / f"{0:020}.txnindex").write_bytes(struct.pack(">hqqqq", 0, 1, 0, 3, 4))
    assert committed(log_of(tmp_path)).lookup.first(0).offset == 0
    assert offsets(committed(log_of(tmp_path))) == [0, 4]


def test_the_last_stable_offset_moves_with_the_log(tmp_path):
    """A transaction that ends must set free what stands behind it, without a remount."""
    directory = write_partition(tmp_path, {0: [data(0, 1), marker(1, 1, True), data(2, 2)]})
    transactions, path = OpenTransactions(), directory / f"{0:020}.log"
    assert transactions.last_stable_offset(log_of(tmp_path)) == 2
    partition = partition_of(tmp_path)
    for batch, stable in ((data(3, 1), 2), (marker(4, 2, False), 3), (marker(5, 1, True), 6)):
        with open(path, "ab") as file:
            file.write(batch.data)
        partition.look_again()
        assert transactions.last_stable_offset(partition.log()) == stable


STEPS = st.sampled_from(["data 1", "data 2", "commit 1", "abort 2", "roll", "compact", "cut", "look"])


@given(st.lists(STEPS, min_size=4, max_size=14))
def test_a_partition_that_is_followed_has_the_same_open_transactions_as_one_that_is_new(tmp_path_factory, steps):
    """Whatever its broker does between two looks: only what came is read, unless something before it has changed."""
    root, transactions = tmp_path_factory.mktemp("data"), OpenTransactions()
    directory = write_partition(root, {0: [data(0, 9), marker(1, 9, True)]})
    partition, offset, path = partition_of(root), 2, directory / f"{0:020}.log"
    for step in [*steps, "look"]:
        kind, _, producer = step.partition(" ")
        if kind == "roll":
            path = directory / f"{offset:020}.log"
            path.touch()
        elif kind == "compact":  # the same batches in another file
            first = directory / f"{0:020}.log"
            if first != path:
                first.with_suffix(".cleaned").write_bytes(first.read_bytes())
                first.with_suffix(".cleaned").rename(first)
        elif kind == "cut":
            path.write_bytes(b"")
            offset = int(path.name[:20])
        elif kind == "look":
            partition.look_again()
            known = transactions.last_stable_offset(partition.log())
            assert known == OpenTransactions().last_stable_offset(log_of(root)), steps
        else:
            made_one = (
                data(offset, int(producer)) if kind == "data" else marker(offset, int(producer), kind == "commit")
            )
            with open(path, "ab") as file:
                file.write(made_one.data)
            offset += 1


@pytest.mark.parametrize("ask", [
    lambda log, transactions: transactions.last_stable_offset(log),
    lambda log, transactions: Look(
        log, ReadOptions(isolation="read_committed"), transactions
    ).visible.visible_end,
])  # fmt: skip
def test_an_impatient_reader_does_not_wait_for_a_scan(ask):
    """The thread that serves everybody waited for the lock of whoever read a gigabyte of transactions."""
    log, transactions = log_of(DATA.path, "transactions-0"), OpenTransactions()
    with transactions._lock, non_blocking(), pytest.raises(WouldBlock):
        ask(log, transactions)
    answer = ask(log, transactions)
    done = threading.Event()

    def again() -> None:
        with non_blocking():
            ask(log, transactions)
        done.set()

    with transactions._lock:
        threading.Thread(target=again, daemon=True).start()
        assert done.wait(300)
    assert answer is not None


def test_a_read_leaves_nothing_to_the_garbage_collector(tmp_path):
    """It comes by seldom, and each read that ends early has a megabyte or two in its hands."""
    first = [data(0, 1), marker(1, 1, True), data(2, 1)]
    write_partition(tmp_path, {0: first, 3: [marker(3, 1, True)], 4: [data(4, 1), marker(5, 1, True)]})
    found = committed(log_of(tmp_path))
    gc.disable()
    try:
        assert len(next(found.records(0)))
        assert not [thing for thing in gc.get_objects() if isinstance(thing, Outcomes)]
    finally:
        gc.enable()


def test_what_is_aborted_is_what_the_broker_noted(stopped: Dataset):
    tracker = Tracker()

    def follow(look: SegmentLook) -> list[tuple[int, int | None, int, int]]:
        reported = (tracker.follow(event) for run in look.runs() if isinstance(run, BatchRun) for event in events(run))
        return [(each.producer, each.first, each.last, each.stable) for each in reported if each is not None]

    units = [unit for unit in segments_of([stopped.path]) if unit.partition_directory == "transactions-0"]
    found = [aborted for unit in units for aborted in unit.ask(follow) or ()]
    files = sorted(stopped.directory("transactions").glob("*.txnindex"))
    rows = np.frombuffer(b"".join(file.read_bytes() for file in files), ABORTED)
    wanted = [tuple(int(row[name]) for name in ("producer_id", "first", "last", "last_stable")) for row in rows]
    assert found == wanted
    assert wanted


def test_a_transaction_goes_on_until_its_marker():
    tracker = Tracker({7: 3})
    assert tracker.follow(Event(10, 7, "begin")) is None
    assert tracker.follow(Event(11, 8, "begin")) is None
    aborted = tracker.follow(Event(12, 7, "abort"))
    assert aborted == (7, 3, 12, 11)
    assert tracker.follow(Event(13, 8, "emptied")) is None
    assert tracker.open == {}
    assert tracker.follow(Event(14, 9, "abort")) == (9, None, 14, 15)
