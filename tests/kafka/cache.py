"""Where the harness keeps what it fetched and made, and how processes share it: one makes, the others wait."""

import contextlib
import hashlib
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock

QUICK = "KAFKAFS_QUICK"
"""Set by `scripts/test --quick`: what is not here yet is not made, and tests that need it are left out."""
EVERY = "KAFKAFS_EVERY"
"""Set by `scripts/soak every`: all cases of tests of which the suite runs a sample, and more examples."""


def root() -> Path:
    """The directory of everything that is kept from run to run: outside the repository, safe to delete."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kafkafs-tests"


@contextlib.contextmanager
def locked(place: Path) -> Iterator[None]:
    """Holds `place` for this process; others that want it wait."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(place.with_name(f"{place.name}.lock")):
        yield


def about_to_make(what: str) -> None:
    """Leaves the test out where nothing is to be made."""
    if QUICK in os.environ:
        pytest.skip(f"{what} is not here yet, and takes a broker to make: scripts/test does", allow_module_level=True)


def once(place: Path, make: Callable[[Path], None]) -> Path:
    """`place`, a directory, made by `make(temporary directory)` unless it is there; whole or not there at all."""
    if place.is_dir():
        return place
    about_to_make(place.name)
    with locked(place):
        if not place.is_dir():
            unfinished = place.with_name(f"{place.name}.{uuid.uuid4().hex[:8]}.part")
            unfinished.mkdir()
            try:
                make(unfinished)
                unfinished.rename(place)
            except BaseException:
                shutil.rmtree(unfinished, ignore_errors=True)
                raise
    return place


def once_of(kind: str, inputs: Iterable[bytes], make: Callable[[Path], None]) -> Path:
    """`once`, for what follows from `inputs` alone: a release, a program, flags, files. Other inputs, another place.

    For what Kafka's own programs make of the same bytes in each run: a JVM for it costs a second.
    """
    digest = hashlib.sha256()
    for each in inputs:
        digest.update(len(each).to_bytes(8, "big") + each)
    return once(root() / kind / digest.hexdigest()[:20], make)
