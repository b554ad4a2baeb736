"""`.explain` on the worked example: the steps, with their numbers."""

import json
import re
from collections import Counter
from typing import cast

import pytest

from kafkafs.errors import NotFound
from kafkafs.format.batch import walk
from kafkafs.log.places import Anchor, AtOffset, PointTarget
from kafkafs.sample import unpack
from kafkafs.view.explain import Explanation
from kafkafs.view.node import FileNode
from kafkafs.view.tree import PartitionDirectory
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.kafka.dataset import Dataset
from tests.log.making import Made, made, write_partition, write_start
from tests.view.trees import cat, node, read, tree


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tree(unpack(tmp_path_factory.mktemp("sample")))


def test_an_offset_is_explained_step_by_step(root):
    """Slots, entries, positions and bytes scanned: a lecture on Kafka's lookup, on real data."""
    text = cat(root, "test-0/by-offset/23350.explain").decode()
    for step in ("segment 00000000000000023147.log", "slot 1 of 4: offset 23307 -> position 8279",
                 "scanned 2377 bytes from position 8279 to the batch 23349..23351 at position 10508",
                 "record: offset 23350"):  # fmt: skip
        assert step in text


def test_the_kernel_keeps_an_explanation_no_moment(root):
    """It tells where the log ends, and a log grows."""
    assert node(root, "test-0/by-offset/23350.explain").attributes().timeout_s == 0
    assert node(root, "test-0/by-offset/23350.jsonl").attributes().timeout_s > 0


def test_a_time_is_explained_step_by_step(root):
    text = cat(root, "test-0/by-time/1632390207806.explain").decode()
    steps = ["its largest timestamp is 1632390208071", "1632390207745 -> offset 23388", "offset 23307 -> position 8279",
             "the batch 23400..23402 at position 13023", "record: offset 23400"]  # fmt: skip
    assert [text.index(step) for step in steps] == sorted(text.index(step) for step in steps)


def test_the_probes_of_a_search_are_reported(root):
    """Who learns how Kafka finds things sees the halving, from which slot on it is warm, and why that comes first."""
    text = cat(root, "test-0/by-time/1632390207806.explain").decode()
    for line in (
        "     slots are numbered from 0; all 4 are in the warm section, the last 8,192 bytes of the index, which is"
        " searched first: most lookups go to the end of a log, so its pages stay in memory",
        "     probe 1: slot 2 (warm): 1632390207745 (2021-09-23T09:43:27.745Z) -> offset 23388, before 1632390207806",
        "     probe 2: slot 3 (warm): 1632390208071 (2021-09-23T09:43:28.071Z) -> offset 23475, not before"
        " 1632390207806",
        "     probe 1: slot 2 (warm): offset 23390 -> position 12432, after 23388",
        "     probe 2: slot 1 (warm): offset 23307 -> position 8279, at or before 23388",
    ):
        assert line in text.splitlines()


def test_a_search_in_the_cold_looks_at_the_warm_section_first():
    """In an index of more than 8,192 bytes."""
    root = tree(Dataset("4.3.1", "stopped").path)
    lines = cat(root, "long-index-0/by-offset/700.explain").decode().splitlines()
    assert sum("slots are numbered from 0; 1536 to 2498 are the warm section" in line for line in lines) == 1
    probes = [line for line in lines if line.startswith("     probe ")]
    assert ["warm" in line for line in probes[:3]] == [True, True, False]
    assert "slot 699 (cold): offset 700 -> position 49590, at or before 700" in probes[-1]
    near = cat(root, "long-index-0/by-offset/2400.explain").decode()
    assert "(cold)" not in near


def test_every_timestamp_stands_beside_its_time(root):
    """Thirteen digits are nobody's time of day."""
    text = cat(root, "test-0/by-time/1632390207806.explain").decode()
    for line in text.splitlines()[2:]:
        for found in re.finditer(r"1632390\d{6}", line):
            if "before" not in line[: found.start()]:
                assert "2021-09-23T09:43:2" in line[found.end() :], line


@pytest.mark.parametrize("name", ["by-offset/99", "by-time/9000000000000", "by-key/nobody"])
def test_a_lookup_that_leads_nowhere_has_no_explanation_either(root, name):
    """Regression: who opened it without a look at its attributes, as `kafkafs cat` does, got one."""
    for ask in (lambda it: it.attributes(), lambda it: it.open()):
        with pytest.raises(NotFound):
            ask(node(root, f"test-0/{name}.explain"))


class Counting:
    """A target, and which of its questions were asked."""

    def __init__(self, target: PointTarget) -> None:
        self._target = target
        self.asked: Counter[str] = Counter()

    def __getattr__(self, question: str) -> object:
        self.asked[question] += 1
        return getattr(self._target, question)


def test_a_stat_and_the_open_behind_it_look_it_up_once(root):
    """Each walk reads indexes and log anew; it was three of them for a `stat`, and two more for the open."""
    target = Counting(AtOffset(Anchor.ABSOLUTE, 23350))
    view = cast(PartitionDirectory, node(root, "test-0")).view
    explanation = Explanation(view, cast(PointTarget, target), "by-offset/23350")
    size = explanation.attributes().size
    assert len(read(explanation.open())) == size
    assert target.asked == {"batch": 1, "record": 1}


@pytest.mark.parametrize("name", ["by-offset/1", "by-time/1000", "by-key/k"])
def test_its_size_is_that_of_its_text(name, tmp_path):
    """By key the first walk also has to find the keys: what it tells, a second one would not tell again."""
    records = [Record(offset, 1000, 0, key, b"") for offset, key in enumerate((b"j", b"k"))]
    write_partition(tmp_path, {0: [Made(v2_batch(records), tuple(records))], 2: [made(2, [1])]})
    file = cast(FileNode, node(tree(tmp_path), f"t-0/{name}.explain"))
    for _ in range(2):
        size = file.attributes().size
        assert len(read(file.open())) == size


def test_it_is_explained_again_when_the_log_is_another(tmp_path):
    """Its second line has the log's end."""
    write_partition(tmp_path, {0: [made(0, [1])]})
    file = cast(FileNode, node(tree(tmp_path, log_fresh_s=0.0), "t-0/by-offset/0.explain"))
    assert b"offsets 0 to 1 " in read(file.open())
    with open(tmp_path / "t-0" / f"{0:020}.log", "ab") as log:
        log.write(made(1, [2]).data)
    assert b"offsets 0 to 2 " in read(file.open())


def test_what_the_log_contradicts_is_reported(tmp_path):
    """A damaged index costs time, and here is where one sees it."""
    directory = write_partition(tmp_path, {0: [made(number, [number]) for number in range(4)]})
    (directory / f"{0:020}.index").write_bytes(bytes([0, 0, 0, 2, 0, 0, 0, 99]))
    text = cat(tree(tmp_path), "t-0/by-offset/2.explain").decode()
    assert "offset 2 -> position 99, which the log contradicts" in text
    assert "from position 0" in text


def test_going_on_where_kafka_stops_is_reported(tmp_path):
    """`ListOffsets` would say there is none: whoever compares must see why."""
    write_partition(tmp_path, {0: [made(0, [900, 100])], 2: [made(2, [950])]})
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 1\n")
    assert "which Kafka would not do" in cat(tree(tmp_path), "t-0/by-time/800.explain").decode()


def test_its_time_is_that_of_the_batch(tmp_path):
    """Regression: it was the file's. `ls -l` reads as a calendar whatever the suffix."""
    write_partition(tmp_path, {0: [made(0, [1600000000000, 1600000000007]), made(2, [1600000001000])]})
    root = tree(tmp_path)
    for name in ("by-offset/0", "by-offset/0.explain", "by-time/1600000000001.explain"):
        assert node(root, f"t-0/{name}").attributes().mtime_ns == 1600000000007 * 10**6


def test_a_compressed_message_is_known_by_what_it_holds():
    """Regression: its header states one offset and one record, and the attributes beside said something else.

    How many records a producer puts in a message depends on the machine: each that holds several is asked for.
    """
    data = Dataset("2.8.0", "stopped")
    root, first, asked = tree(data.path), 0, 0
    times = {record.offset: record.timestamp_ms for record in data.records("v1-snappy")}
    for row in walk((data.path / "v1-snappy-0/00000000000000000000.log").read_bytes(), 0).rows:
        last, position = int(row["last_offset"]), int(row["position"])
        names = [f"by-offset/{first}"] if last > first else []
        newest = max(times[offset] for offset in range(first, last + 1))
        if names and all(times[offset] < newest for offset in range(first)):
            names.append(f"by-time/{newest}")
        for name in names:
            text = cat(root, f"v1-snappy-0/{name}.explain").decode()
            batch = f"batch {first}..{last}"
            assert f"to the {batch} at position {position}" in text
            assert f"answer: {batch}, {row['size']} bytes at position {position}, {last + 1 - first} records" in text
        first, asked = last + 1, asked + len(names)
    assert asked >= 4


def test_a_record_without_a_timestamp_has_no_date():
    """Regression: "(1969-12-31T23:59:59.999)". Asked of the largest message: a small one may not be packed."""
    path = Dataset("2.8.0", "stopped").path
    rows = walk((path / "v0-gzip-0/00000000000000000000.log").read_bytes(), 0).rows
    last = rows["last_offset"][rows["size"].argmax()]
    text = cat(tree(path), f"v0-gzip-0/by-offset/{last}.explain").decode()
    assert f"gzip, without timestamps\nrecord: offset {last}, without a timestamp\n" in text


def test_seconds_in_the_place_of_milliseconds_are_reported(root, caplog):
    """Regression: `by-time/$(date +%s).jsonl` was answered by the oldest record, without a word."""
    asked = "test-0/by-time/1632390207"
    assert (
        "note: 1632390207 ms is 1970-01-19; for seconds write @1632390207\n" in cat(root, asked + ".explain").decode()
    )
    cat(root, asked + ".jsonl")
    assert "for seconds write @1632390207" in caplog.text


def test_an_offset_that_only_a_remote_tier_has_is_explained(tmp_path):
    """KAFKA-15351: the log of a tiered topic begins below its first local segment, and nobody says where that is."""
    directory = write_partition(tmp_path, {1000: [made(1000, [1] * 5)]})
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    write_start(tmp_path, 100)
    root = tree(tmp_path)
    reported = cat(root, "t-0/by-offset/500.explain").decode()
    assert reported.splitlines()[-1] == "answer: offset 500 is in the remote tier, and not on these disks"
    assert node(root, "t-0/by-offset/500.explain").attributes().size == len(reported)
    for name in ("500", "500.jsonl", "99.explain", "1005.explain"):
        with pytest.raises(NotFound):
            cat(root, f"t-0/by-offset/{name}")
    assert "remote" not in cat(root, "t-0/by-offset/1000.explain").decode()
    reported = json.loads(cat(root, "t-0/info.json"))
    assert (reported["logStartOffset"], reported["localLogStartOffset"], reported["problems"]) == (100, 1000, [])
    assert reported["earliestOffset"] == 1000
