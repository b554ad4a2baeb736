"""This process as somebody who owns nothing, for a while: only root can become that."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkafs.fuse.sandbox.confinement import load_everything

NOBODY = 65534
takes_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@contextmanager
def as_nobody() -> Iterator[None]:
    """What is opened meanwhile is opened with no right but everybody's. Modules are imported before: nobody may read
    them if they lie in a home that others may not enter."""
    load_everything()
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def let_in(place: Path) -> None:
    """Everybody may search the way to a test's directory: those of pytest, and of a worker of its, are closed."""
    scratch = Path(tempfile.gettempdir())
    for parent in (each for each in (place, *place.parents) if each.is_relative_to(scratch) and each != scratch):
        parent.chmod(0o755)
