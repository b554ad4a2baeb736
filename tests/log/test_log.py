"""A log across segments: lookups that fall through, what is bounded, what threads share."""

import threading
from pathlib import Path
from typing import cast

import pytest

from kafkafs.disk.budget import KEPT_FILES
from kafkafs.disk.data_file import LocalFile
from kafkafs.errors import DiskError, NotFound
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.extents import Extent
from kafkafs.log.lookup import Lookup
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.node import LinkNode
from tests.counting import counted
from tests.disk.descriptors import open_below
from tests.log.making import log_of, made, partition_of, spread, write_partition, write_start
from tests.log.reading import lookup_of, reader, rows
from tests.log.transactional import marker
from tests.nobody import as_nobody, takes_root
from tests.view.trees import cat, node, tree


def test_a_range_opens_the_logs_that_it_reaches_and_no_other(tmp_path: Path) -> None:
    """Regression: `ls -l by-offset/` of 20,000 segments opened, for each of them, all that stand behind it."""
    write_partition(tmp_path, {base: [made(base, [base])] for base in range(20)})
    log = log_of(tmp_path)
    before = set(open_below(tmp_path))
    assert [segment.base_offset for segment in log.segments_between(3, 5)] == [3, 4]
    assert log.indexed_timestamp(3, 5) == 4
    assert {Path(path).stem.lstrip("0") for path in set(open_below(tmp_path)) - before} <= {"3", "4"}
    held = log.hold(7, 20, most=2)
    assert len(held) == 2
    assert {Path(path).stem.lstrip("0") for path in set(open_below(tmp_path)) - before} <= {"3", "4", "7", "8"}


def test_an_offset_behind_a_compacted_tail_falls_through_to_the_next_segment(tmp_path):
    """As a fetch does: the segment with the floor base may end before the offset."""
    write_partition(tmp_path, {0: [made(0, [1]), made(5, [2])], 100: [made(120, [3])], 200: []})
    log = log_of(tmp_path)
    assert (log.start_offset, log.end_offset) == (0, 200)
    for offset, want in ((0, 0), (1, 5), (5, 5), (6, 120), (99, 120), (100, 120), (120, 120)):
        segment, batch = log.locate(offset)
        assert (batch.base_offset, segment.base_offset) == (want, 0 if want < 100 else 100)
        assert reader(log).lookup.first(offset).offset == want
    for offset in (-1, 121, 199, 200):
        with pytest.raises(NotFound):
            log.locate(offset)
        with pytest.raises(NotFound):
            reader(log).lookup.first(offset)
    assert reader(log).latest() == 120
    assert [row.offset for row in rows(reader(log).records(2, 150))] == [5, 120]


def test_a_log_start_beyond_the_data_leaves_nothing_visible(tmp_path):
    write_partition(tmp_path, {0: [made(0, [1, 2, 3])]})
    write_start(tmp_path, 50)
    log = log_of(tmp_path)
    assert (log.start_offset, log.end_offset) == (50, 50)
    assert (reader(log).earliest(), reader(log).latest(), reader(log).lookup.first_at(0)) == (None, None, None)
    assert rows(reader(log).records(0)) == []
    assert Extent.between(log, 0, None) == []


def test_a_time_goes_on_to_later_segments(tmp_path):
    """Kafka stops in the first segment whose largest timestamp is late enough, even where the log start hides it."""
    write_partition(tmp_path, {0: [made(0, [900, 100])], 2: [made(2, [950])]})
    write_start(tmp_path, 1)
    view = reader(log_of(tmp_path))
    records = {time: view.lookup.first_at(time) for time in (50, 101, 800, 901, 951)}
    found = {time: record and record.offset for time, record in records.items()}
    assert found == {50: 1, 101: 2, 800: 2, 901: 2, 951: None}


def test_a_closed_log_that_the_disk_cannot_read_is_a_gap_for_later_times(tmp_path, monkeypatch):
    """One bad sector made every time point behind it "Input/output error"."""
    write_partition(tmp_path, spread([made(3 * number, [1000 + number] * 3) for number in range(9)], 3))
    read_into = LocalFile.read_into

    def fail(self: LocalFile, buffer: memoryview, position: int, **how: bool) -> int:
        if self.name.endswith(f"{9:020}.log"):
            raise DiskError("reading failed")
        return read_into(self, buffer, position, **how)

    monkeypatch.setattr(LocalFile, "read_into", fail)
    view = reader(log_of(tmp_path))
    assert {time: found.offset for time in (1002, 1006, 1008) if (found := view.lookup.first_at(time))} == {
        1002: 6,
        1006: 18,
        1008: 24,
    }
    with pytest.raises(DiskError):
        lookup_of(log_of(tmp_path)).first_at(1004)  # the time index says that it is there
    (tmp_path / "t-0" / f"{9:020}.timeindex").unlink()
    found = reader(log_of(tmp_path)).lookup.first_at(1006)
    assert found is not None
    assert found.offset == 18


def test_a_modification_time_counts_nothing_below_the_log_start(tmp_path):
    """`ls -l by-offset/` showed a date of records that nobody can read any more."""
    write_partition(tmp_path, {0: [made(0, [9000]), made(1, [100]), made(2, [200])], 3: [made(3, [50])]})
    assert log_of(tmp_path).indexed_timestamp(0, 3) == 9000
    write_start(tmp_path, 1)
    assert log_of(tmp_path).indexed_timestamp(0, 3) == log_of(tmp_path).indexed_timestamp(1, 3) == -1


def test_threads_that_learn_timestamps_together_learn_them_once(tmp_path):
    """Regression: one noted twice made a time skip a segment."""
    batches = [made(number, [1000 + number]) for number in range(40)]
    write_partition(tmp_path, spread(batches, 1), indexed=False)
    for _ in range(5):
        lookup, start = reader(log_of(tmp_path)).lookup, threading.Barrier(6)
        wrong: list[int] = []

        def ask(lookup: Lookup = lookup, start: threading.Barrier = start, wrong: list[int] = wrong) -> None:
            start.wait()
            for number in range(0, 40, 3):
                found = lookup.first_at(1000 + number)
                if found is None or found.offset != number:
                    wrong.append(number)

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert lookup._largest == sorted(set(lookup._largest))


def test_descriptors_stay_few_whatever_the_number_of_segments(tmp_path):
    """The broker's own limit is shared by nobody, but ours must hold for ten thousand segments."""
    write_partition(tmp_path, spread([made(number, [number]) for number in range(600)], 1))
    log = log_of(tmp_path)
    for offset in range(0, 600, 2):
        log.locate(offset)
    assert reader(log).lookup.first_at(599) is not None
    extents = Extent.between(log, 0, None)
    assert len(extents) == 600
    assert len(rows(reader(log).records(0))) == 600
    assert len(open_below(tmp_path)) <= KEPT_FILES + 20


def test_an_index_is_opened_at_its_first_lookup_only(tmp_path):
    """Mounting a hundred thousand segments must open none of their indexes."""
    write_partition(tmp_path, spread([made(number * 3, [number] * 3) for number in range(30)], 10))
    options = ReadOptions(clock=lambda: 0.0)  # nothing becomes idle
    log = open_data_directory(tmp_path, options).partition("t-0").log()

    def opened() -> set[str]:
        return {Path(path).name for path in open_below(tmp_path) if path.endswith("index")}

    first = opened()
    assert not {name for name in first if not name.startswith(f"{60:020}")}
    log.locate(4)
    assert opened() - first == {f"{0:020}.index"}


@takes_root
@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_a_log_that_may_not_be_read_is_a_gap(open_path, isolation):
    """One file with a wrong owner must not hide the partition, whose info names it."""
    batches = [made(number * 3, [number] * 3) for number in range(12)]
    closed = write_partition(open_path, spread(batches, 4)) / f"{12:020}.log"
    closed.chmod(0o600)
    with as_nobody():
        root = tree(open_path, isolation=isolation)
        assert cat(root, "t-0/by-offset/0...jsonl").count(b"\n") == 24
        assert cat(root, "t-0/by-offset/14") == batches[8].data
        assert cat(root, "t-0/by-time/5.key") == b"k24"
        assert closed.name in cat(root, "t-0/info.json").decode()
        ends = [cast(LinkNode, node(root, f"t-0/{name}")).target() for name in ("earliest", "latest")]
        assert ends == ["by-offset/0", "by-offset/35"]
    write_start(open_path, 20)
    (closed.parent / f"{24:020}.log").write_bytes(b"")
    with as_nobody(), pytest.raises(NotFound):
        node(tree(open_path, isolation=isolation), "t-0/latest")


def test_a_partition_that_loses_its_directory_is_missing(tmp_path):
    directory = write_partition(tmp_path, {0: [made(0, [1])]})
    partition = partition_of(tmp_path)
    for file in directory.iterdir():
        file.unlink()
    directory.rmdir()
    with pytest.raises(NotFound):
        partition.log()


def test_the_latest_record_is_looked_for_once_in_each_segment(tmp_path):
    """Behind it are nothing but markers: each segment was read once more for each one in front of it."""
    batches = [made(0, [1000]), *(marker(offset, 1, True) for offset in range(1, 3000))]
    path = write_partition(tmp_path, spread(batches, 100))
    found = reader(log_of(tmp_path))
    latest, size = counted(found.latest)
    assert latest == 0
    assert size < 4 * sum(log.stat().st_size for log in path.glob("*.log"))
