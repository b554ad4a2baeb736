"""Disks that change while `revive` reads them are refused by name. Once they stay as they are, the command goes on."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkafs.errors import UsageError, Vanished
from kafkafs.format.names import CLEAN_SHUTDOWN, META_PROPERTIES
from kafkafs.revive import job
from kafkafs.revive.job import planned, revive
from kafkafs.revive.place import REPORT
from kafkafs.revive.plan import Choices
from kafkafs.sample import unpack
from tests.kafka import broker as nodes
from tests.kafka.dataset import Dataset
from tests.revive.test_brokers import WHOLE

Change = Callable[[Path], None]


def log(source: Path, partition: str) -> Path:
    return max((source / partition).glob("*.log"))


def append(source: Path, partition: str = "test-0") -> None:
    """The first batch once more: its offsets are wrong there, so a scan would call it damage."""
    content = log(source, partition).read_bytes()
    with open(log(source, partition), "ab") as file:
        file.write(content[: int.from_bytes(content[8:12], "big") + 12])


def truncate(source: Path) -> None:
    os.truncate(log(source, "test-0"), 100)


def delete_segment(source: Path) -> None:
    log(source, "test-0").rename(log(source, "test-0").with_suffix(".log.deleted"))


def unlink_segment(source: Path) -> None:
    log(source, "test-0").unlink()


def roll(source: Path) -> None:
    (source / "test-0" / f"{23488:020}.log").touch()


def compact(source: Path) -> None:
    """The cleaner replaces a segment and keeps its time."""
    old = log(source, "payments-0")
    about = old.stat()
    new = old.with_suffix(".log.swap")
    new.write_bytes(old.read_bytes()[:0])
    os.utime(new, ns=(about.st_atime_ns, about.st_mtime_ns))
    new.rename(old)


def delete_topic(source: Path) -> None:
    (source / "orders-0").rename(source / f"orders-0.{'a' * 32}-delete")


def remove_topic(source: Path) -> None:
    shutil.rmtree(source / "orders-0")


def make_topic(source: Path) -> None:
    shutil.copytree(source / "orders-0", source / "new-0")


def commit(source: Path) -> None:
    append(source, "__consumer_offsets-0")


def move_checkpoint(source: Path) -> None:
    (source / "log-start-offset-checkpoint").write_text("0\n1\ntest 0 23200\n")


def start_broker(source: Path) -> None:
    """The first thing that it does is to take its mark of an orderly stop away."""
    (source / CLEAN_SHUTDOWN).unlink()


CHANGES: list[Change] = [
    append, truncate, delete_segment, unlink_segment, roll, compact, delete_topic, remove_topic, make_topic, commit,
    move_checkpoint, start_broker,
]  # fmt: skip


def changing(source: Path, change: Change, at: int) -> Callable[[int, int], None]:
    """A progress that changes the disks at one of its calls."""
    calls = iter(range(at + 1))

    def progress(done: int, size: int) -> None:
        if next(calls, None) == at:
            change(source)

    return progress


@pytest.mark.parametrize(
    ("change", "at", "corrupt"),
    [*((each, 4, "refuse") for each in CHANGES), *((each, 0, "skip") for each in (append, truncate, unlink_segment))],
)
def test_disks_that_change_are_refused(tmp_path, change, at, corrupt):
    """Regression: it said "finished", with records and offsets of several moments, or called it damage."""
    source, to = unpack(tmp_path), tmp_path / "new"
    (source / CLEAN_SHUTDOWN).write_text('{"version":0,"brokerEpoch":1}')
    with pytest.raises(
        Vanished, match=r"changed while they were read, in '.*stop the broker .* the same command goes on"
    ):
        revive([source], Choices(to=to, corrupt=corrupt), changing(source, change, at))
    assert json.loads((to / REPORT).read_text())["state"] == "unfinished"
    assert not (to / META_PROPERTIES).exists()


@pytest.mark.parametrize("change", [delete_topic, move_checkpoint])
def test_once_they_stay_the_same_the_same_command_goes_on(tmp_path, change):
    source, to = unpack(tmp_path), tmp_path / "new"
    with pytest.raises(Vanished):
        revive([source], Choices(to=to), changing(source, change, 4))
    report = revive([source], Choices(to=to))
    assert report["revived"] == planned([source], Choices(to=tmp_path / "other"))["revived"]
    for each in to.rglob("*.log"):
        assert each.read_bytes() == (source / each.relative_to(to)).read_bytes()


def test_a_plan_is_of_one_moment_too(tmp_path):
    source = unpack(tmp_path)
    with pytest.raises(Vanished, match="kafka-logs/test-0'"):
        planned([source], Choices(to=tmp_path / "new"), changing(source, append, 0))


@pytest.mark.parametrize("work", [planned, revive])
def test_a_change_after_the_last_log_was_read_is_refused_too(tmp_path, monkeypatch, work):
    """Notes of brokers and the commits of groups are read at the end."""
    source = unpack(tmp_path)

    def change(*_):
        append(source)
        return iter(())

    monkeypatch.setattr(job, "offsets_beyond", change)
    with pytest.raises(Vanished, match="kafka-logs/test-0'"):
        work([source], Choices(to=tmp_path / "new"))


def test_only_the_first_directories_are_named(tmp_path):
    source = unpack(tmp_path)

    def change(_: Path) -> None:
        for each in source.rglob("*.log"):
            each.touch()

    with pytest.raises(Vanished, match=r"in ('[^']*', ){4}'[^']*' and 2 more: stop"):
        planned([source], Choices(to=tmp_path / "new"), changing(source, change, 0))


def test_reading_changes_nothing_itself(tmp_path):
    """Hard links change a file's attributes, and not its time."""
    for method in ("copy", "link"):
        revive([unpack(tmp_path / method)], Choices(to=tmp_path / f"new-{method}", method=method))


@pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")
@pytest.mark.parametrize("is_left_running", [False, True])
def test_a_broker_that_is_started_meanwhile_is_noticed(tmp_path, is_left_running):
    """On a copy of a broker's disk; it is stopped again, or runs on."""
    home, to = tmp_path / "home", tmp_path / "new"
    shutil.copytree(Dataset("4.3.1", "stopped").path, home / "data")
    running = []

    def start(_: Path) -> None:
        running.append(nodes.start("4.3.1", home))
        if not is_left_running:
            running[0].stop()

    try:
        with pytest.raises(UsageError if is_left_running else Vanished, match="broker"):
            revive([home / "data"], Choices(to=to, corrupt="skip"), changing(home / "data", start, 9))
    finally:
        for each in running:
            each.stop()
    report = revive([home / "data"], Choices(to=to, corrupt="skip"))
    reported = planned([home / "data"], Choices(to=tmp_path / "other", corrupt="skip"))
    assert report["revived"] == reported["revived"]
