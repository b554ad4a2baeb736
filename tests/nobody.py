"""This process as somebody who owns nothing, for a while: only root can become that."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

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
