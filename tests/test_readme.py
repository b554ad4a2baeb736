"""The README is the front door: every example in it is run here, on the bundled sample, and prints what it says."""

import re
import subprocess
from pathlib import Path

import pytest

from kafkafs.sample import unpack

README = Path(__file__).parent.parent / "README.md"
_DEADLINE_S = 30


def examples() -> list[tuple[str, str]]:
    """(command, what it prints), without the two lines that mount and go there."""
    console = re.search(r"```console\n(.*?)```", README.read_text(), re.S)
    assert console is not None
    steps = re.split(r"^\$ ", console[1], flags=re.M)[1:]
    parts = [step.partition("\n")[::2] for step in steps]
    return [(command.partition("  #")[0].strip(), output) for command, output in parts][2:]


@pytest.fixture(scope="module")
def place(mount_for_module, tmp_path_factory) -> Path:
    data = unpack(tmp_path_factory.mktemp("sample"))
    mount_point: Path = mount_for_module(data).path
    return mount_point / "test-0"


@pytest.mark.parametrize(("command", "output"), examples(), ids=lambda text: text.partition("\n")[0][:40])
def test_an_example_prints_what_the_readme_says(place, command, output):
    """A newcomer types it in and compares."""
    done = subprocess.run(command, shell=True, cwd=place, capture_output=True, text=True, timeout=_DEADLINE_S)
    assert done.stderr == ""
    assert done.stdout.split() == output.split() if command == "ls" else done.stdout == output


def test_the_readme_stays_a_front_door():
    """More than forty lines of text and nobody reads them; pictures and the table beside its peers are looked at."""
    lines = README.read_text().splitlines()
    assert sum(not line.startswith(("|", "![")) for line in lines) <= 40


def test_its_pictures_are_there():
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", README.read_text())
    assert len(pictures) == 2
    for picture in pictures:
        data = (README.parent / picture).read_bytes()
        assert len(data) < 300_000
        assert b"https:" not in data.replace(b"https://www.textualize.io", b"")  # the maker's note; nothing is fetched
