"""The table of names that the README of a mount, `--help` and the man page show: complete, and each example works."""

import subprocess
from pathlib import Path

import pytest

from kafkafs.sample import unpack
from kafkafs.view import manual
from kafkafs.view.grammar import Suffix
from tests.mounting import run

FOLLOWS_S = "2"


@pytest.fixture(scope="module")
def place(mount_for_module, tmp_path_factory) -> Path:
    mount_point: Path = mount_for_module(unpack(tmp_path_factory.mktemp("sample"))).path
    return mount_point


@pytest.mark.parametrize("suffix", [suffix.value for suffix in Suffix if suffix.value])
def test_every_suffix_is_reported(suffix):
    """A suffix that nobody is told of is none."""
    assert any(suffix in row.split(", ") for row, _ in manual.SUFFIXES.rows)


@pytest.mark.parametrize("command", [command for command, _ in manual.EXAMPLES.rows])
def test_an_example_works_as_it_is_printed(place, command):
    """Whoever types it in should get an answer; one that follows is ended."""
    command = f"timeout {FOLLOWS_S} {command}" if "follow" in command else command
    done = subprocess.run(["bash", "-c", command], cwd=place / "test-0", capture_output=True, timeout=300, check=False)
    assert done.stderr == b""
    assert done.returncode in ((124,) if "follow" in command else (0, 1) if "grep" in command else (0,))


def test_each_mount_has_it_as_a_readme(place):
    """For who has no man page: someone else's mount, a container."""
    shown = run("cat", place / ".kafkafs/README").stdout.decode()
    assert shown == manual.plain()
    assert max(map(len, shown.splitlines())) <= 80
