"""`kafkafs ls` against `ls` below a mount point, `-l` and patterns included."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.cli.ls import Line, ListingStyle, ordered, time_style
from kafkafs.cli.main import main
from kafkafs.cli.tables import human
from kafkafs.view.node import Attributes
from tests.cli.asking import C_LOCALE, in_process, unmounted
from tests.kafka.dataset import Dataset
from tests.log.making import made, write_partition
from tests.log.transactional import marker
from tests.nobody import as_nobody, takes_root


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return Dataset("4.3.1", "stopped")


@pytest.fixture(scope="module")
def mounted(dataset, mount_for_module):
    return mount_for_module(dataset.path)


def test_listings_are_those_of_a_mount(dataset, mounted):
    for path in ("", "segments-0", "segments-0/by-offset", "segments-0/by-time", "segments-0/segments"):
        for options in ([], ["-l"]):
            theirs = subprocess.run(["ls", *options, mounted / path], capture_output=True, check=True, env=C_LOCALE)
            assert (
                in_process("ls", *options, dataset.path, *([path] if path else [])).stdout == theirs.stdout.decode()
            ), path
    both = unmounted("ls", dataset.path, "segments-0/earliest", "segments-0/by-o*", "segments-0/by-t*").stdout.decode()
    assert both.startswith("segments-0/earliest\n\nsegments-0/by-offset:\n0000")
    assert (
        unmounted("ls", "-d", dataset.path, "segments-0/by-[ot]*").stdout
        == b"segments-0/by-offset\nsegments-0/by-time\n"
    )


LOOKS = (
    "-1", "-r", "-t", "-S", "-tr", "-lh", "-lt", "-lSr", "-ltr", "-l --time-style=full-iso", "-l --time-style=long-iso",
    "-l --time-style=iso", "-l --time-style=+%s.%N%%N", "-lR", "-R", "-Rtr", "-dl", "-dR", "-lhS --time-style=locale",
)  # fmt: skip
"""Flags of ls(1), as people join them."""


@pytest.mark.parametrize("look", LOOKS)
def test_flags_mean_what_they_mean_to_ls(dataset, mounted, look):
    """They are in the fingers; on one that is refused, or answers otherwise, nobody trusts the rest."""
    for path in ("segments-0", "segments-0/by-time", "segments-0/segments", "compacted-0"):
        theirs = subprocess.run(
            ["ls", *look.split(), path], cwd=mounted.path, capture_output=True, check=True, env=C_LOCALE
        )
        assert in_process("ls", *look.split(), dataset.path, path).stdout == theirs.stdout.decode(), path


@pytest.mark.parametrize("look", ["-R", "-t", "-lS"])
def test_several_paths_are_put_in_order_too(dataset, mounted, look):
    paths = ["segments-0", "compacted-0/info.json", "segments-0/info.json", "compacted-0"]
    command = ["ls", *look.split(), *paths]
    theirs = subprocess.run(command, cwd=mounted.path, capture_output=True, check=True, env=C_LOCALE)
    assert in_process("ls", look, dataset.path, *paths).stdout == theirs.stdout.decode()


def test_all_of_it_is_listed_as_ls_walks_it(dataset, mounted):
    """From the root down, without names that begin with a dot."""
    theirs = subprocess.run(["ls", "-R"], cwd=mounted.path, capture_output=True, check=True, env=C_LOCALE)
    assert in_process("ls", "-R", dataset.path).stdout == theirs.stdout.decode()


def test_a_time_style_that_is_none_is_answered_with_those_there_are(dataset):
    said = unmounted("ls", "-l", "--time-style=long", dataset.path)
    assert (said.returncode, said.stdout) == (2, b"")
    assert b"'long' is unknown: write one of locale, long-iso, full-iso, iso, +FORMAT" in said.stderr


def test_h_alone_is_the_help():
    """Beside other words it makes sizes readable, as in ls(1)."""
    assert unmounted("ls", "-h").stdout == unmounted("ls", "--help").stdout != b""


@pytest.mark.parametrize("path", ["nope-0", "segments-0/nope", "segments-0/earliest/below", "nope-*"])
def test_what_is_not_there_ends_as_ls_does(dataset, mounted, path):
    theirs = subprocess.run(["ls", mounted / path], capture_output=True, check=False, env=C_LOCALE)
    ours = unmounted("ls", dataset.path, path, "segments-0/earliest")
    assert (ours.returncode, ours.stdout) == (theirs.returncode, b"segments-0/earliest\n")
    assert ours.stderr.rpartition(b": ")[2] == theirs.stderr.rpartition(b": ")[2]


@takes_root
@pytest.mark.parametrize("words", [["-l", "{0}", "t-0"], ["-R", "{0}"]], ids=["of a name", "of a directory below"])
def test_what_cannot_be_looked_at_below_is_known_by_the_exit_code(open_path, capsys, words):
    """Regression: a listing that lacked something ended as a whole one does. Of a path that was named ls(1) says 2."""
    write_partition(open_path, {0: [marker(0, 1, True)]})  # `earliest` and `latest` are listed, and lead nowhere
    write_partition(open_path, {0: [made(0, [1])]}, "u-0").chmod(0o700)
    with as_nobody():
        assert main(["ls", *(word.format(open_path) for word in words)]) == 1
    reported = capsys.readouterr()
    assert f"{0:020}.log" in reported.out if words[0] == "-R" else "info.json" in reported.out
    assert "No such file or directory" in reported.err or "Permission denied" in reported.err


def test_names_with_a_dot_are_those_of_a_mount_but_for_how_it_fares(dataset, mounted):
    """`.kafkafs` has its README; status.json and metrics are a daemon's, in no listing and behind no name."""
    theirs = subprocess.run(["ls", "-a", mounted.path], capture_output=True, check=True, env=C_LOCALE)
    assert unmounted("ls", "-a", dataset.path).stdout == theirs.stdout
    assert unmounted("ls", dataset.path, ".kafkafs").stdout == b"README\n"
    assert unmounted("cat", dataset.path, ".kafkafs/README").stdout == (mounted / ".kafkafs/README").read_bytes()
    assert unmounted("ls", dataset.path, ".kafkafs/status.json").stderr.endswith(b"No such file or directory\n")
    assert unmounted("ls", dataset.path, ".kafkafs/README/").stderr.endswith(b"Not a directory\n")


def line(name: str, size: int, mtime_ns: int) -> Line:
    return Line(name, None, Attributes("file", 0o444, 0, 0, size, mtime_ns, 0, blocks=8))


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
    assert [each.name for each in ordered(lines, ListingStyle(order=order, reverse=reverse))] == theirs.stdout.split()


def test_a_format_of_ones_own_may_differ_for_what_is_recent():
    """As ls(1) reads it: the second line is for the last half year."""
    assert time_style("+%Y") == ("%Y", "%Y")
    assert time_style("+%Y\n%H") == ("%Y", "%H")
    assert time_style("nonsense") is None
