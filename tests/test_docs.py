"""The pages below docs/: every command in them is run here, page by page, and prints what the page says.

A page's `console` blocks are one session on the sample; `/var/kafka-logs` and `/mnt/kafka` stand for directories
of the test's own. A line `...` in an output stands for any lines. `python` blocks are run as programs.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs.fuse.life.mountpoint import mounted_at, unmount
from kafkafs.sample import unpack
from tests.mounting import KAFKAFS, run
from tests.packaging.helper import helper_in_sbin

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DEADLINE_S = 60
ELSEWHERE = {  # commands that change the machine or take long to start, and where they are run
    "apt-get install": "scripts/setup",
    "python3 -m venv": "tests/packaging/test_install.py",
    "/opt/kafkafs/bin/pip install": "tests/packaging/test_install.py",
    "cp ": "tests/packaging/test_install.py",
    "ln -s": "tests/packaging/test_install.py",
}


class Session:
    """The directories that a page's commands see under the page's names."""

    def __init__(self, scratch: Path) -> None:
        self.data = unpack(scratch / "sample")
        self.place = scratch / "mount"
        self.scratch = scratch / "scratch"
        self.place.mkdir()
        self.scratch.mkdir()
        self.directory = scratch
        self.names = {
            "/var/kafka-logs": str(self.data),
            "/mnt/kafka": str(self.place),
            "/tmp/kafkafs-docs": str(self.scratch),
            "/var/lib/kafkafs": str(self.scratch / "lib"),
            "/data/parquet": str(self.scratch / "parquet"),
            "/tmp/profile.html": str(self.scratch / "profile.html"),
        }

    def real(self, text: str) -> str:
        for shown, real in self.names.items():
            text = text.replace(shown, real)
        return text

    def shown(self, text: str) -> str:
        for shown, real in self.names.items():
            text = text.replace(real, shown)
        return text

    def run(self, command: str, timeout: float = DEADLINE_S) -> str:
        """What a terminal would show."""
        if command.startswith("cd "):
            self.directory = Path(self.real(command[3:]))
            return ""
        environment = os.environ | {"PATH": f"{KAFKAFS.parent}:{os.environ['PATH']}", "COLUMNS": "100"}
        done = subprocess.run(
            ["bash", "-c", self.real(command)],
            cwd=self.directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
        )
        return self.shown(done.stdout.decode())


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    session = Session(tmp_path)
    yield session
    while mounted_at(session.place):
        unmount(session.place, lazily=True)


def blocks(page: Path, kind: str) -> list[str]:
    return re.findall(rf"^ *```{kind}\n(.*?)^ *```", page.read_text(), re.S | re.M)


def steps(page: Path) -> list[tuple[str, str]]:
    """(command, what it prints) in the order of the page."""
    parts = [part for block in blocks(page, "console") for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


def fits(printed: str, output: str) -> bool:
    pattern = "".join(
        "(?:.*\n)*" if line == "..." else re.escape(line) + "\n" for line in output.rstrip("\n").split("\n") if output
    )
    return re.fullmatch(pattern, printed) is not None


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_a_page_shows_what_its_commands_print(page, session):
    """Whoever types them in compares."""
    with helper_in_sbin():
        for command, output in steps(page):
            printed = session.run(command)
            columns = command.startswith("ls ") and "  " in output  # on a terminal
            assert printed.split() == output.split() if columns else fits(printed, output), (command, printed)


@pytest.mark.timeout(300)
def test_the_python_of_the_spark_page_runs(session):
    (program,) = blocks(DOCS / "spark.md", "python")
    environment = {"PYTHONPATH": str(ROOT)}
    done = run(sys.executable, "-c", session.real(program), timeout=250, env=os.environ | environment)
    assert done.stdout.split() == [b"341", b"88"]


@pytest.mark.timeout(300)
def test_the_commands_of_the_spark_page_run(session):
    """As they are printed, on the sample."""
    (block,) = blocks(DOCS / "spark.md", "sh")
    for command in block.splitlines():
        printed = session.run(f"{command} && echo done", timeout=120)
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
    told = set(re.findall(r"`(kafkafs_\w+)", (DOCS / "operation.md").read_text()))
    session.run("kafkafs mount /var/kafka-logs /mnt/kafka --background")
    session.run("cat /mnt/kafka/test-0/by-offset/99")  # an error, so that there are some
    given = session.run("cat /mnt/kafka/.kafkafs/metrics")
    assert {name for name in told if f"# TYPE {name} " not in given} == set()
