"""`kafkafs demo`: it leaves nothing behind, whenever it is interrupted, unless it is told to."""

import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from kafkafs.cli.demo import unpacked_sample
from kafkafs.fuse.life.mountpoint import mounted_at
from tests.mounting import KAFKAFS, run, wait_until
from tests.without_fuse import without_fuse


def demo(scratch: Path, *flags: str) -> "subprocess.Popen[bytes]":
    """The demo as from a terminal: in a group of its own, which Ctrl-C reaches as a whole."""
    return subprocess.Popen(
        [KAFKAFS, "demo", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(scratch), "PATH": os.defpath}, process_group=0,
    )  # fmt: skip


def mounts(scratch: Path) -> list[str]:
    return [line for line in Path("/proc/self/mounts").read_text().splitlines() if f" {scratch}" in line]


@pytest.mark.sampled
@pytest.mark.parametrize("since", ["the start", "the mount point", "the mount"])
@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.1, 0.2, 0.3])
def test_ctrl_c_leaves_nothing_behind(tmp_path, since, after_s):
    """Regression: while it mounted, at 0.6 s, it was called a bug, and the mount and its directory stayed."""
    process = demo(tmp_path)
    if since == "the mount point":
        wait_until(lambda: list(tmp_path.glob("*/mount")))
    elif since == "the mount":
        wait_until(lambda: mounts(tmp_path))
    time.sleep(after_s)  # the moment is what is tried
    os.killpg(process.pid, signal.SIGINT)
    _, reported = process.communicate(timeout=300)
    if since != "the start":  # when it may still be Python's turn
        assert reported == b""
        assert process.returncode in (130, 0)
    wait_until(lambda: not mounts(tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", ["open", "mkdir"])
def test_ctrl_c_while_a_name_is_found_leaves_nothing_behind(tmp_path, monkeypatch, call):
    """Regression: tempfile's trial file stayed, and so would a directory that was not yet known."""
    whole = getattr(os, call)

    def interrupted(*arguments: Any, **named: Any) -> Any:
        done = whole(*arguments, **named)
        monkeypatch.undo()
        signal.raise_signal(signal.SIGINT)
        return done

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(os, call, interrupted)
    try:
        with pytest.raises(KeyboardInterrupt), unpacked_sample(keep=False):
            pass
    finally:
        signal.signal(signal.SIGINT, before)
        tempfile.tempdir = None
    assert list(tmp_path.iterdir()) == []


def test_kept_it_stays_mounted_and_says_how_to_end_it(tmp_path):
    """For the examples of the pages. What it says can be typed where kafkafs is not on the PATH (`scripts/demo`)."""
    process = demo(tmp_path, "--keep")
    shown, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    reported = re.search(r"It stays mounted at (\S+)\. To end it: (.+)\n", shown.decode())
    assert reported
    place = Path(reported[1])
    try:
        assert mounted_at(place) is not None
        assert run("cat", place / "test-0/by-offset/23400.value").stdout == b"message 23400........"
    finally:
        run("bash", "-c", reported[2], env=os.environ | {"PATH": os.defpath})
    assert mounts(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="a namespace without /dev/fuse takes root")
def test_without_fuse_the_walk_goes_on_by_ls_and_cat(tmp_path):
    """In a container nobody sees the sample else, and it is what people try first."""
    (tmp_path / "dev").mkdir()
    walk = {}
    for name, command in (("with", [KAFKAFS, "demo"]), ("without", without_fuse(tmp_path / "dev", KAFKAFS, "demo"))):
        done = run(*command, env=os.environ | {"TMPDIR": str(tmp_path)})
        steps = re.findall(r"^# (.*)\n\$ (.*)\n((?:(?!\n# ).*\n)*)", done.stdout.decode(), re.M)
        walk[name] = {text: (asked, printed.split("\n\n")[0]) for text, asked, printed in steps}
        said = done.stderr.decode()
    assert "there is no /dev/fuse: load the kernel module" in said
    assert "`kafkafs ls`, `cat` and `stat` answer the same without a mount" in said
    walk["without"].pop("So the walk goes on without a mount: the same names, the same bytes.", None)
    assert len(walk["without"]) >= 10
    for text, (asked, printed) in walk["without"].items():
        assert "kafkafs " in asked
        if "info.json" not in asked and "-l" not in asked and "stat" not in asked:
            assert printed == walk["with"][text][1], text
    assert list(tmp_path.iterdir()) == [tmp_path / "dev"]


@pytest.mark.skipif(os.geteuid() != 0, reason="a namespace without /dev/fuse takes root")
def test_kept_without_fuse_it_says_how_to_end_it(tmp_path):
    (tmp_path / "dev").mkdir()
    command = without_fuse(tmp_path / "dev", KAFKAFS, "demo", "--keep")
    done = run(*command, env=os.environ | {"TMPDIR": str(tmp_path)})
    ending = done.stdout.decode().rpartition("To end it: ")[2]
    run("sh", "-c", ending)
    assert list(tmp_path.iterdir()) == [tmp_path / "dev"]
