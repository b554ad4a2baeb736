"""`kafkafs ls` against `ls` below a mount point, `-l` and patterns included."""

import subprocess

import pytest

from tests.cli.asking import C_LOCALE, unmounted
from tests.kafka.dataset import Dataset


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return Dataset("4.3.1", "stopped")


def test_listings_are_those_of_a_mount(dataset, mount):
    mounted = mount(dataset.path)
    for path in ("", "segments-0", "segments-0/by-offset", "segments-0/by-time", "segments-0/segments"):
        for options in ([], ["-l"]):
            theirs = subprocess.run(["ls", *options, mounted / path], capture_output=True, check=True, env=C_LOCALE)
            assert unmounted("ls", *options, dataset.path, *([path] if path else [])).stdout == theirs.stdout, path
    both = unmounted("ls", dataset.path, "segments-0/earliest", "segments-0/by-o*", "segments-0/by-t*").stdout.decode()
    assert both.startswith("segments-0/earliest\n\nsegments-0/by-offset:\n0000")
    assert (
        unmounted("ls", "-d", dataset.path, "segments-0/by-[ot]*").stdout
        == b"segments-0/by-offset\nsegments-0/by-time\n"
    )


@pytest.mark.parametrize("path", ["nope-0", "segments-0/nope", "segments-0/earliest/below", "nope-*"])
def test_what_is_not_there_ends_as_ls_does(dataset, mount, path):
    mounted = mount(dataset.path)
    theirs = subprocess.run(["ls", mounted / path], capture_output=True, check=False, env=C_LOCALE)
    ours = unmounted("ls", dataset.path, path, "segments-0/earliest")
    assert (ours.returncode, ours.stdout) == (theirs.returncode, b"segments-0/earliest\n")
    assert ours.stderr.rpartition(b": ")[2] == theirs.stderr.rpartition(b": ")[2]


def test_names_with_a_dot_are_those_of_a_mount_but_for_how_it_fares(dataset, mount):
    """`.kafkafs` has its README; status.json and metrics are a daemon's, in no listing and behind no name."""
    mounted = mount(dataset.path)
    theirs = subprocess.run(["ls", "-a", mounted.path], capture_output=True, check=True, env=C_LOCALE)
    assert unmounted("ls", "-a", dataset.path).stdout == theirs.stdout
    assert unmounted("ls", dataset.path, ".kafkafs").stdout == b"README\n"
    assert unmounted("cat", dataset.path, ".kafkafs/README").stdout == (mounted / ".kafkafs/README").read_bytes()
    assert unmounted("ls", dataset.path, ".kafkafs/status.json").stderr.endswith(b"No such file or directory\n")
    assert unmounted("ls", dataset.path, ".kafkafs/README/").stderr.endswith(b"Not a directory\n")
