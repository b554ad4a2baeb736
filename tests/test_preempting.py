"""Stops between bytecodes find a missing lock, and do not blame a lock that is there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import preempting

COUNTER = """
import threading

class Counter:
    def __init__(self):
        self.count, self._lock = 0, threading.Lock()

    def with_lock(self):
        with self._lock:
            self.count += 1

    def without(self):
        self.count += 1
"""
TESTS = """
import threading
import pytest
from counter import Counter

@pytest.mark.parametrize("name", ["with_lock", "without"])
def test_it(name):
    counter = Counter()
    threads = [threading.Thread(target=lambda: [getattr(counter, name)() for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.count == 800
"""


def counted(place: Path, file: Path) -> "subprocess.CompletedProcess[str]":
    (place / "counter.py").write_text(COUNTER)
    (place / "test_it.py").write_text(TESTS)
    (place / "pytest.ini").write_text("[pytest]\n")
    own = ("-p", "tests.preempting", "-p", "no:cacheprovider", "--basetemp", str(place / "own"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    paths = os.pathsep.join([str(preempting.PACKAGE.parent), str(place)])
    return subprocess.run(
        [sys.executable, "-m", "pytest", *own, "test_it.py"], cwd=place, capture_output=True, text=True, check=False,
        timeout=300, env=environment | {"PYTHONPATH": paths, preempting.RACE: str(file), preempting.SEED: "7"},
    )  # fmt: skip


def test_a_missing_lock_is_found(tmp_path):
    done = counted(tmp_path, tmp_path / "counter.py")
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "FAILED test_it.py::test_it[without]" in done.stdout
    assert "KAFKAFS_SEED=7" in done.stdout


def test_a_file_that_is_not_there_is_named(monkeypatch):
    """Else nothing would stop, and all would look well."""
    monkeypatch.setenv(preempting.RACE, "view/stream.py")
    with pytest.raises(pytest.UsageError, match=r"there is no .*/view/stream\.py"):
        preempting.pytest_configure()
