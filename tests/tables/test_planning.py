"""Planning: what a task is given, each offset one task, and one look at each partition. Logs: test_source.py."""

import gc
import os
import shutil
import weakref
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.errors import Denied, Vanished
from kafkafs.log.log import Log
from kafkafs.spark.export.export_plan import Request
from kafkafs.spark.export.output import output
from kafkafs.spark.export.settling import settle
from kafkafs.spark.frame import Frame
from kafkafs.spark.source import BatchReader
from kafkafs.spark.source_options import batch_options
from kafkafs.spark.tasks import Task
from kafkafs.tables import planning
from kafkafs.tables.choice import Choice
from kafkafs.tables.cutting import MeasuredRange, splits
from kafkafs.tables.locations import Location, data_directory, partition
from kafkafs.tables.offsets import EARLIEST, LATEST, AllAt, TopicPartition
from kafkafs.tables.planning import PartitionLook, PartitionRange, planned
from tests.counting import logs_opened
from tests.kafka.broker import wait_until
from tests.log.making import made, producer_snapshot, spread, write_partition
from tests.log.transactional import data, marker
from tests.nobody import as_nobody, takes_root

NAME = TopicPartition("t", 0)
END = 120


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> PartitionLook:
    """A log of 40 batches of three records, in 8 segments."""
    data = tmp_path_factory.mktemp("data")
    write_partition(data, spread([made(at, [at, at + 1, at + 2]) for at in range(0, END, 3)], 5))
    return PartitionLook(Location(data, NAME), "read_uncommitted")


@given(
    bounds=st.tuples(st.integers(0, END), st.integers(0, END)).map(sorted),
    least=st.none() | st.integers(1, 200),
    most=st.none() | st.integers(1, 50),
    many=st.sampled_from([1, 1000]),
)
def test_each_offset_is_in_one_task(whole, bounds, least, most, many):
    """A range that is cut wrong doubles records, or loses some."""
    start, end = bounds
    measured = MeasuredRange(PartitionRange(whole.location, start, end), whole.log, many) if start < end else None
    tasks = splits([measured], least, most)
    tiles = [(each.start, each.end) for task in tasks for each in task]
    assert all(before[1] == after[0] for before, after in pairwise(tiles))
    assert [tiles[0][0], tiles[-1][1]] == bounds if start < end else tiles == []
    if most is not None:
        assert all(tile_end - tile_start <= most for tile_start, tile_end in tiles)
    elif least is not None:
        assert len(tasks) >= min(least, end - start)


def test_retention_in_the_midst_of_a_plan_does_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Regression: start and ranges were asked of two looks; offsets were "gone" that were there at the first."""
    large = [made(offset, [1] * 5) for offset in range(0, 20, 5)]
    directory = write_partition(tmp_path, {0: large, **{each: [made(each, [3])] for each in (20, 21, 22)}})
    resolve = planning.resolved

    def resolving(*how):
        found = resolve(*how)
        for file in directory.glob(f"{0:020}.*"):
            file.unlink()
        partition(Location(tmp_path, NAME)).look_again()
        return found

    monkeypatch.setattr("kafkafs.tables.planning.resolved", resolving)
    monkeypatch.setattr("kafkafs.tables.cutting.SMALL", 0)  # of small ranges nothing is read: what is gone shows later
    reader = BatchReader(batch_options({"path": str(tmp_path), "subscribe": "t", "minPartitions": "2"}), Frame())
    found = [(each.start, each.end) for task in reader.partitions() if isinstance(task, Task) for each in task.ranges]
    assert (found[0][0], found[-1][1]) == (20, 23)  # of a later look, all of it


@pytest.mark.parametrize("fails", [False, True])
def test_python_looks_for_no_cycles_while_a_plan_is_made(tmp_path: Path, fails: bool):
    """It looked at millions of objects that stay, in two fifths of the time."""
    write_partition(tmp_path, {0: [made(0, [1])]})

    def plan(_: object) -> bool:
        if fails:
            raise Denied("no")
        return gc.isenabled()

    assert gc.isenabled()
    with pytest.raises(Denied) if fails else nullcontext():
        assert planned({NAME: Location(tmp_path, NAME)}, "read_uncommitted", plan) == {NAME: False}
    assert gc.isenabled()


def test_a_partition_is_asked_again_where_files_vanish_under_it(tmp_path: Path):
    """It alone: a broker of 100,000 partitions deletes a file somewhere while any plan is made."""
    names = [TopicPartition("t", number) for number in range(3)]
    for name in names:
        write_partition(tmp_path, {0: [made(0, [1])]}, str(name))
    looks: list[PartitionLook] = []

    def question(look: PartitionLook) -> int:
        looks.append(look)
        if look.location.name == names[1] and len(looks) < 4:
            raise Vanished("a file is gone")
        return look.visible_end

    locations = {name: Location(tmp_path, name) for name in reversed(names)}
    assert planned(locations, "read_uncommitted", question) == dict.fromkeys(names, 1)
    assert [look.location.name.partition for look in looks] == [0, 1, 1, 1, 2]
    assert len({id(look) for look in looks}) == len(looks)


def test_a_log_that_changes_again_and_again_is_reported(tmp_path: Path):
    write_partition(tmp_path, {0: [made(0, [1])]})

    def question(_: PartitionLook) -> None:
        raise Vanished("a file is gone")

    with pytest.raises(Vanished):
        planned({NAME: Location(tmp_path, NAME)}, "read_uncommitted", question)


@pytest.mark.parametrize("made_by", ["source", "export"])
def test_a_plan_of_many_partitions_has_few_logs_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_by: str
):
    """A plan of a million segments took 2.4 GB, because it kept them all to its end."""
    monkeypatch.setattr("kafkafs.disk.cached_value.KEPT", 2)
    held, most = weakref.WeakSet[Log](), []

    class Counted(Log):
        """A log that counts those that are there."""

        def __init__(self, *how, **more) -> None:
            super().__init__(*how, **more)
            held.add(self)
            most.append(len(held))

    monkeypatch.setattr("kafkafs.log.partition.Log", Counted)
    for number in range(80):
        write_partition(tmp_path, {0: [made(0, [1])], 1: [made(1, [2])]}, f"t-{number}")
    if made_by == "source":
        BatchReader(batch_options({"path": str(tmp_path), "subscribe": "t"}), Frame()).partitions()
    else:
        request = Request((tmp_path,), Choice(topics=("t",)), AllAt(EARLIEST), AllAt(LATEST))
        settle(output(str(tmp_path / "out")), request)
    assert len(most) == 80
    assert max(most) < 6


@takes_root
def test_where_the_end_may_not_be_read_there_is_no_plan(open_path: Path):
    """It would be one up to the last segment's base, without a word about what stands there."""
    (write_partition(open_path, {0: [made(0, [1])], 1: [made(1, [2])]}) / f"{1:020}.log").chmod(0o600)
    with as_nobody(), pytest.raises(Denied, match=f"t-0: {1:020}.log may not be read"):
        PartitionLook(Location(open_path, NAME), "read_uncommitted")


def test_what_is_known_of_transactions_goes_with_the_partition(tmp_path: Path):
    """A driver plans for weeks, and topics come and go: each took a whole log with all its segments along."""
    directory = write_partition(tmp_path, {0: [data(0, 7), marker(1, 7, commit=True), data(2, 7)]})
    look = PartitionLook(Location(tmp_path, NAME), "read_committed")
    assert look.visible_end == 2
    segment = weakref.ref(look.log.segments[0])
    shutil.rmtree(directory)
    write_partition(tmp_path, {0: [made(0, [1])]}, "other-0")
    wait_until(lambda: str(NAME) not in data_directory(tmp_path).names(), "is forgotten")
    del look
    gc.collect()
    assert segment() is None


def sparse(data: Path, partitions: int, segments: int, size: int) -> None:
    """Partitions of segments of that size, of which only the first batch is there."""
    for number in range(partitions):
        batches = {base * 1000: [made(base * 1000, [1])] for base in range(segments)}
        directory = write_partition(data, batches, f"t-{number}")
        for base in range(segments - 1):
            os.truncate(directory / f"{base * 1000:020}.log", size)


@pytest.mark.parametrize("size", [1 << 20, 1 << 26, 1 << 30])
@pytest.mark.parametrize(("partitions", "segments"), [(1, 40), (8, 10), (100, 4)])
def test_a_plan_opens_few_logs(tmp_path, partitions, segments, size):
    """Regression: of each range that was large enough to be cut, every segment's log and index were opened."""
    sparse(tmp_path / "data", partitions, segments, size)
    options = batch_options({"path": str(tmp_path / "data"), "subscribe": "t"})
    found: list[list[PartitionRange]] = []

    def plan() -> None:
        """That of a batch read."""
        found[:] = [list(each.ranges) for each in BatchReader(options, Frame()).partitions() if isinstance(each, Task)]

    total = partitions * (segments - 1) * size
    most = partitions * (2 + segments // 4)  # where each begins and ends, and an index
    assert logs_opened(plan) <= most < partitions * segments
    assert {sum(each.end - each.start for task in found for each in task if each.location.name.partition == number)
            for number in range(partitions)} == {(segments - 1) * 1000 + 1}  # fmt: skip
    assert len(found) >= total // (72 << 20)  # all the same they are cut into tasks
    request = Request((tmp_path / "data",), Choice(topics=("t",)), AllAt(EARLIEST), AllAt(LATEST))
    opened = logs_opened(lambda: settle(output(str(tmp_path / "out")), request))
    assert opened <= most


COMMITTED = {"kafka.isolation.level": "read_committed"}
MIDDLE, EARLIER = {"startingTimestamp": "1050"}, {"startingTimestamp": "1030"}


@pytest.mark.parametrize(
    ("most", "options"),
    [
        (1, COMMITTED),
        (1, COMMITTED | {"startingOffsets": '{"t":{"0":50,"1":-2,"2":99}}', "endingOffsets": "latest"}),
        (3, MIDDLE),
        (3, COMMITTED | MIDDLE),
        (5, COMMITTED | EARLIER | {"endingTimestamp": "1050"}),
        (2, COMMITTED | {"startingTimestamp": "9999", "startingOffsetsByTimestampStrategy": "latest"}),
    ],
)
def test_a_plan_by_time_or_of_what_is_committed_opens_few_logs(tmp_path, most, options):
    """The broker left a snapshot of its producers at the base of each segment. One producer has an open transaction."""
    for number in range(3):
        segments = {5 * each: [made(at, [1000 + at]) for at in range(5 * each, 5 * each + 5)] for each in range(20)}
        segments[100] = [made(100, [1100]), data(101, 7)]
        directory = write_partition(tmp_path, segments, f"t-{number}")
        for base in segments:
            (directory / f"{base:020}.snapshot").write_bytes(producer_snapshot((7, -1)))
    found: list[PartitionRange] = []

    def plan() -> None:
        """That of a batch read."""
        reader = BatchReader(batch_options({"path": str(tmp_path), "subscribe": "t", **options}), Frame())
        found[:] = [each for task in reader.partitions() if isinstance(task, Task) for each in task.ranges]

    assert logs_opened(plan) <= most * 3  # of 63
    end = 50 if "endingTimestamp" in options else 101 if "kafka.isolation.level" in options else 102
    assert {each.end for each in found} <= {end}
