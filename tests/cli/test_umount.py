"""`kafkafs umount`: of a mount of kafkafs, however busy it is, and of nothing else."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs import sample
from kafkafs.cli import umount
from kafkafs.cli.main import main
from kafkafs.fuse.life.mountpoint import mounted_at, unmount
from tests.mounting import KAFKAFS, run, wait_until
from tests.nobody import NOBODY, takes_root
from tests.promises import at_most


@pytest.fixture
def place(open_path: Path) -> Iterator[Path]:
    """A mount of the sample, which a test may end or not."""
    path = open_path / "mount"
    path.mkdir()
    run(KAFKAFS, "mount", sample.unpack(open_path), path, "--background")
    yield path
    while mounted_at(path) is not None:
        unmount(path, lazily=True)


def test_a_busy_mount_is_ended_too(place):
    """The usual reason is a `tail -f` that somebody left."""
    follower = subprocess.Popen(["cat", place / "test-0/by-offset/23400...follow.jsonl"], stdout=subprocess.DEVNULL)
    wait_until(lambda: b'"waitingReads": 1' in run("cat", place / ".kafkafs/status.json").stdout)
    run(KAFKAFS, "umount", place)
    assert mounted_at(place) is None
    assert follower.wait(300) == 1


def test_a_daemon_that_does_not_answer_keeps_nobody(place, monkeypatch):
    """A stopped process names itself to no one, and its mount would stand for ever: it is taken away lazily."""
    monkeypatch.setattr(umount, "ANSWER_S", 0.1)
    pid = json.loads((place / ".kafkafs/status.json").read_bytes())["pid"]
    with open(place / ".kafkafs/README"):  # busy
        os.kill(pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            assert main(["umount", str(place)]) == 0
            assert time.monotonic() - began < at_most(umount.END_S)
            assert mounted_at(place) is None
        finally:
            os.kill(pid, signal.SIGCONT)


@takes_root
def test_a_mount_of_another_user_is_his(place, capfd):
    """Regression: fusermount3's own words were that there is no such entry in /etc/mtab."""
    child = os.fork()
    if child == 0:
        os.setuid(NOBODY)
        os._exit(main(["umount", str(place)]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    reported = f"kafkafs: {str(place)!r} cannot be unmounted: another user has mounted it, and only he or root may\n"
    assert capfd.readouterr().err == reported


@pytest.mark.parametrize("what", ["", "/proc"])
def test_what_is_not_ours_is_refused(what, tmp_path, capsys):
    assert main(["umount", what or str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"kafkafs: no kafkafs is mounted at {what or str(tmp_path)!r}\n"
