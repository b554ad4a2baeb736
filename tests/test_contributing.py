"""The walks of CONTRIBUTING name what is there: a walk that ends at a file which moved is worse than none."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FIVE = (ROOT / ".github/CONTRIBUTING.md").read_text().split("## Five walks")[1].split("## Style")[0]
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


def test_there_are_five():
    assert len(re.findall(r"^\*\*An? ", FIVE, re.M)) == 5
