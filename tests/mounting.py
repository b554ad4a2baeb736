"""Real mounts for tests, none of which can hang the run.

A mount that does not answer keeps its users in uninterruptible sleep, where even SIGKILL does not reach. So each mount
here has a guard: after `GUARD_S` in one test, or when a command overstays its deadline, the kernel is told to abort the
connection (`/sys/fs/fuse/connections`), which frees everybody; then the mount is taken away lazily and its processes
are killed. A mount that tests share stands again for the next one. Of a test that failed the report has each mount's
account of itself.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kafkafs.fuse.life.mountpoint import mounted_at, unmount
from tests.fork_server import start

KAFKAFS = Path(sys.executable).with_name("kafkafs")
CONNECTIONS = Path("/sys/fs/fuse/connections")
GUARD_S = 600.0  # below pytest's own limit for a test
COMMAND_S = 300.0
PATIENCE_S = 300.0
"""How long a test waits for what is to come: a busy machine takes its time, and where it comes this costs nothing. Less
than `GUARD_S`, so that it is said what did not come."""

READY_S = 300.0
END_S = 60.0
LOG_TAIL = 20_000  # characters of a log that are shown of a mount whose test failed
TELLING = ("Name:", "State:", "SigPnd:", "ShdPnd:", "SigBlk:", "SigIgn:")

_live: set["Mounted"] = set()


def resident_bytes(pid: int) -> int:
    """What a process has in memory, asked of the kernel: its own mount may be too busy to tell."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


class Mounted:
    """One mount and the process that was started for it."""

    def __init__(
        self, command: Sequence[str | Path], path: Path, log_path: Path, guard_s: float, popen: dict[str, Any]
    ) -> None:
        self.path = path
        self.log_path = log_path
        self._command = command
        self._guard_s = guard_s
        self._popen = popen
        self._begin()
        _live.add(self)

    def _begin(self) -> None:
        with open(self.log_path, "ab") as log:
            process = start(self._command, log.fileno(), self._popen)
        try:
            wait_until(lambda: mounted_at(self.path) is not None or process.poll() is not None, READY_S)
            found = mounted_at(self.path)
            if found is None:
                raise AssertionError(f"not mounted: {self.log}")
        except BaseException:
            process.kill()
            process.wait()
            raise
        self.process = process
        self.device = found.device
        self._aborted = False
        self._watch()

    def _watch(self) -> None:
        self._guard = threading.Timer(self._guard_s, self.abort)
        self._guard.daemon = True
        self._guard.start()

    def begin_test(self) -> None:
        """The guard counts from now; and what an earlier test lost stands again."""
        self._guard.cancel()
        if self._aborted or self.process.poll() is not None or mounted_at(self.path) is None:
            self._take_away()
            self._begin()
        else:
            self._watch()

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    def status(self) -> dict[str, Any]:
        """The mount's own account, `.kafkafs/status.json`."""
        return dict(json.loads(run("cat", self / ".kafkafs/status.json").stdout))

    def forget_names(self) -> None:
        """Has the kernel forget names of this mount that nobody uses; `drop_caches` takes other tests' pages too."""
        run("mount", "-i", "-o", "remount,ro", self.path)

    def abort(self) -> None:
        """Ends the connection from the kernel's side: whoever waits gets an error."""
        self._aborted = True
        if not CONNECTIONS.joinpath(self.device.partition(":")[2]).exists():
            subprocess.run(["mount", "-t", "fusectl", "none", CONNECTIONS], check=False, capture_output=True)
        with suppress(OSError):
            (CONNECTIONS / self.device.partition(":")[2] / "abort").write_text("1")

    def end(self) -> int:
        """Ends the mount by SIGTERM, or by force: the exit code of the process that was started."""
        _live.discard(self)
        return self._take_away()

    def _take_away(self) -> int:
        self._guard.cancel()
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.abort()
            self.process.kill()
            return self.process.wait(END_S)
        finally:
            while mounted_at(self.path) is not None:
                unmount(self.path, lazily=True)

    def account(self) -> str:
        """What tells why a test failed: what its calls, tasks and threads are at, and its log."""
        before = len(self.log)
        with suppress(OSError):
            self.process.send_signal(signal.SIGUSR1)
        with suppress(AssertionError):
            wait_until(lambda: "thread MainThread" in self.log[before:] or self.process.poll() is not None, 5)
        processes = [self.process.pid, *_children(self.process.pid)]
        return "\n".join([*map(standing, processes), self.log[-LOG_TAIL:]])


def before_each_test() -> None:
    """Of mounts that several tests share: what one of them does to one is not for the next."""
    for mounted in list(_live):
        mounted.begin_test()


def accounts() -> list[tuple[str, str]]:
    """Of all mounts there are, and then of all processes of the machine that sleep uninterruptibly."""
    if not _live:
        return []
    reported = [(f"mount at {mounted.path}", mounted.account()) for mounted in _live]
    asleep = [text for pid in _processes() if "State:\tD" in (text := standing(pid))]
    return [*reported, ("who sleeps uninterruptibly", "\n".join(asleep))]


def standing(pid: int) -> str:
    """What the kernel tells of each thread of a process: its state, its signals, and where in the kernel it is."""
    reported = []
    with suppress(OSError):  # it has ended
        for thread in Path(f"/proc/{pid}/task").iterdir():
            reported.append(f"{pid}/{thread.name}")
            for name in ("status", "syscall", "stack"):
                with suppress(OSError):  # not for us
                    lines = (thread / name).read_text().splitlines()
                    reported += [line for line in lines if name != "status" or line.startswith(TELLING)]
    return "\n".join(reported)


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        found = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return [each for child in found for each in (child, *_children(child))]
    return []


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


@contextmanager
def mounting(
    command: Sequence[str | Path], path: Path, log_path: Path, guard_s: float = GUARD_S, **popen: Any
) -> Iterator[Mounted]:
    """Starts a command that mounts at `path` in the foreground, and ends it."""
    mounted = Mounted(command, path, log_path, guard_s, popen)
    try:
        yield mounted
    finally:
        mounted.end()


def run(
    *command: str | Path, timeout: float = COMMAND_S, check: bool = True, **popen: Any
) -> "subprocess.CompletedProcess[bytes]":
    """Runs a command with a deadline; overstaying it aborts all mounts, so that the command can be ended at all."""
    popen.setdefault("stdin", subprocess.DEVNULL)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **popen)
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        for mounted in list(_live):
            mounted.abort()
        process.wait(END_S)
        raise
    done = subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)
    if check and done.returncode != 0:
        raise AssertionError(f"{process.args!r} ended with {done.returncode}: {stderr.decode(errors='replace')}")
    return done


def shell(script: str, timeout: float = COMMAND_S, check: bool = True, **popen: Any) -> str:
    """What a shell script prints, with a deadline."""
    return run("bash", "-c", script, timeout=timeout, check=check, **popen).stdout.decode(errors="surrogateescape")


def wait_until(condition: Callable[[], object], timeout: float = PATIENCE_S) -> None:
    """Waits for a condition with a deadline: a guard, unless the time is given, and with it promised.

    It looks a hundred times a second at first and then ever more seldom: many a look starts a process.
    """
    began = time.monotonic()
    while not condition():
        waited_s = time.monotonic() - began
        if waited_s > timeout:
            raise AssertionError(f"not true within {timeout} s")
        time.sleep(min(0.01 + waited_s / 20, 0.1))
