"""File systems as data directories stand on, made for a test: what reads of them leave in memory differs.

`ext4` is whatever the tests' own directory stands on. Btrfs and overlayfs refuse RWF_DONTCACHE.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.mounting import run

_IMAGE_BYTES = 512 << 20


@dataclass(frozen=True)
class Disk:
    """A directory, and where its files stand for who asks about the memory they take."""

    path: Path
    beneath: Path

    def file(self, path: Path) -> Path:
        """The file behind one in the directory. A file of overlayfs has no pages of its own."""
        return self.beneath / path.relative_to(self.path)


@contextmanager
def plain(place: Path) -> Iterator[Disk]:
    """A directory in `place`."""
    path = place / "disk"
    path.mkdir()
    yield Disk(path, path)


@contextmanager
def btrfs(place: Path) -> Iterator[Disk]:
    """Btrfs in a file in `place`."""
    image, path = place / "image", place / "disk"
    path.mkdir()
    image.touch()
    os.truncate(image, _IMAGE_BYTES)
    run("mkfs.btrfs", "-q", "-d", "single", "-m", "single", image)
    run("mount", "-o", "loop", image, path)
    try:
        yield Disk(path, path)
    finally:
        run("umount", "-l", path)


@contextmanager
def overlay(place: Path) -> Iterator[Disk]:
    """Overlayfs over two directories in `place`; what is written goes into the upper one."""
    for name in ("lower", "upper", "work", "disk"):
        (place / name).mkdir()
    layers = f"lowerdir={place}/lower,upperdir={place}/upper,workdir={place}/work"
    run("mount", "-t", "overlay", "-o", layers, "overlay", place / "disk")
    try:
        yield Disk(place / "disk", place / "upper")
    finally:
        run("umount", "-l", place / "disk")


DISKS: dict[str, Callable[[Path], AbstractContextManager[Disk]]] = {"plain": plain, "btrfs": btrfs, "overlay": overlay}


def resident(path: Path) -> int:
    """Bytes of a file in the page cache."""
    return int(run("fincore", "-b", "-n", "-o", "RES", path).stdout)
