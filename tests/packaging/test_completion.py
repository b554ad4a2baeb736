"""What a shell offers behind a TAB: names of the data directory that stands on the line, in bash and in zsh."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kafkafs.sample import unpack
from tests.cluster.writing import Data, commit
from tests.mounting import KAFKAFS, run

ROOT = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {"PATH": f"{KAFKAFS.parent}:{os.environ['PATH']}", "TERM": "dumb", "PS1": ""}
DEADLINE_S = 200.0


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pages")
    run(sys.executable, ROOT / "scripts/make_pages.py", place)
    return place


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("sample"))


ASKED = [
    ("ls {data} ", "orders-0/ payments-0/ test-0/"),
    ("cat {data} or", "orders-0/"),
    ("cat -o corrupt=skip {data} test-0/b", "test-0/by-key/ test-0/by-offset/ test-0/by-time/"),
    ("stat {data} test-0/latest {data} test-0/e", "test-0/earliest"),
    ("cat {data} test-0/by-offset/", "test-0/by-offset/00000000000000023147.."),
    ("cat {data},{data} .cluster/groups/b", ".cluster/groups/billing/"),
    ("groups {data} bil", "billing"),
    ("groups {data} --group ", "billing dashboard"),
    ("groups --describe --group da", ""),  # of which data directory is not known yet
    ("grep x {data} --topics pay", "payments"),
    ("grep x {data} --topics orders,rea", "orders,readings"),
    ("export {data} --to {data} --topics te", "test"),
    ("mount -o iso", "isolation=read_committed isolation=read_uncommitted"),
]


def asked_of_bash(pages: Path, directory: Path, *words: str) -> list[str]:
    """What is offered for the last of the words behind `kafkafs`."""
    asked = 'COMP_WORDS=(kafkafs "$@"); COMP_CWORD=$#; _kafkafs; printf "%s\\n" "${COMPREPLY[@]}"'
    script = f"source {pages}/bash/kafkafs; {asked}"
    lines = run("bash", "-c", script, "_", *words, cwd=directory, env=ENVIRONMENT).stdout.decode().splitlines()
    return list(filter(None, lines))


@pytest.mark.parametrize(("typed", "offered"), ASKED)
def test_bash_offers_names_of_the_data_directory(pages, data, tmp_path, typed, offered):
    """Their numbers, zeros and dots are nothing to type by hand."""
    *words, last = typed.format(data=data).split(" ")
    shown = asked_of_bash(pages, tmp_path, *words, last)
    assert set(offered.split()) <= set(shown)
    if last:
        assert set(shown) == set(offered.split())


def test_no_name_of_a_strangers_is_run_by_a_shell(pages, tmp_path):
    """Regression: a group called `$(...)` ran that at a TAB, and where it was the only one, again when it was typed."""
    groups = ["bill$(touch run) x", "bill`touch run`", "bill;touch run;", "bill'q\"", "bill*", "bill{a,b}", "bill\\n$A"]
    data = tmp_path / "data"
    Data(data).write("__consumer_offsets-0", [commit(name, "t", 0, 1) for name in groups])
    (empty := tmp_path / "empty").mkdir()
    words = asked_of_bash(pages, empty, "groups", str(data), "--group", "bill")
    paths = asked_of_bash(pages, empty, "cat", str(data), ".cluster/groups/bill\\$")
    assert list(empty.iterdir()) == []
    typed = run("bash", "-c", f"printf '%s\\n' {' '.join(words)} -- {' '.join(paths)}", cwd=empty).stdout.decode()
    assert typed.splitlines() == [*sorted(groups), "--", f".cluster/groups/{groups[0]}/"]
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("kafkafs cat {data} test-0/by-o", "test-0/by-offset/00000000000000023147.."),
        ("kafkafs groups {data} --group bil", "--group billing"),
        ("kafkafs grep x {data} --topics pay", "--topics payments"),
    ],
)
def test_zsh_completes_them_too(pages, data, tmp_path, typed, completed):
    """In an interactive one, by its own completion system."""
    with Zsh(pages / "zsh", tmp_path) as (terminal, seen):
        os.write(terminal, typed.format(data=data).encode() + b"\t\t")
        for piece in seen:
            if completed in piece:
                return
    pytest.fail(f"{completed!r} did not come")


class Zsh:
    """An interactive zsh: its terminal, and what it shows as it grows, until the deadline."""

    def __init__(self, completions: Path, directory: Path) -> None:
        self._terminal, theirs = pty.openpty()
        self._process = subprocess.Popen(
            ["zsh", "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, env=ENVIRONMENT | {"COLUMNS": "400"},
            cwd=directory, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        setup = f"fpath=({completions} $fpath); autoload -U compinit; compinit -u -D; print re''ady\n"
        os.write(self._terminal, setup.encode())
        assert any("\nready" in text for text in self._seen())

    def __enter__(self) -> tuple[int, Iterator[str]]:
        return self._terminal, self._seen()

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)

    def _seen(self) -> Iterator[str]:
        reported, deadline = b"", time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            if select.select([self._terminal], [], [], 0.2)[0]:
                with suppress(OSError):
                    reported += os.read(self._terminal, 1 << 16)
                yield reported.decode(errors="replace")
