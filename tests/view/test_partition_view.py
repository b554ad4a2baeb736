"""What a partition's views share: one state of the log and one look at a time, and attributes from its files."""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from kafkafs.disk import local_directory
from kafkafs.disk.blocking import non_blocking
from kafkafs.errors import Vanished, WouldBlock
from kafkafs.view import partition_view
from kafkafs.view.node import KEEP_S, FileNode
from kafkafs.view.partition_view import PartitionView
from kafkafs.view.tree import PartitionDirectory, Root
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.log.making import Made, made, write_partition
from tests.mounting import wait_until
from tests.view.trees import cat, node, read, tree


@pytest.fixture
def view(tmp_path) -> PartitionView:
    return first_view(tmp_path)


def first_view(place: Path, **options: Any) -> PartitionView:
    write_partition(place, {0: [made(0, [1])], 1: [made(1, [2])]})
    return cast(PartitionDirectory, node(tree(place, **options), "t-0")).view


def test_a_state_of_the_log_is_one_object(view, tmp_path):
    """What was found in it can be remembered by it."""
    before = view.partition.look()
    assert view.partition.look() is before
    with open(tmp_path / "t-0" / f"{1:020}.log", "ab") as file:
        file.write(made(2, [3]).data)
    wait_until(lambda: view.partition.look() is not before)
    assert view.partition.look().log.end_offset == 3


def test_a_question_is_asked_again_where_files_vanish(view):
    """Retention removes a segment between a look and a read; the reader gets the state after, not an error."""
    asked = []

    def question(look):
        asked.append(look)
        if len(asked) < 3:
            raise Vanished("gone")
        return "answer"

    assert view.ask(question) == "answer"

    def hopeless(_):
        raise Vanished("gone")

    with pytest.raises(Vanished):
        view.ask(hopeless)


@pytest.mark.parametrize(
    "name",
    ["by-offset/end..", "by-offset/end...follow.jsonl", "by-time/now...follow.jsonl", "by-offset/0..0.batches.jsonl"],
)
def test_what_is_empty_yet_grants_no_more_than_the_log_that_it_will_be_read_from(tmp_path, name):
    """Regression: it had the directory's mode, and who opened it read on as the log grew."""
    directory = write_partition(tmp_path, {0: [made(0, [1])]})
    log = directory / f"{0:020}.log"
    directory.chmod(0o755)
    log.chmod(0o600)
    about = cast(FileNode, node(tree(tmp_path), f"t-0/{name}")).attributes()
    assert (about.mode, about.size, about.mtime_ns) == (0o400, 0, log.stat().st_mtime_ns)


def test_a_view_over_several_files_grants_what_all_of_them_do(view, tmp_path):
    first, second = (tmp_path / "t-0" / f"{base:020}.log" for base in (0, 1))
    first.chmod(0o640)
    second.chmod(0o604)
    files = [segment.log() for segment in view.partition.look().log.segments]
    assert view.file_attributes(files[:1], 5, 7, 0.5).mode == 0o440
    both = view.file_attributes(files, 513, 7, 0.5)
    assert (both.mode, both.size, both.blocks, both.mtime_ns, both.timeout_s) == (0o400, 513, 0, 7_000_000, 0.5)
    assert view.file_attributes(files, 0, -1, 0.0).mtime_ns == second.stat().st_mtime_ns
    assert view.file_attributes(files, 0, 2**63 - 1, 0.0).mtime_ns == second.stat().st_mtime_ns


@pytest.mark.parametrize("suffix", ["", ".jsonl"])
def test_a_segment_that_compaction_emptied_has_the_time_of_its_own_file(tmp_path, suffix):
    """Regression: raw ranges without a batch had the time of the growing segment's, so a calendar had one day."""
    directory = write_partition(tmp_path, {0: [], 5: [made(5, [1])]})
    for base in (0, 5):
        os.utime(directory / f"{base:020}.log", ns=(0, 1_600_000_000_000_000_000 + base))
    about = cast(FileNode, node(tree(tmp_path), f"t-0/by-offset/{0:020}..{5:020}{suffix}")).attributes()
    assert (about.size, about.mtime_ns) == (0, 1_600_000_000_000_000_000)


def test_a_directory_is_reported_at_once(tmp_path):
    """`ls -l` of a data directory asks for each: a worker for each took 8 s for 10,000, each time."""
    now = [100.0]
    write_partition(tmp_path, {0: [made(0, [1])]})
    root = tree(tmp_path, names_fresh_s=60.0, clock=lambda: now[0])
    with non_blocking():
        assert node(root, "t-0").attributes().mode == 0o555
    (tmp_path / "t-0").chmod(0o500)
    now[0] += KEEP_S
    with non_blocking():
        assert node(root, "t-0").attributes().mode == 0o500


def test_a_directory_that_somebody_else_must_be_asked_for_takes_a_worker(tmp_path, monkeypatch):
    monkeypatch.setattr(local_directory, "is_remote", lambda _: True)
    view = first_view(tmp_path)
    with non_blocking(), pytest.raises(WouldBlock):
        view.directory_attributes()
    assert view.directory_attributes().kind == "directory"


def test_an_empty_view_is_the_directorys(view, tmp_path):
    (tmp_path / "t-0").chmod(0o750)
    wait_until(lambda: view.directory_attributes().mode == 0o550, 2 * KEEP_S)
    assert view.file_attributes([], 0, -1, 0.0).mode == 0o440
    assert (view.link_attributes().kind, view.link_attributes().mode) == ("symlink", 0o777)


def test_what_many_logs_grant_is_asked_once_a_moment(calls, tmp_path):
    """Tools ask for attributes several times; a change of modes shows within a second all the same."""
    looks = calls(partition_view, "attributes_of_logs")
    logs = write_partition(tmp_path, {base: [made(base, [1])] for base in range(20)}).glob("*.log")
    view = cast(PartitionDirectory, node(tree(tmp_path), "t-0")).view
    first = view.stream_attributes(view.partition.look(), 0, None)
    assert view.stream_attributes(view.partition.look(), 0, None) == first
    assert len(looks) == 1
    for log in logs:
        log.chmod(0o600)
    wait_until(lambda: view.stream_attributes(view.partition.look(), 0, None).mode == 0o400)


@pytest.mark.parametrize("number", [0, 17, 19])
@pytest.mark.parametrize("change", ["mode", "group", "acl", "replaced", "gone"])
def test_of_many_logs_one_that_grants_less_decides(tmp_path, number, change):
    """Nobody may read more through a view over many logs than through each of them."""
    write_partition(tmp_path, {base: [made(base, [1])] for base in range(20)})
    file = tmp_path / "t-0" / f"{number:020}.log"
    for each in (tmp_path / "t-0").glob("*.log"):
        each.chmod(0o644)
    view = cast(PartitionDirectory, node(tree(tmp_path), "t-0")).view
    look = view.partition.look()
    assert view.stream_attributes(look, 0, None).mode == 0o444
    if change == "mode":
        file.chmod(0o600)
    elif change == "group":
        os.chown(file, -1, file.stat().st_gid + 1)
        file.chmod(0o640)
    elif change == "acl":
        subprocess.run(["setfacl", "-m", "u:1:-", str(file)], check=True)
    elif change == "replaced":
        shutil.copy(file, tmp_path / "other")
        (tmp_path / "other").rename(file)
        assert partition_view.granted_by_all(look.log.segments) is None
        return
    else:
        file.rename(file.with_suffix(".log.deleted"))
        assert partition_view.granted_by_all(look.log.segments) is None
        return
    found = partition_view.granted_by_all(look.log.segments)
    assert found is not None
    assert found[0].mode & 0o004 == 0


POINTS = ["by-offset/latest", "by-offset/-1", "by-time/latest", "by-time/end-0s", "by-time/before-9999", "by-key/K"]
SUFFIXES = ["", ".jsonl", ".value", ".batches.jsonl", ".explain"]
MOVING = [
    *(f"{point}{suffix}" for point in POINTS for suffix in SUFFIXES if f"{point}{suffix}" != "by-key/K.batches.jsonl"),
    *(f"by-offset/-2..-0{suffix}" for suffix in ("", ".jsonl", ".batches.jsonl")),
]


@pytest.mark.parametrize("name", MOVING)
def test_what_is_opened_is_what_was_reported(tmp_path, name):
    """The log of a busy topic grows between the two, and the kernel takes another size for a stale file."""
    log, root, point, text = reported_of(tmp_path, name)
    with open(log, "ab") as file:
        file.write(keyed(2, 300).data)
    assert len(cat(root, "t-0/by-offset/2.value")) == 300
    assert read(point.open()) == text
    assert cat(root, f"t-0/{name}") != text


@pytest.mark.parametrize("name", [name for name in MOVING if not name.endswith(".explain")])
def test_what_was_reported_is_not_opened_of_another_log(tmp_path, name):
    """One that was cut since, and written anew."""
    log, root, point, _ = reported_of(tmp_path, name)
    log.write_bytes(keyed(0, 10).data + keyed(1, 33).data)
    with suppress(Vanished):
        assert read(point.open()) == cat(root, f"t-0/{name}")


def reported_of(place: Path, name: str) -> tuple[Path, Root, FileNode, bytes]:
    """The log, the tree, the name's node, which has told of its size, and its text."""
    log = write_partition(place, {0: [keyed(0, 10), keyed(1, 20)]}) / f"{0:020}.log"
    root = tree(place, log_fresh_s=0.0)
    cat(root, f"t-0/{name}")  # a key is looked for but once, as `.explain` has it
    text, point = cat(root, f"t-0/{name}"), cast(FileNode, node(root, f"t-0/{name}"))
    assert point.attributes().size == len(text)
    return log, root, point, text


def keyed(offset: int, size: int) -> Made:
    record = Record(offset, 1000 + offset, 0, b"K", b"%d" % (offset % 10) * size)
    return Made(v2_batch([record]), (record,))
