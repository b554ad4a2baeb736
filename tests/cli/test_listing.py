"""How names look, held against ls(1) of this machine for files of all sizes and times."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.cli.listing import Line, Look, human, ordered, time_style
from kafkafs.view.node import Attributes
from tests.cli.asking import C_LOCALE


def line(name: str, size: int, mtime_ns: int) -> Line:
    return Line(name, None, Attributes("file", 0o444, 0, 0, size, 8, mtime_ns, 1, 0))


EDGES = [
    0,
    1,
    1023,
    1024,
    1025,
    10137,
    10138,
    10239,
    10240,
    10241,
    1023 << 10,
    (1023 << 10) + 1,
    (1 << 20) - 1,
    1 << 20,
]
EDGES += [(99 << 20) // 10, (99 << 20) // 10 + 1, 1 << 30, (1 << 40) + 1, (1 << 50) - 1, 1 << 60, (1 << 63) - 1]


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of each size that a file system takes."""
    return tmp_path_factory.mktemp("sizes")


@pytest.mark.parametrize("size", EDGES)
def test_a_size_is_rounded_as_ls_rounds_it(size):
    """numfmt(1) is of the same hand, and needs no file of that size."""
    theirs = subprocess.run(["numfmt", "--to=iec", "--round=up", str(size)], capture_output=True, check=True, text=True)
    assert human(size) == theirs.stdout.strip()


NAMES = st.dictionaries(
    st.text("abcABC019-_.", min_size=1, max_size=4).filter(lambda name: name.strip(".")),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    max_size=6,
)


@given(NAMES, st.sampled_from(["name", "time", "size"]), st.booleans())
def test_the_order_is_that_of_ls(tmp_path_factory, files, order, reverse):
    """With equal times and sizes among them, and names in which only a dot differs."""
    place = tmp_path_factory.mktemp("order")
    for name, (size, mtime) in files.items():
        (place / name).write_bytes(b"x" * size)
        os.utime(place / name, ns=(0, mtime * 10**9))
    flags = {"name": [], "time": ["-t"], "size": ["-S"]}[order] + ["-r"] * reverse
    theirs = subprocess.run(["ls", "-A", *flags, place], capture_output=True, check=True, text=True, env=C_LOCALE)
    lines = [line(name, size, mtime * 10**9) for name, (size, mtime) in files.items()]
    assert [each.name for each in ordered(lines, Look(order=order, reverse=reverse))] == theirs.stdout.split()


def test_a_format_of_ones_own_may_differ_for_what_is_recent():
    """As ls(1) reads it: the second line is for the last half year."""
    assert time_style("+%Y") == ("%Y", "%Y")
    assert time_style("+%Y\n%H") == ("%Y", "%H")
    assert time_style("nonsense") is None
