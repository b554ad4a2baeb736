"""Ranges as files: what `stat` told is what is opened, as long as the log has it; how little of the log that takes."""

import gzip
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest

from kafkafs.disk.blocking import time_slice
from kafkafs.errors import Unfinished, Vanished
from kafkafs.format import merged_lines
from kafkafs.format.memory import Buffers
from kafkafs.log.look import Reader
from kafkafs.view.exact import ExactContent
from kafkafs.view.node import FileNode
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.streams import Stream, TextLimits
from kafkafs.view.tree import Root
from tests.counting import counted
from tests.log.making import Made, made, spread, write_partition
from tests.log.transactional import data, marker
from tests.view.json_model import text_of
from tests.view.trees import cat, node, read, tree

BATCHES = [made(number * 10, [1000 + number] * 10, size=200) for number in range(100)]
RANGE = "t-0/by-offset/0...jsonl"


def file(root: Root, name: str = RANGE) -> FileNode:
    return cast(FileNode, node(root, name))


def append(directory: Path, batch: Made) -> None:
    with (directory / f"{0:020}.log").open("ab") as log:
        log.write(batch.data)


def test_the_log_is_read_once_for_the_size_and_the_bytes(tmp_path):
    """Whoever looks first pays, and nobody pays twice."""
    write_partition(tmp_path, spread(BATCHES, 50))
    root = tree(tmp_path)
    about, first = counted(file(root).attributes)
    found = file(root)
    again, second = counted(found.attributes)
    assert (again.version, again.size, about.is_fixed) == (about.version, about.size, True)
    whole, third = counted(lambda: read(found.open()))
    assert (len(whole), whole == text_of(BATCHES)) == (about.size, True)
    assert second + third < first / 10


@pytest.mark.parametrize(("exact", "is_file"), [(0, False), (10_000, False), (10**6, True), (2**63 - 1, True)])
def test_small_is_known_by_the_bytes_of_log(tmp_path, exact, is_file):
    """Text may be many times as long where batches are packed, and that is what the option does not mean."""
    packed = [made(number * 10, [1] * 10, 2000, codec=1, compress=gzip.compress) for number in range(100)]
    write_partition(tmp_path, spread(packed, 50))
    root = tree(tmp_path, exact=exact)
    found = file(root)
    assert (found.attributes().size > 0) == is_file
    assert isinstance(found.open(), ExactContent if is_file else Stream)
    assert read(found.open()) == text_of(packed)


@pytest.mark.parametrize("name", ["5..5.jsonl", "9999...jsonl", "5..5.batches.jsonl"])
def test_an_empty_range_is_an_empty_file(tmp_path, name):
    write_partition(tmp_path, {0: BATCHES[:2]})
    found = file(tree(tmp_path), f"t-0/by-offset/{name}")
    about, content = found.attributes(), found.open()
    assert (about.size, content.size, read(content)) == (0, 0, b"")


def test_what_was_reported_is_opened_though_the_log_has_grown(tmp_path):
    directory = write_partition(tmp_path, {0: BATCHES[:50]})
    root = tree(tmp_path, log_fresh_s=0.0, names_fresh_s=0.0)
    before = file(root)
    size = before.attributes().size
    append(directory, BATCHES[50])
    assert file(root).attributes().size == len(text_of(BATCHES[:51])) > size
    assert (before.open().size, read(before.open())) == (size, text_of(BATCHES[:50]))
    assert cat(root, RANGE) == text_of(BATCHES[:51])


@pytest.mark.parametrize("cut", [False, True])
def test_a_roll_makes_nothing_again_unless_the_log_was_cut_before(tmp_path, calls, cut):
    """Once in a few minutes each name would cost a whole pass."""
    begun = calls(Reader, "records")
    directory = write_partition(tmp_path, {0: BATCHES[:90]}, indexed=False)
    root = tree(tmp_path, log_fresh_s=0.0, names_fresh_s=0.0)
    before = file(root)
    before.attributes()
    batches = BATCHES[:80] + BATCHES[85:90] if cut else BATCHES[:90]
    with (directory / f"{0:020}.log").open("r+b") as log:
        log.truncate(sum(len(batch.data) for batch in BATCHES[:80]))
        log.seek(0, 2)
        log.write(b"".join(batch.data for batch in batches[80:]))
    (directory / f"{900:020}.log").write_bytes(b"".join(batch.data for batch in BATCHES[90:]))
    assert file(root).attributes().size == len(text_of(batches + BATCHES[90:]))
    assert [start for _, start, _ in begun] == [0, 0 if cut else 900]
    if not cut:
        assert read(before.open()) == text_of(BATCHES[:90])
    assert cat(root, RANGE) == text_of(batches + BATCHES[90:])


def test_what_was_cut_is_not_opened_as_what_was_reported(tmp_path):
    """The mount compares sizes, and answers "Stale file handle"; the kernel then looks the name up again."""
    directory = write_partition(tmp_path, {0: BATCHES[:50]})
    root = tree(tmp_path, log_fresh_s=0.0, names_fresh_s=0.0)
    before = file(root)
    reported, held = before.attributes(), before.open()
    log = directory / f"{0:020}.log"
    with log.open("r+b") as cut:
        cut.truncate(sum(len(batch.data) for batch in BATCHES[:30]))
    append(directory, BATCHES[70])
    root.disks()[0].sweep()
    now = before.open()
    assert now.size != reported.size
    assert read(now) == text_of(BATCHES[:30] + BATCHES[70:71])
    try:
        assert read(held) == text_of(BATCHES[:50])
    except Vanished:
        held.close()


def test_a_text_is_made_again_though_what_stands_behind_it_was_compacted(tmp_path):
    """How a transaction of it ended is read behind it, too: in the log as it is now, and not in one that is gone."""
    segments = {0: [data(0, 7)], 1: [made(1, [5]), marker(2, 7, commit=True)], 3: [made(3, [6])]}
    directory = write_partition(tmp_path, segments)
    root = tree(tmp_path, isolation="read_committed", log_fresh_s=0.0, names_fresh_s=0.0)
    name = "t-0/by-offset/0..1.jsonl"

    def whole() -> bytes:
        found = file(root, name)
        size, content = found.attributes().size, found.open()
        text = read(content)
        content.close()
        assert len(text) == size > 0
        return text

    before = whole()
    write_partition(tmp_path / "cleaned", {1: segments[1][1:]}, indexed=False)
    (tmp_path / "cleaned" / "t-0" / f"{1:020}.log").rename(directory / f"{1:020}.log")
    assert whole() == before
    assert whole() == before


def test_one_that_was_never_looked_up_is_a_stream(tmp_path):
    """`kafkafs cat` asks for no size, and does not pay for one."""
    write_partition(tmp_path, {0: BATCHES})
    assert file(tree(tmp_path)).open().size is None


@pytest.mark.parametrize("name", [RANGE, ".topics/t/by-time/0...jsonl"])
def test_a_measurement_goes_on_without_another_look_at_the_logs(tmp_path, monkeypatch, calls, name):
    """Regression: of 3,000 partitions or 20,000 segments a look filled the whole time slice, and no size was found."""
    monkeypatch.setattr(merged_lines, "ROOMS", Buffers(20_000, keep=4))
    monkeypatch.setattr(merged_lines, "LITTLE", 9_000)
    for number in range(3):
        write_partition(tmp_path, spread(BATCHES, 3), f"t-{number}")
    root, asked, slices = tree(tmp_path, limits=TextLimits(part_s=0.0)), calls(PartitionView, "ask"), 0
    found, about = file(root, name), None
    while about is None:
        slices += 1
        with suppress(Unfinished), time_slice(0.0):
            about = found.attributes()
    assert slices > 10
    assert len(asked) == (1 if name == RANGE else 3)
    assert about.size == len(text_of(BATCHES)) * len(asked)
    assert len(read(found.open())) == about.size
