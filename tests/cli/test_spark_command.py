"""What the commands on Spark share: what they read and write, where they run, how far they are."""

import argparse
import os
from dataclasses import replace
from pathlib import Path

import pytest

from kafkafs.cli import spark_command, status_line
from kafkafs.cli.spark_command import (
    SparkProgress,
    engine,
    file_to_write,
    is_local,
    named_directories,
    write_shown,
)
from kafkafs.errors import UsageError
from kafkafs.fuse.life.mountpoint import FILESYSTEM, Mount
from kafkafs.spark.jobs import Step
from kafkafs.tables.local import LocalEngine
from tests.cli.test_status_line import terminal
from tests.nobody import as_nobody, takes_root


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/meta.properties").write_text("version=1\nbroker.id=1\n")
    return tmp_path / "data"


def test_a_directory_is_read_once_however_it_is_named(data, monkeypatch):
    """Twice, every record would be counted twice."""
    monkeypatch.chdir(data.parent)
    words = ["data", str(data), f"file://{data}", str(data.parent / "dat*")]
    assert named_directories(words) == (data,)


@pytest.mark.parametrize("word", ["nowhere", "file", "*.none"])
def test_what_is_no_data_directory_is_refused_with_a_sentence(word, tmp_path):
    """Spark takes seconds to start, and its own error would be a page."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError) as caught:
        named_directories([str(tmp_path / word)])
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_mount_is_refused_and_what_lies_behind_it_is_named(data, monkeypatch):
    """Its directories look like partitions and hold none of the broker's files."""
    mount = Mount(str(data), FILESYSTEM, "/var/kafka-logs", "0:50")
    monkeypatch.setattr(spark_command, "mounted_at", lambda path: mount)
    with pytest.raises(UsageError, match="is a mount of kafkafs; name the data directory behind it: /var/kafka-logs"):
        named_directories([str(data)])
    monkeypatch.setattr(spark_command, "mounted_at", lambda path: replace(mount, filesystem="xfs"))
    assert named_directories([str(data)]) == (data,)


def test_a_report_is_written_beside_the_data(data, monkeypatch):
    monkeypatch.chdir(data.parent)
    assert file_to_write(Path("report.html"), [data]) == data.parent / "report.html"
    (data.parent / "report.html").touch()
    assert file_to_write(Path("report.html"), [data]) == data.parent / "report.html", "which is overwritten"


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("data/report.html", "is inside a data directory, where nothing is written"),
        ("data/t-0/../report.html", "is inside a data directory"),
        ("link/report.html", "is inside a data directory"),
        ("missing/report.html", "there is no directory '.*/missing'"),
        ("beside", "it is a directory"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_report_that_could_not_be_written_is_refused_before_the_job(place, sentence, data):
    """An hour of reading, and then no file."""
    (data / "t-0").mkdir()
    (data.parent / "beside").mkdir()
    (data.parent / "link").symlink_to(data)
    with pytest.raises(UsageError, match=sentence):
        file_to_write(data.parent / place, [data])


@takes_root
@pytest.mark.parametrize("place", ["closed/report.html", "closed/in/report.html"])
def test_a_place_in_a_directory_that_may_not_be_entered_is_refused(place, data):
    """Regression: "this is a bug, please report it", for an ordinary user and a directory of root's."""
    (data.parent / "closed").mkdir(mode=0o700)
    with as_nobody(), pytest.raises(UsageError, match="cannot be written: Permission denied"):
        file_to_write(data.parent / place, [data])


def test_a_place_without_the_right_to_write_is_refused(data, monkeypatch):
    """Root may write anywhere, so the kernel's answer is put in its mouth."""
    asked: list[Path] = []

    def may(path: Path, mode: int) -> bool:
        asked.append(path)
        return False

    monkeypatch.setattr(os, "access", may)
    (data.parent / "old").touch()
    for name in ("new", "old"):
        with pytest.raises(UsageError, match="Permission denied"):
            file_to_write(data.parent / name, [data])
    assert asked == [data.parent, data.parent / "old"]


def test_by_default_the_processes_of_this_machine_are_taken():
    arguments = argparse.Namespace(engine=None, master=None)
    assert is_local(arguments)
    with SparkProgress("audit") as progress, engine(arguments, progress) as where:
        assert isinstance(where, LocalEngine)


def test_a_terminal_sees_that_spark_starts_then_the_job_then_nothing(monkeypatch):
    monkeypatch.setattr(status_line, "REDRAW_S", 0)
    with terminal() as seen, SparkProgress("audit") as progress:
        progress(Step("audit", 3, 6, 40_000_000, 80_000_000))
    lines = [line.strip() for line in seen[0].split("\r") if line.strip()]
    assert lines[0] == "audit: starting Spark…"
    assert lines[-1].endswith("3 of 6 parts]")
    assert seen[0].endswith("\r")


def test_a_file_is_written_for_those_whom_the_logs_are_for(tmp_path):
    """Regression: a page about logs of mode 0600 was for everybody. One that is closed already stays so."""
    for number, (before, mode, after) in enumerate(
        [(None, 0o600, 0o600), (0o644, 0o600, 0o600), (0o600, 0o644, 0o600)]
    ):
        place = tmp_path / str(number)
        if before is not None:
            place.write_text("longer than the new one")
            place.chmod(before)
        write_shown(place, "page", mode)
        assert (place.read_text(), place.stat().st_mode & 0o777) == ("page", after)


def test_what_is_no_file_is_written_as_well():
    write_shown(Path("/dev/null"), "page", 0o600)
    assert Path("/dev/null").stat().st_mode & 0o777 == 0o666


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(UsageError, match="cannot be written"):
        write_shown(tmp_path / "absent/page", "page", 0o600)
