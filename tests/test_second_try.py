"""The second try: a test that fails twice fails the suite, and one that fails once is named; nothing else is run."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.second_try import MOST, TRIES_AGAIN, without_group

ROOT = Path(__file__).parents[1]
TESTS = """
import pathlib

def test_that_passes():
    with open("passed", "a") as file:
        file.write("once ")

def test_that_fails_once():
    tried = pathlib.Path("tried")
    before, _ = tried.exists(), tried.touch()
    assert before, "by chance"

def test_that_fails():
    assert not pathlib.Path("fails").exists(), "always"
"""


def tried(place: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    (place / "test_them.py").write_text(TESTS)
    (place / "pytest.ini").write_text("[pytest]\n")
    # without a place of its own this pytest would shut others out of `/tmp/pytest-of-USER`, where tests of rights run
    own = ("-p", "tests.second_try", "-p", "no:cacheprovider", "--basetemp", str(place / "own"))
    command = [sys.executable, "-m", "pytest", "-q", *own, *options, "test_them.py"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        command, cwd=place, env=environment | {TRIES_AGAIN: "1", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def test_what_fails_once_passes_and_is_named(tmp_path):
    done = tried(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "FLAKY: test_them.py::test_that_fails_once failed beside others" in done.stdout
    assert "AssertionError: by chance" in done.stdout
    assert "2 passed, 1 flaky" in done.stdout.splitlines()[-1]
    assert "FAILED" not in done.stdout
    assert (tmp_path / "passed").read_text() == "once "


def test_what_fails_twice_fails(tmp_path):
    (tmp_path / "fails").touch()
    done = tried(tmp_path)
    assert done.returncode == 1
    assert "2 failed, 1 passed" in done.stdout.splitlines()[-1]
    assert "second try" in done.stdout


def test_many_failures_are_no_chance(tmp_path, monkeypatch):
    more = "".join(f"\ndef test_more_{number}():\n    assert False\n" for number in range(MOST))
    monkeypatch.setattr(f"{__name__}.TESTS", TESTS + more)
    done = tried(tmp_path)
    assert done.returncode == 1
    assert "second try" not in done.stdout


def test_a_worker_that_crashes_ends_the_run_with_the_name_of_its_test(tmp_path, monkeypatch):
    """Regression: sixteen workers, one behind the other, collected the whole suite and crashed in the same test."""
    monkeypatch.setattr(f"{__name__}.TESTS", "import os\n\ndef test_that_crashes():\n    os._exit(3)\n" + TESTS)
    reported = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["addopts"]
    done = tried(tmp_path, *reported, "-n", "2", "--dist", "loadgroup")
    assert done.returncode == 1
    assert done.stdout.count("node down") == 1
    assert "crashed while running 'test_them.py::test_that_crashes" in done.stdout
    assert "second try" not in done.stdout, "it could pass, and all that did not run would be forgotten"


@pytest.mark.parametrize(("name", "own"), [
    ("tests/a/test_b.py::test_c[x@y]@tests/a/test_b.py", "tests/a/test_b.py::test_c[x@y]"),
    ("tests/a/test_b.py::test_c[x]@spark session", "tests/a/test_b.py::test_c[x]"),
    ("tests/a/test_b.py::test_c[x@y]", "tests/a/test_b.py::test_c[x@y]"),
    ("tests/a/test_b.py::test_c", "tests/a/test_b.py::test_c"),
])  # fmt: skip
def test_a_test_is_found_by_its_own_name(name, own):
    assert without_group(name) == own
