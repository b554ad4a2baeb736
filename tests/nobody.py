"""This process as somebody who owns nothing, for a while: only root can become that."""

import importlib
import os
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafkafs import cli
from kafkafs.fuse.sandbox.confinement import load_everything

NOBODY = 65534
takes_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@contextmanager
def as_nobody() -> Iterator[None]:
    """What is opened meanwhile is opened with no right but everybody's. Modules are imported before: nobody may read
    them if they lie in a home that others may not enter."""
    load_everything()
    for module in pkgutil.iter_modules(cli.__path__, f"{cli.__name__}."):
        importlib.import_module(module.name)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
