"""What somebody may have planted in a data directory: links, devices, names and contents that speak to terminals."""

import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs.sample import unpack
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.mounting import KAFKAFS, Mounted, mounting, run
from tests.promises import at_most

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r\n2026-01-01 ERROR forged"
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What a terminal obeys, or what turns its text around; the line feed ends a line."""

LOG = "00000000000000023147.log"
PARTITIONS = 20_000


def text_of(*command: str | Path, check: bool = True) -> str:
    done = run(*command, check=check)
    return (done.stdout + done.stderr).decode(errors="surrogateescape")


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """The sample, and beside it everything that is hostile."""
    scratch = Path(tempfile.mkdtemp(dir="/tmp"))
    data = unpack(scratch)
    (scratch / "secret-0").mkdir()
    (scratch / "secret-0" / LOG).write_bytes((data / "test-0" / LOG).read_bytes())
    (data / "linked-0").symlink_to(scratch / "secret-0")
    for name in ("inside", "fifo", "device", "directory", "gap"):
        shutil.copytree(data / "test-0", data / f"{name}-0")
        (data / f"{name}-0" / LOG).unlink()
    (data / "inside-0" / LOG).symlink_to(scratch / "secret-0" / LOG)
    os.mkfifo(data / "fifo-0" / LOG)
    os.mknod(data / "device-0" / LOG, 0o020644, os.makedev(1, 5))  # /dev/zero
    (data / "directory-0" / LOG).mkdir()
    os.mkfifo(data / "test-0" / "fifo")
    (data / "test-0" / "link").symlink_to("/etc/passwd")
    for name in (
        f"{EVIL}-0",
        "x\n2026 ERROR-0",
        "b\x9bx-0",
        f"{'n' * 250}-0",
        "\u202etxt-0",
        "..-0",
        "a b-0",
        "\udcff-0",
    ):
        shutil.copytree(data / "test-0", data / os.fsencode(name).decode(errors="surrogateescape"), symlinks=True,
                        ignore=shutil.ignore_patterns("fifo", "link"))  # fmt: skip
        (data / "test-0" / name).write_bytes(b"x")
    (data / "evil-0").mkdir()
    evil = EVIL.encode()
    record = Record(0, 1000, 0, evil, evil, ((evil, evil),))
    (data / "evil-0" / f"{0:020d}.log").write_bytes(v2_batch([record]) + v2_batch([record])[:70])
    yield data
    shutil.rmtree(scratch)


@pytest.fixture(scope="module")
def mounted(data: Path) -> Iterator[Mounted]:
    place = data.with_name("mount")
    place.mkdir()
    with mounting([KAFKAFS, "mount", data, place], place, data.with_name("log")) as mounted:
        yield mounted


def test_links_fifos_and_devices_are_not_served(mounted):
    """Root may have been tricked into mounting what an intruder prepared; a FIFO would hang every `cat`."""
    names = run("ls", "-A", mounted.path).stdout.decode().split("\n")
    assert "linked-0" not in names
    assert run("ls", mounted / "linked-0", check=False).returncode != 0
    for partition in ("inside-0", "fifo-0", "device-0", "directory-0"):
        for view in ("by-offset/23400", "by-offset/23400.jsonl", f"segments/{LOG}", f"segments/{LOG}.txt"):
            done = run("cat", mounted / f"{partition}/{view}", check=False)
            assert (done.returncode, done.stdout) == (1, b""), (partition, view)
        problems = json.loads(run("cat", mounted / f"{partition}/info.json").stdout)["problems"]
        assert any("not served" in problem for problem in problems), partition
    assert run("ls", mounted / "test-0/segments/link", mounted / "test-0/segments/fifo", check=False).returncode == 2


def test_what_is_not_served_stands_in_the_log(mounted):
    """`info.json` of a linked partition does not exist: without the log nobody could find out."""
    assert "linked-0 is a symbolic link and not served" in mounted.log


def test_nothing_that_a_terminal_obeys_comes_out_of_names(mounted):
    """`ls | less`, `find`, a tab in a shell: a name is shown by many programs that do not escape."""
    found = text_of("find", mounted.path, "-maxdepth", "3", "-not", "-path", "*/by-*")
    assert not CONTROLS.search(found)
    assert "forged" not in found
    for name in (f"{EVIL}-0", "x\n2026 ERROR-0", "n" * 4000, f"evil-0/by-offset/{EVIL}", f"evil-0/segments/{EVIL}"):
        assert run("cat", mounted.path / name, check=False).returncode == 1


def test_keys_and_values_cannot_speak_to_a_terminal(mounted, data):
    """Decoded lines escape them; explanations, block tables, the log and errors do not show them at all."""
    line = run("cat", mounted / "evil-0/by-offset/0.jsonl").stdout.decode()
    assert json.loads(line)["value"] == EVIL
    bidi = re.compile("[\u202a-\u202e\u2066-\u2069]")  # no control, and part of honest right-to-left text
    assert not CONTROLS.search(bidi.sub("", line))
    others = [text_of("cat", mounted / f"evil-0/by-offset/{name}") for name in ("0.explain", "0.batches.jsonl")]
    others += [
        text_of("cat", mounted / name) for name in ("evil-0/info.json", ".kafkafs/status.json", ".kafkafs/metrics")
    ]
    others.append(run(KAFKAFS, "dump", "--files", data / "evil-0" / EVIL, check=False).stderr.decode())
    others.append(text_of(KAFKAFS, "mount", data / EVIL, data / EVIL, check=False))
    others.append(text_of(KAFKAFS, "umount", data / EVIL, check=False))
    others.append(text_of("getfattr", "-d", mounted / "evil-0/by-offset/0"))
    for text in [*others, mounted.log]:
        assert not CONTROLS.search(text), text
        assert "owned" not in text or "\\x1b" in text


def test_a_dump_of_a_hostile_directory_reports_without_controls(data):
    """Its report goes to standard error, which is a terminal more often than not."""
    done = run(KAFKAFS, "dump", "--files", data / "evil-0" / f"{0:020d}.log", "--deep-iteration", check=False)
    assert not CONTROLS.search(done.stderr.decode())


def test_twenty_thousand_partitions_cost_little_time_and_memory(tmp_path):
    """A million, measured once on two busy processors: 5 s to mount, 3 s to list, 0.7 GB."""
    data, place = tmp_path / "data", tmp_path / "mount"
    data.mkdir()
    place.mkdir()
    (data / "meta.properties").write_text("version=1\n")
    for number in range(PARTITIONS):
        (data / f"topic-{number}").mkdir()
    with mounting([KAFKAFS, "mount", data, place], place, tmp_path / "log") as mounted:
        started = time.monotonic()
        assert run("ls", "-f", place).stdout.count(b"\n") == PARTITIONS + 5  # ., .., .kafkafs, .cluster, .topics
        assert b"by-offset" in run("ls", place / "topic-4711").stdout
        run("df", place)
        assert time.monotonic() - started < at_most(10)
        assert mounted.status()["residentBytes"] < 200 << 20
