"""The walks of CONTRIBUTING and the lives of docs/code.md name what is there: a walk to a file that moved is worse than
none."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / ".github/CONTRIBUTING.md").read_text()
FIVE = GUIDE.split("## Five walks")[1].split("## Style")[0]
WALKS = FIVE + (ROOT / "docs/new-kafka.md").read_text()
NEW = {"view/crc.py", "tests/view/test_crc.py", "cli/<name>.py", "t-0/by-offset/5.crc"}
"""What a walk makes."""


def place(name: str) -> Path:
    return ROOT / name if name.split("/")[0] in ("tests", "docs", "scripts", "kafkafs") else ROOT / "kafkafs" / name


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([\w./<>-]+/[\w./<>-]+)`", WALKS)) - NEW))
def test_each_path_is_there(name):
    assert place(name).exists()


@pytest.mark.parametrize(("what", "where"), re.findall(r"`(\w+)`\s+(?:of|\()\s*`([\w./]+\.py)`", WALKS))
def test_each_name_is_where_the_walk_looks_for_it(what, where):
    assert re.search(rf"\b{what}\b", place(where).read_text())


@pytest.mark.parametrize(
    ("file", "names"),
    re.findall(r"^ {4,}([\w/]+\.py) +(\S+(?: \S+)*)", (ROOT / "docs/code.md").read_text(), re.M),
)
def test_each_step_of_a_life_is_where_it_is_said_to_be(file, names):
    text = place(file).read_text()
    assert [name for name in re.findall(r"\w+", names) if not re.search(rf"\b{name}\b", text)] == []


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\btests/[\w/]+\.py", GUIDE)) - NEW))
def test_each_test_that_is_named_is_there(path):
    assert place(path).exists()


def test_five_walks_are_described():
    assert len(re.findall(r"^\*\*An? ", FIVE, re.M)) == 5
