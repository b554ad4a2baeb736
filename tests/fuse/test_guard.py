"""The processes of one mount, without a mount: who waits for whom, whose signals and codes are passed on, and who is
told that the mount answers. What they leave behind of a real one: `test_mounting`.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from kafkafs.fuse.life.guard import FORWARDED, notifier
from tests.fuse.conftest import ROOT
from tests.mounting import PATIENCE_S, wait_until

PROGRAM = """
import os, signal, sys, time
from pathlib import Path
from kafkafs.fuse.life.guard import supervise, supervise_in_background
from kafkafs.fuse.life import mountpoint
place, how, does = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

def note(line):
    with open(place / "log", "a") as log:
        print(line, file=log)

def daemon(is_ready):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, lambda number, _: note(signal.Signals(number).name))
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    note(f"daemon {os.getpid()}")
    if does == "fail":
        print("one sentence", file=sys.stderr, flush=True)
        return 3
    if does == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    while does == "late" and not (place / "go").exists():
        time.sleep(0.01)
    if does != "hang":
        is_ready()
    print("nobody's terminal", file=sys.stderr, flush=True)
    while "SIGTERM" not in (place / "log").read_text():
        time.sleep(0.01)
    return 5

code = (supervise if how == "foreground" else supervise_in_background)(place, daemon)
note(f"caller {code}")
sys.exit(code)
"""
"""A command whose daemon notes each signal that it gets, and ends in order with exit code 5 after a SIGTERM."""


class Command:
    """The command, run in a directory of its own."""

    def __init__(self, place: Path, how: str, does: str = "serve") -> None:
        self._log = place / "log"
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, place, how, does], cwd=ROOT, stderr=subprocess.PIPE, start_new_session=True
        )

    def said(self) -> list[str]:
        return self._log.read_text().split("\n")[:-1] if self._log.exists() else []

    def has_said(self, line: str) -> bool:
        return line in self.said()

    def daemon(self) -> int:
        wait_until(lambda: any(line.startswith("daemon") for line in self.said()))
        return next(int(line.split()[1]) for line in self.said() if line.startswith("daemon"))

    def ended(self) -> tuple[int, bytes]:
        """Its exit code, and what it and the daemon said on its standard error."""
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, errors


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_signals_go_on_to_the_daemon_and_its_exit_code_comes_back(tmp_path):
    command = Command(tmp_path, "foreground")
    command.daemon()
    for number in (signal.SIGUSR1, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        command.process.send_signal(number)
        wait_until(partial(command.has_said, number.name))
        assert number in FORWARDED
    assert command.ended()[0] == 5
    assert command.said()[1:] == ["SIGUSR1", "SIGHUP", "SIGINT", "SIGTERM", "caller 5"]


@pytest.mark.parametrize("how", ["foreground", "background"])
def test_a_daemon_that_cannot_begin_says_why_where_it_was_called(tmp_path, how):
    """In the background too, as long as the mount does not answer."""
    assert Command(tmp_path, how, "fail").ended() == (3, b"one sentence\n")


@pytest.mark.parametrize("how", ["foreground", "background"])
def test_a_daemon_that_is_killed_is_a_code_as_a_shell_has_it(tmp_path, how):
    code, errors = Command(tmp_path, how, "die").ended()
    assert code == 128 + signal.SIGKILL
    assert errors == (b"the daemon was ended by signal 9\n" if how == "foreground" else b"")


def test_in_the_background_the_caller_returns_and_its_terminal_is_let_go(tmp_path):
    """Standard error is a pipe here: were it still held, `ended` would wait for the daemon's end."""
    command = Command(tmp_path, "background")
    assert command.ended() == (0, b"")
    daemon = command.daemon()
    assert is_alive(daemon)
    assert os.getsid(daemon) != command.process.pid
    assert Path(f"/proc/{daemon}/cwd").readlink() == Path("/")
    os.kill(daemon, signal.SIGTERM)
    wait_until(lambda: not is_alive(daemon))


def test_who_is_interrupted_before_the_mount_answers_leaves_no_daemon(tmp_path):
    """Its caller has given up; a mount that comes up afterwards would surprise him."""
    command = Command(tmp_path, "background", "hang")
    daemon = command.daemon()
    command.process.send_signal(signal.SIGINT)
    code, errors = command.ended()
    assert b"KeyboardInterrupt" in errors
    assert code == -signal.SIGINT
    wait_until(lambda: not is_alive(daemon))


@pytest.mark.parametrize("how", [signal.SIGHUP, signal.SIGKILL])
def test_who_is_killed_before_the_mount_answers_leaves_no_daemon_either(tmp_path, how):
    """Regression: the mount stood all the same, with the caller's standard error open for as long."""
    command = Command(tmp_path, "background", "late")
    daemon = command.daemon()
    command.process.send_signal(how)
    command.process.wait(PATIENCE_S)
    (tmp_path / "go").touch()
    assert command.ended()[0] == -how
    wait_until(lambda: not is_alive(daemon))
    assert command.has_said("SIGTERM")


def test_a_supervisor_that_is_killed_takes_the_daemon_with_it_in_order(tmp_path):
    command = Command(tmp_path, "foreground")
    daemon = command.daemon()
    command.process.kill()
    wait_until(lambda: not is_alive(daemon))
    assert command.said()[1:] == ["SIGTERM"]


@pytest.fixture(params=["path", "abstract"])
def listening(request, tmp_path, monkeypatch) -> Iterator[socket.socket]:
    """What systemd listens on: a file, or a name in the abstract namespace, which it writes with an @."""
    name = str(tmp_path / "notify") if request.param == "path" else f"@kafkafs-{tmp_path.name}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind("\0" + name[1:] if name.startswith("@") else name)
        channel.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        yield channel


def test_systemd_is_notified_when_the_mount_answers_and_not_before(listening):
    """Units that are ordered behind it would find an empty directory."""
    notify = notifier()
    with pytest.raises(BlockingIOError):
        listening.recv(1000)
    notify()
    assert listening.recv(1000).split(b"\n")[0] == b"READY=1"


def test_the_socket_is_reached_though_its_address_is_out_of_reach_by_then(listening, monkeypatch):
    """The daemon is confined in between: no other file or socket can be opened any more."""
    notify = notifier()
    monkeypatch.setenv("NOTIFY_SOCKET", "/nowhere")
    notify()
    assert listening.recv(1000).startswith(b"READY=1")


def test_systemd_is_notified_once(listening):
    notify = notifier()
    notify()
    notify()
    assert listening.recv(1000)
    with pytest.raises(BlockingIOError):
        listening.recv(1000)


def test_a_systemd_that_went_away_ends_no_mount(listening):
    notify = notifier()
    listening.close()
    notify()


@pytest.mark.parametrize("address", ["", "/nowhere/notify"])
def test_without_systemd_nothing_happens(address, monkeypatch):
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    notifier()()
    monkeypatch.delenv("NOTIFY_SOCKET")
    notifier()()
