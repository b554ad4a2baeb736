"""Pages as tests run them: the `console` blocks of a page are one session on a copy of the sample.

`/var/kafka-logs` and `/mnt/kafka` stand for directories of the test's own; a line `...` in an output for any lines.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafkafs.fuse.life.mountpoint import mounted_at, unmount
from kafkafs.sample import unpack
from tests.mounting import KAFKAFS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DEADLINE_S = 300


class Session:
    """The directories that a page's commands see under the page's names."""

    def __init__(self, scratch: Path) -> None:
        self.data = unpack(scratch / "sample")
        self.place = scratch / "mount"
        self.scratch = scratch / "scratch"
        self.place.mkdir()
        self.scratch.mkdir()
        self.directory = scratch
        self.names = {
            "/var/kafka-logs": str(self.data),
            "/mnt/kafka": str(self.place),
            "/tmp/kafkafs-docs": str(self.scratch),
            "/var/lib/kafkafs": str(self.scratch / "lib"),
            "/data/parquet": str(self.scratch / "parquet"),
            "/tmp/profile.": str(self.scratch / "profile."),
            "/srv/revived": str(scratch / "revived"),
        }

    def real(self, text: str) -> str:
        """With the test's own directories."""
        for shown, real in self.names.items():
            text = text.replace(shown, real)
        return text

    def shown(self, text: str) -> str:
        """With the page's names again."""
        for shown, real in self.names.items():
            text = text.replace(real, shown)
        return text

    def run(self, command: str, timeout: float = DEADLINE_S) -> str:
        """What a terminal would show."""
        if command.startswith("cd "):
            self.directory = Path(self.real(command[3:]))
            return ""
        environment = os.environ | {"PATH": f"{KAFKAFS.parent}:{os.environ['PATH']}", "COLUMNS": "100"}
        done = subprocess.run(
            ["bash", "-c", self.real(command)],
            cwd=self.directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
        )
        return self.shown(done.stdout.decode())


@contextmanager
def new_session(scratch: Path) -> Iterator[Session]:
    """A session in a directory of its own; what it mounted is gone at the end."""
    session = Session(scratch)
    try:
        yield session
    finally:
        while mounted_at(session.place):
            unmount(session.place, lazily=True)


def blocks(page: Path, kind: str) -> list[str]:
    """What stands between the fences of one kind."""
    return re.findall(rf"^ *```{kind}\n(.*?)^ *```", page.read_text(), re.S | re.M)


def steps(page: Path) -> list[tuple[str, str]]:
    """(command, what it prints) in the order of the page."""
    parts = [part for block in blocks(page, "console") for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


def fits(printed: str, output: str) -> bool:
    """Whether a command printed what the page shows."""
    pattern = "".join(
        "(?:.*\n)*" if line == "..." else re.escape(line) + "\n" for line in output.rstrip("\n").split("\n") if output
    )
    return re.fullmatch(pattern, printed) is not None
