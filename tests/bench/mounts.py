"""What is measured, as processes of their own: kafkafs, and the floor beside it."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mounting import KAFKAFS, resident_bytes

READY_S = 20.0
END_S = 10.0


@dataclass(frozen=True)
class Mounted:
    """A mount point and the process that serves it."""

    path: Path
    pid: int

    def resident(self) -> int:
        """Bytes of the serving process that are in memory."""
        return resident_bytes(self.pid)


@contextlib.contextmanager
def kafkafs(data: Path, options: Sequence[str] = ()) -> Iterator[Mounted]:
    """A data directory mounted by kafkafs."""
    words = [word for option in options for word in ("-o", option)]
    command = [str(KAFKAFS), "mount", *words, str(data)]
    with _mounted(command) as mounted:
        yield mounted


@contextlib.contextmanager
def floor(file: Path, *, direct: bool = True) -> Iterator[Mounted]:
    """The pass-through over one file."""
    command = [sys.executable, "-m", "tests.bench.floor", str(file)]
    with _mounted(command, ["direct" if direct else "cached"]) as mounted:
        yield mounted


@contextlib.contextmanager
def _mounted(command: list[str], more: Sequence[str] = ()) -> Iterator[Mounted]:
    with tempfile.TemporaryDirectory(prefix="kafkafs-bench-") as place:
        process = subprocess.Popen([*command, place, *more], stdout=subprocess.DEVNULL)
        try:
            _wait(place, process)
            yield Mounted(Path(place), _server(process.pid))
        finally:
            subprocess.run(["umount", "-l", place], check=False)
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(place: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + READY_S
    outside = os.stat(os.path.dirname(place)).st_dev
    while os.stat(place).st_dev == outside:
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{' '.join(process.args)!r} did not mount")  # type: ignore[arg-type]
        time.sleep(0.002)


def _server(pid: int) -> int:
    """The process that answers: the youngest descendant."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return _server(int(children[-1])) if children else pid
