"""How plain our prose reads: a page or a package that grows hard to read fails here, sentence by sentence.

The measures are those of pages worth imitating (ripgrep's guide, mountpoint-s3's SEMANTICS, restic's manual): nearly
no sentence there begins with What, Who, Of, Which, Whether or Where, few have over 30 words, and most have one comma.
"""

import ast
import inspect
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.pages import DOCS, ROOT

MOST_INVERTED = 2.0  # % of a page's sentences
MOST_LONG = 12.0  # % of a page's sentences with more than `LONG_WORDS` words
MOST_COMMAS = 1.1  # a sentence, on average over a page
LONG_WORDS = 30
PACKAGE = ROOT / "kafkafs"
SUBJECT_CHARACTERS = 72
FIRST_OF_THE_RULE = "5c61ff7aabf2"
"""The last commit before subjects were held to `SUBJECT_CHARACTERS`."""

PAGES = [*sorted(DOCS.glob("*.md")), ROOT / "README.md", ROOT / ".github/CONTRIBUTING.md"]

_INVERTED = re.compile(r"(What|Who|Whoever|Whose|Of|Which|Whether|Where)\b")
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")
_NO_PROSE = re.compile(r"```.*?```|<!--.*?-->", re.S)
_CLAUSE = re.compile(
    r"\b(what|who|whoever|whose|those|where)\b|(?<!\bat )(?<!\bfrom )(?<!\bin )(?<!\bto )\bwhich\b", re.I
)
_DANGLING = re.compile(
    r"(The same|Those|That|It|Its|Their|They|So many|These|All of (it|them)|None|Both|Another one|More of it)\b"
    r"|From now on\b|See the module\b"
)
_ROW = re.compile(r"^ {0,4}[a-z]\w*\b(?:.*? {2,}| )\S.*(?:\n {6,}\S.*)*", re.M)
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


def comments(source: str) -> Iterator[str]:
    """All comments of a module; the lines of one that spans several are joined."""
    joined, last_row = list[str](), 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, text = token.start[0], token.string.lstrip("# ")
            is_alone = not token.line[: token.start[1]].strip()
            if is_alone and last_row == row - 1:
                joined[-1] += f" {text}"
            else:
                joined.append(text[:1].upper() + text[1:])
            last_row = row if is_alone else 0
    yield from joined


def is_inverted(sentence: str) -> bool:
    """True if it begins with What, Who, Of or another of these words, and is no question."""
    return _INVERTED.match(sentence) is not None and not sentence.endswith("?")


def measures(found: list[str]) -> Measures:
    """Of at least one sentence."""
    inverted = [each for each in found if is_inverted(each)]
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


def test_prose_inside_of_code_is_found(tmp_path):
    source = 'LIMIT = 1\n"""Of a batch."""\n\ndone = 2  # where it ends\n# One comment\n# in two lines.\n'
    (tmp_path / "module.py").write_text(source)
    assert list(docstrings(tmp_path)) == ["Of a batch."]
    assert list(comments(source)) == ["Where it ends", "One comment in two lines."]


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
    assert [each for text in docstrings(PACKAGE) for each in sentences(text) if is_inverted(each)] == []


def test_comments_read_plainly():
    """A comment is read beside its line of code, which is no place for half a sentence."""
    sources = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]
    found = [each for source in sources for comment in comments(source) for each in sentences(comment)]
    assert [each for each in found if is_inverted(each)] == []


def test_the_tables_of_packages_read_plainly():
    """A package's table names the thing that each module has or does. It does not circumscribe it by a clause."""
    tables = [
        ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "" for path in PACKAGE.rglob("__init__.py")
    ]
    rows = [row[0] for table in tables for row in _ROW.finditer(table)]
    assert len(rows) > 250
    assert [row for row in rows if _CLAUSE.search(row)] == []


def test_a_first_line_is_understood_alone():
    """An editor shows it without the method above, so it must not refer to that method's docstring."""
    assert [text for text in docstrings(PACKAGE) if _DANGLING.match(text)] == []


def test_subjects_of_commits_are_short():
    """`git log --oneline` is read in a terminal."""
    log = ["git", "-C", str(ROOT), "log", "--format=%s", f"{FIRST_OF_THE_RULE}..HEAD"]
    done = subprocess.run(log, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip("no history here: an archive, or a shallow clone")
    assert [subject for subject in done.stdout.splitlines() if len(subject) > SUBJECT_CHARACTERS] == []
