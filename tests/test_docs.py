"""The pages below docs/: every command in them is run here, page by page, and prints what the page says.

`python` blocks are run as programs; `tests/pages.py` has the session.
"""

import os
import re
import sys

import pytest

from tests.mounting import run
from tests.packaging.helper import helper_in_sbin
from tests.pages import DOCS, ROOT, blocks, fits, steps

ELSEWHERE = {  # commands that change the machine or take long to start, and where they are run
    "apt-get install": "scripts/setup",
    "python3 -m venv": "tests/packaging/test_install.py",
    "/opt/kafkafs/bin/pip install": "tests/packaging/test_install.py",
    "cp ": "tests/packaging/test_install.py",
    "ln -s": "tests/packaging/test_install.py",
    **dict.fromkeys(("kafka-", "sed ", "echo ", "jq ", "until kafka-", "while pgrep "), "tests/revive/test_page.py"),
    "kcat ": "tests/revive/test_page.py",
    **dict.fromkeys(("kafkafs export", "duckdb ", "pip install '.[tables,iceberg]'"), "tests/test_lakes.py"),
}


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_a_page_shows_what_its_commands_print(page, session):
    """Whoever types them in compares."""
    with helper_in_sbin():
        for command, output in steps(page):
            printed = session.run(command)
            columns = command.startswith("ls ") and "  " in output  # on a terminal
            assert printed.split() == output.split() if columns else fits(printed, output), (command, printed)


def test_the_python_of_the_notebooks_page_prints_what_it_says(session):
    """Each `print` has its output behind it."""
    pytest.importorskip("duckdb")
    program = "".join(blocks(DOCS / "notebooks.md", "python"))
    printed = run(sys.executable, "-c", session.real(program), env=os.environ | {"PYTHONPATH": str(ROOT)}).stdout
    assert printed.decode().splitlines() == re.findall(r"^print\(.*\)  # (.*)$", program, re.M)
    assert program.count("print(") == printed.count(b"\n") > 5


def test_the_commands_of_the_spark_page_run(session):
    """As they are printed, on the sample."""
    (block,) = blocks(DOCS / "spark.md", "sh")
    for command in block.splitlines():
        printed = session.run(f"{command} && echo done", timeout=300)
        assert printed.endswith("done\n"), (command, printed)
    assert (session.scratch / "lib/indexes/test-0").is_dir()
    assert list(session.scratch.glob("parquet/topic=test/partition=0/*.parquet"))
    assert "<html" in (session.scratch / "profile.html").read_text()


def test_other_commands_are_known_and_run_by_other_tests():
    pages = [page for page in DOCS.glob("*.md") if page.stem != "spark"]
    for line in (line for page in pages for block in blocks(page, "sh") for line in block.splitlines()):
        (known,) = (command for command in ELSEWHERE if line.startswith(command))
        assert (ROOT / ELSEWHERE[known]).exists()


def test_lines_for_fstab_are_taken(session):
    """Each by `mount --fake`, which has the helper check everything."""
    with helper_in_sbin():
        for number, line in enumerate(blocks(DOCS / "operation.md", "fstab")[0].split("\n")[:-1]):
            fstab = session.scratch / f"fstab-{number}"
            fstab.write_text(session.real(line) + "\n")
            run("mount", "-f", "-T", fstab, session.place)


@pytest.mark.parametrize(
    "page", [*DOCS.glob("*.md"), *(ROOT / ".github").glob("*.md"), ROOT / "README.md"], ids=lambda page: page.stem
)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_messages_that_are_explained_are_those_that_are_given():
    """An operator searches the page for what he was told."""
    sources = "".join(path.read_text() for path in (ROOT / "kafkafs").rglob("*.py"))
    source = re.sub(r'"\s*\n\s*f?"', "", sources)  # a sentence may go on in the next line
    explained = re.findall(r'^\| "([^"]+)"', (DOCS / "operation.md").read_text(), re.M)
    assert len(explained) >= 5
    for message in explained:
        assert all(part.strip() in source for part in message.split("...")), message


def test_the_metrics_that_are_explained_exist(session):
    reported = set(re.findall(r"`(kafkafs_\w+)", (DOCS / "operation.md").read_text()))
    session.run("kafkafs mount /var/kafka-logs /mnt/kafka --background")
    session.run("cat /mnt/kafka/test-0/by-offset/99")  # an error, so that there are some
    given = session.run("cat /mnt/kafka/.kafkafs/metrics")
    assert {name for name in reported if f"# TYPE {name} " not in given} == set()
