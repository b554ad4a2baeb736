"""What is counted of a data directory, held against a walk over all of its files; and what is read for it."""

import os
import re
from pathlib import Path

import pytest

from kafkafs.log.data_directory import open_data_directory
from kafkafs.overview.scanning import count
from tests.counting import opened
from tests.kafka.dataset import Dataset
from tests.log.making import NO_REGULAR_FILE, made, write_partition

SEGMENT = re.compile(r"[0-9]{20}\.(log|index|timeindex|txnindex)")
LEFT = re.compile(r".*\.(deleted|cleaned|swap)")
DATA = Dataset("4.3.1", "stopped")


def counted(path):
    """What is counted, and that nothing is told."""
    reported: list[str] = []
    found = count(open_data_directory(path), reported.append)
    assert reported == []
    return {each.name.directory: each for each in found.partitions}, {each.path: each.size for each in found.leftovers}


def walked(path):
    """{partition: (bytes, bytes of logs, bytes of indexes)} and {leftover: bytes}, by a walk over all files."""
    partitions: dict[str, tuple[int, int, int]] = {}
    leftovers: dict[str, int] = {}
    for directory, _, names in os.walk(path):
        below = os.path.relpath(directory, path)
        for name in names:
            about = os.lstat(f"{directory}/{name}")
            blocks = about.st_blocks * 512
            if below.endswith(("-delete", "-stray", "-future")):
                leftovers[below] = leftovers.get(below, 0) + blocks
            elif LEFT.fullmatch(name):
                leftovers[f"{below}/{name}"] = blocks
            elif below != ".":
                kind = SEGMENT.fullmatch(name)
                log = about.st_size if kind and kind[1] == "log" else 0
                index = min(about.st_size, blocks) if kind and kind[1] != "log" else 0
                was = partitions.get(below, (0, 0, 0))
                partitions[below] = was[0] + blocks, was[1] + log, was[2] + index
    return partitions, leftovers


def test_the_bytes_are_those_of_a_walk(dataset):
    partitions, leftovers = counted(dataset.path)
    sizes = {name: (each.size, each.log_bytes, each.index_bytes) for name, each in partitions.items()}
    expected = walked(dataset.path)
    assert {name: sizes.get(name) for name in expected[0]} == expected[0]
    assert leftovers == expected[1]


def test_the_borders_and_the_newest_time_are_those_that_kafka_tells(dataset):
    """Also beside a living broker, and where it has rolled a moment ago."""
    partitions, _ = counted(dataset.path)
    for topic, partition in dataset.partitions():
        extent, offsets = partitions[f"{topic}-{partition}"].extent, dataset.offsets(topic, partition)
        assert (extent.start, extent.end) == (offsets.earliest, offsets.latest), topic
        times = [record.timestamp_ms for record in dataset.records(topic, partition)]
        if "transactions" not in topic and "deleted" not in topic:  # markers have times, and so have deleted records
            assert (extent.newest_ms or -1) == max(times, default=-1), topic


def test_no_log_is_read_of_a_broker_that_stopped_cleanly(tmp_path):
    """Each log but the metadata's is something else, of the same size and time: the answer is the same."""
    DATA.copy_to(tmp_path)
    before = counted(tmp_path)
    for log in tmp_path.glob("*/*.log"):
        if not log.parent.name.startswith("__cluster_metadata"):
            about = log.stat()
            with log.open("r+b") as file:
                file.truncate(0)
                file.truncate(about.st_size)
            os.utime(log, ns=(about.st_atime_ns, about.st_mtime_ns))
    after = counted(tmp_path)
    assert {name: each.extent for name, each in after[0].items()} == {
        name: each.extent for name, each in before[0].items()
    }


def test_of_a_crash_only_what_stands_behind_the_last_index_entry_is_read(tmp_path):
    """All before it is zeros here; the newest record stands behind it."""
    batches = [made(number, [1000 + number], size=5000) for number in range(6)]
    partition = write_partition(tmp_path, {0: batches})
    log = partition / "00000000000000000000.log"
    whole, at = log.read_bytes(), len(batches[0].data)
    (partition / "00000000000000000000.index").write_bytes((3).to_bytes(4) + (3 * at).to_bytes(4))
    (partition / "00000000000000000000.timeindex").write_bytes((1003).to_bytes(8) + (3).to_bytes(4))
    log.write_bytes(bytes(3 * at) + whole[3 * at :])
    extent = counted(tmp_path)[0]["t-0"].extent
    assert (extent.end, extent.newest_ms, extent.oldest_ms) == (6, 1005, 1003)


def test_of_a_crash_each_file_is_opened_once_or_twice(tmp_path):
    """There can be 100,000 partitions, each with two indexes that have room for 10 MB."""
    partition = write_partition(tmp_path, {0: [made(0, [5000], size=5000), made(1, [6000])]})
    for kind in ("index", "timeindex"):
        with (partition / f"00000000000000000000.{kind}").open("r+b") as file:
            file.truncate(10 << 20)
    directory = open_data_directory(tmp_path)
    names = opened(lambda: count(directory, print))
    segment = {name[21:]: times for name, times in names.items() if name.startswith("0")}
    assert (names["t-0"], segment) == (2, {"log": 1, "index": 1, "timeindex": 2})


def test_an_old_batch_behind_the_last_entry_makes_nothing_older(tmp_path):
    partition = write_partition(tmp_path, {0: [made(0, [5000]), made(1, [1])]})
    assert counted(tmp_path)[0]["t-0"].extent.newest_ms == 5000
    assert partition.exists()


def test_a_clean_end_that_nothing_tells_is_read(tmp_path):
    """A copy without its checkpoints and snapshots would have no records."""
    write_partition(tmp_path, {0: [made(0, [1]), made(1, [2])]})
    (tmp_path / ".kafka_cleanshutdown").touch()
    assert counted(tmp_path)[0]["t-0"].extent.end == 2


def test_a_segment_without_a_time_is_as_old_as_its_last_write(tmp_path):
    partition = write_partition(tmp_path, {0: [made(0, [-1])], 1: [made(1, [7])]})
    os.utime(partition / "00000000000000000000.log", ns=(0, 1_700_000_000_123_456_789))
    extent = counted(tmp_path)[0]["t-0"].extent
    assert [segment.largest_ms for segment in extent.segments] == [1_700_000_000_123, 7]
    assert (extent.oldest_ms, extent.newest_ms) == (7, 7)


def test_what_no_broker_makes_is_left_over(tmp_path):
    partition = write_partition(tmp_path, {0: [made(0, [1])]})
    (tmp_path / "backup/deep").mkdir(parents=True)
    (tmp_path / "remote-log-index-cache").mkdir()
    (partition / "notes").mkdir()
    files = ["core.123", "backup/deep/old.log", "t-0/notes/a", "t-0/my.log", "t-0/00000000000000000000.log.bak",
             "t-0/x0000000000000000000.log", "t-0/99999999999999999999.log"]  # fmt: skip
    for name in files:
        (tmp_path / name).write_bytes(b"x" * 5000)
    for name in ("revive.json", "t-0/leader-epoch-checkpoint.tmp", "t-0/00000000000000000000.snapshot.tmp"):
        (tmp_path / name).write_bytes(b"x")
    leftovers = counted(tmp_path)[1]
    assert leftovers.keys() == {
        "core.123",
        "backup",
        "t-0/notes",
        *(name for name in files if name.count("/") == 1 and name.startswith("t-0")),
    }
    assert set(leftovers.values()) == {8192}


@pytest.mark.parametrize("make", NO_REGULAR_FILE)
def test_what_is_no_regular_file_is_no_segment(make, tmp_path):
    partition = write_partition(tmp_path, {0: [made(0, [1])]})
    make(partition / "00000000000000000009.log")
    partitions, leftovers = counted(tmp_path)
    assert len(partitions["t-0"].extent.segments) == 1
    assert list(leftovers) == ["t-0/00000000000000000009.log"]


def test_a_time_index_that_cannot_be_opened_is_none(tmp_path):
    partition = write_partition(tmp_path, {0: [made(0, [1])], 1: [made(1, [2])]})
    index = partition / "00000000000000000000.timeindex"
    index.unlink()
    os.utime(partition / "00000000000000000000.log", ns=(0, 9_000_000))
    index.symlink_to(Path("00000000000000000001.timeindex"))
    assert [segment.largest_ms for segment in counted(tmp_path)[0]["t-0"].extent.segments] == [9, 2]
