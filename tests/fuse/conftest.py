"""A mounted `shelf`: a real tree over a temporary directory."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mounting import Mounted, mounting

ROOT = Path(__file__).parents[2]


class Shelf:
    """The mount and the directory it shows."""

    def __init__(self, mounted: Mounted, source: Path) -> None:
        self.mounted = mounted
        self.source = source

    def __truediv__(self, name: str) -> Path:
        return self.mounted.path / name


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    source, place = tmp_path / "source", tmp_path / "mount"
    source.mkdir()
    place.mkdir()
    command: list[str | Path] = [sys.executable, "-m", "tests.fuse.shelf", source, place]
    with mounting(command, place, tmp_path / "log", cwd=ROOT) as mounted:
        yield Shelf(mounted, source)
