"""How plain our prose reads: a page or a package that grows hard to read fails here, sentence by sentence.

The measures are those of pages worth imitating (ripgrep's guide, mountpoint-s3's SEMANTICS, restic's manual): nearly
no sentence there begins with What, Who, Of, Which, Whether or Where, few have over 30 words, and most have one comma.
"""

import ast
import inspect
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.pages import DOCS, ROOT

MOST_INVERTED = 2.0  # % of a page's sentences
MOST_LONG = 12.0  # % of a page's sentences with more than `LONG_WORDS` words
MOST_COMMAS = 1.1  # a sentence, on average over a page
LONG_WORDS = 30
MOST_INVERTED_DOCSTRINGS = 0.2
"""Percent, over the whole package."""

SUBJECT_CHARACTERS = 72
FIRST_OF_THE_RULE = "5c61ff7aabf2"
"""The last commit before subjects were held to `SUBJECT_CHARACTERS`."""

PAGES = [*sorted(DOCS.glob("*.md")), ROOT / "README.md", ROOT / ".github/CONTRIBUTING.md"]

_INVERTED = re.compile(r"(What|Who|Whoever|Whose|Of|Which|Whether|Where)\b")
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
_NO_PROSE = re.compile(r"```.*?```|<!--.*?-->", re.S)
_FRAGMENT_WORDS = 3


class Measures(NamedTuple):
    """Of some sentences: percent inverted, percent long, commas a sentence; and the sentences to look at."""

    inverted: float
    long: float
    commas: float
    worst: list[str]


def sentences(text: str) -> Iterator[str]:
    """The sentences of Markdown or of a docstring. Code, tables, headings and fragments are left out."""
    for block in re.split(r"\n\s*\n", _NO_PROSE.sub("", text)):
        if block.strip() and not block.lstrip("\n").startswith(("#", "|", "    ", "$", ">>>")):
            for item in re.split(r"\n(?=\s*(?:[-*]|\d+\.)\s)", block):
                plain = re.sub(r"^\s*([-*]|\d+\.)\s+", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", item))
                flat = " ".join(re.sub(r"``[^`]*``|`[^`]*`", " code ", plain).split())
                for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`\"(])", flat):
                    if len(_WORD.findall(sentence)) >= _FRAGMENT_WORDS:
                        yield sentence


def docstrings(package: Path) -> Iterator[str]:
    """All docstrings below a directory: of modules, classes and functions, and those under constants and fields."""
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Expr(ast.Constant(str(text))):
                    yield inspect.cleandoc(text)


def measures(found: list[str]) -> Measures:
    """Of at least one sentence."""
    inverted = [each for each in found if _INVERTED.match(each) and not each.endswith("?")]
    long = [each for each in found if len(_WORD.findall(each)) > LONG_WORDS]
    share = 100 / len(found)
    return Measures(
        len(inverted) * share, len(long) * share, sum(each.count(",") for each in found) / len(found), inverted + long
    )


def test_an_inverted_sentence_is_found_and_a_question_is_not():
    text = "What is deleted is gone. The broker deletes it.\n\n- Who is it that asks?\n\n    Of code no word."
    found = measures(list(sentences(text)))
    assert (found.worst, round(found.inverted), found.long, found.commas) == (["What is deleted is gone."], 33, 0, 0)


def test_a_long_sentence_is_found():
    assert measures(list(sentences(" ".join(["word"] * (LONG_WORDS + 1)) + "."))).long == 100


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_reads_plainly(page):
    """An operator at night cannot hold half a sentence in mind."""
    found = list(sentences(page.read_text(encoding="utf-8")))
    if not found:
        return  # the index is a table
    inverted, long, commas, worst = measures(found)
    assert inverted <= MOST_INVERTED, worst
    assert long <= MOST_LONG, worst
    assert commas <= MOST_COMMAS


def test_docstrings_read_plainly():
    found = measures([each for text in docstrings(ROOT / "kafkafs") for each in sentences(text)])
    assert found.inverted <= MOST_INVERTED_DOCSTRINGS


def test_subjects_of_commits_are_short():
    """`git log --oneline` is read in a terminal."""
    log = ["git", "-C", str(ROOT), "log", "--format=%s", f"{FIRST_OF_THE_RULE}..HEAD"]
    done = subprocess.run(log, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip("no history here: an archive, or a shallow clone")
    assert [subject for subject in done.stdout.splitlines() if len(subject) > SUBJECT_CHARACTERS] == []
