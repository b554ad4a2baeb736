"""Mounted `shelf`s: a real tree over a temporary directory, one mount a module, or one's own to end."""

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.mounting import Mounted, mounting, wait_until

ROOT = Path(__file__).parents[2]
LEAVING_S = 20.0


def reported_by(program: str, argument: str | Path) -> tuple[Any, str]:
    """What a program in a process of its own, which gives up rights for good, printed as JSON; and its standard
    error."""
    done = subprocess.run(
        [sys.executable, "-c", program, argument], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


class Shelf:
    """A directory, `source`, and where it is seen through a mount, `path`."""

    def __init__(self, mounted: Mounted, source: Path, path: Path) -> None:
        self.mounted = mounted
        self.source = source
        self.path = path
        self.readers: list[subprocess.Popen[bytes]] = []
        """Programs of this test that wait for more, and end with it."""

    def __truediv__(self, name: str) -> Path:
        return self.path / name


def _mounted(directory: Path) -> Iterator[Shelf]:
    source, place = directory / "source", directory / "mount"
    source.mkdir()
    place.mkdir()
    command: list[str | Path] = [sys.executable, "-m", "tests.fuse.shelf", source, place]
    with mounting(command, place, directory / "log", cwd=ROOT, start_new_session=True) as mounted:
        yield Shelf(mounted, source, place)


@pytest.fixture(scope="module")
def _common(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    yield from _mounted(tmp_path_factory.mktemp("shelf"))


_numbers = itertools.count()


@pytest.fixture
def shelf(_common: Shelf) -> Iterator[Shelf]:
    """A directory of the test's own in a mount that the module shares: the mount must stay, and nobody waits in it."""
    name = f"test-{next(_numbers)}"
    (_common.source / name).mkdir()
    shelf = Shelf(_common.mounted, _common.source / name, _common.path / name)
    yield shelf
    if left := [process for process in shelf.readers if process.poll() is None]:  # where a test failed
        for process in left:
            process.kill()
        with suppress(AssertionError):
            wait_until(lambda: _common.mounted.status()["waitingReads"] == 0, LEAVING_S)


@pytest.fixture
def own_shelf(tmp_path: Path) -> Iterator[Shelf]:
    """A mount of the test's own."""
    yield from _mounted(tmp_path)
