"""A mount that the server forks is the one that the script makes: the same ends, and the same process."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafkafs.sample import unpack
from tests.fork_server import ForkedMount, start
from tests.mounting import KAFKAFS, Mounted, mounting, run, wait_until

PROCESS = ("Groups:", "NoNewPrivs:", "Seccomp:", "SigBlk:", "SigIgn:", "SigCgt:", "CapEff:", "Uid:", "Gid:", "Umask:")

TOKYO_S = 9 * 3600


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return unpack(tmp_path)


def ended(command: list[str | Path], log: Path) -> tuple[int, bytes]:
    with open(log, "wb") as out:
        process = start(command, out.fileno(), {})
    assert isinstance(process, ForkedMount)
    return process.wait(300), log.read_bytes()


@pytest.mark.parametrize("words", [["-o", "no=such"], ["DATA"], ["/nowhere"]], ids=" ".join)
def test_what_is_asked_wrongly_ends_as_the_script_does(data: Path, tmp_path: Path, words: list[str]) -> None:
    place = tmp_path / "mount"
    command: list[str | Path] = [KAFKAFS, "mount", *(word.replace("DATA", str(data)) for word in words), data, place]
    done = run(*command, check=False)
    assert ended(command, tmp_path / "log") == (done.returncode, done.stderr)
    assert done.returncode == 2


@contextmanager
def both(data: Path, tmp_path: Path) -> Iterator[tuple[Mounted, Mounted]]:
    """A mount of the server's, and one of the script's, which an argument asks for that the server does not know."""
    places = [tmp_path / name for name in ("forked", "script")]
    for place in places:
        place.mkdir()
    words: list[list[str | Path]] = [[KAFKAFS, "mount", data, place] for place in places]
    options: dict[str, Any] = {"cwd": data, "env": os.environ | {"TZ": "Asia/Tokyo"}, "start_new_session": True}
    with (
        mounting(words[0], places[0], tmp_path / "forked.log", **options) as forked,
        mounting(words[1], places[1], tmp_path / "script.log", umask=-1, **options) as script,
    ):
        yield forked, script


def about(mounted: Mounted, pid: int) -> list[object]:
    """What the kernel tells of a process of a mount."""
    proc = Path(f"/proc/{pid}")
    status = [line for line in (proc / "status").read_text().splitlines() if line.startswith(PROCESS)]
    descriptors = [os.readlink(each) for each in sorted((proc / "fd").iterdir(), key=lambda each: int(each.name))]
    names = {str(mounted.log_path): "the log", str(mounted.path): "the mount point"}
    kinds = [names.get(name, name.partition(":")[0]) for name in descriptors]
    leads = os.getsid(pid) == mounted.process.pid
    return [status, kinds, os.readlink(proc / "cwd"), leads, os.getpriority(0, pid)]


def test_its_processes_are_those_of_the_script(data: Path, tmp_path: Path) -> None:
    began = time.time()
    with both(data, tmp_path) as (forked, script):
        assert isinstance(forked.process, ForkedMount)
        assert isinstance(script.process, subprocess.Popen)
        wait_until(lambda: bool(forked.log and script.log))  # written once it is mounted
        hours = {time.strftime("%Y-%m-%dT%H", time.gmtime(at + TOKYO_S)) for at in (began, time.time())}
        assert {each.log[:13] for each in (forked, script)} <= hours
        found = [[about(each, pid) for pid in (each.process.pid, each.status()["pid"])] for each in (forked, script)]
        assert found[0] == found[1]
        assert forked.process.poll() is None
        forked.process.send_signal(signal.SIGTERM)
        assert forked.process.wait(300) == 0
        script.process.kill()
        assert script.process.wait(300) == -signal.SIGKILL
