"""Mounts for tests that start without the imports of `kafkafs mount`, which take half a second of a processor each.

The first mount of a test process starts a server. It imports what `kafkafs mount` imports before it confines itself,
and runs nothing. For each mount the server forks a child, which becomes the command: with its own arguments,
environment, directory, streams and limits of stores it calls the same `main` as the script, and ends with it. A waiter
between them reports the exit code. Tests of the command's start, of its libraries and of its rights run the script.

    test process --socket: words, environment, log, pipe--> server --fork--> waiter --fork--> the mount
                 <--pipe: process id, exit code-------------------------------'
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from kafkafs.disk import store_session

HERE = Path(sys.executable).parent
PROGRAMS = {
    (str(HERE / "kafkafs"),): "kafkafs.cli.main",
    (sys.executable, "-m", "tests.fuse.shelf"): "tests.fuse.shelf",
}
"""How a command begins, and the module whose `main` it runs."""

FITTING = ("env", "cwd", "start_new_session")
"""What a child of the server can be given of the arguments of a `subprocess.Popen`."""

ROOT = Path(__file__).parents[1]


class ForkedMount:
    """A process of the server's. It answers as a `subprocess.Popen` does."""

    def __init__(self, module: str, words: Sequence[str], log: int, popen: Mapping[str, Any]) -> None:
        self._report, theirs = os.pipe()
        request = {
            "module": module,
            "words": words,
            "environment": dict(popen.get("env", os.environ)),
            "cwd": str(Path(popen.get("cwd", ".")).absolute()),
            "new session": popen.get("start_new_session", False),
            "niceness": os.getpriority(os.PRIO_PROCESS, 0),
            "store limits": asdict(store_session.current.limits),
        }
        try:
            socket.send_fds(_server(), [json.dumps(request).encode()], [log, theirs])
        finally:
            os.close(theirs)
        self.pid = self._number()
        self.returncode: int | None = None

    def _number(self) -> int:
        """The number in the next line of the report."""
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(self._report, 1)
            assert byte, "the server of mounts has ended"
            line += byte
        return int(line)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, or TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._report], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("mount", timeout or 0)
            self.returncode = self._number()
            os.close(self._report)
        return self.returncode

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number: int) -> None:
        """Nothing if it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """As `send_signal`."""
        self.send_signal(signal.SIGKILL)


def start(command: Sequence[str | Path], log: int, popen: Mapping[str, Any]) -> subprocess.Popen[bytes] | ForkedMount:
    """Run a command that mounts: a child of the server if it is one of `PROGRAMS`, with the libraries of the tests."""
    libraries = popen.get("env", os.environ).get("PYTHONPATH")
    if popen.keys() <= set(FITTING) and libraries == os.environ.get("PYTHONPATH"):
        words = [str(word) for word in command]
        for beginning, module in PROGRAMS.items():
            if words[: len(beginning)] == list(beginning):
                return ForkedMount(module, [words[0], *words[len(beginning) :]], log, popen)
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **popen)


@cache
def _server() -> socket.socket:
    """The socket of this process's server. The server ends when the socket is closed with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", __name__, str(theirs.fileno())]
    with theirs:
        null = subprocess.DEVNULL
        subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()], stdin=null, stdout=null)
    return ours


def _serve(channel: socket.socket) -> int:
    """Fork a mount for each request until the test process has ended. A mount's process returns its exit code here."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the waiters
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, 1 << 20, 2)
        if not message:
            return 0
        log, report = descriptors
        if os.fork() == 0:
            channel.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            request = json.loads(message)
            os.setpriority(os.PRIO_PROCESS, 0, request["niceness"])
            if (child := os.fork()) == 0:
                return _mount(request, log)
            os.write(report, b"%d\n" % child)
            _, status = os.waitpid(child, 0)
            os.write(report, b"%d\n" % os.waitstatus_to_exitcode(status))
            os._exit(0)
        os.close(log)
        os.close(report)


def _mount(request: Mapping[str, Any], log: int) -> int:
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    if request["new session"]:
        os.setsid()
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    os.chdir(request["cwd"])
    sys.argv = request["words"]
    store_session.current = store_session.StoreSession(store_session.StoreLimits(**request["store limits"]))
    return int(import_module(request["module"]).main())


if __name__ == "__main__":
    for module in (*PROGRAMS.values(), "kafkafs.cli.parser", "kafkafs.cli.mount", "kafkafs.cli.daemon"):
        import_module(module)
    sys.exit(_serve(socket.socket(fileno=int(sys.argv[1]))))
