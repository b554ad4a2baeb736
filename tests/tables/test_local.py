"""Jobs in processes of this machine: the same answers as on Spark, in the same order, and an end like any command's."""

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkafs.cli.spark_command import is_local
from kafkafs.errors import Exhausted, UsageError, Vanished
from kafkafs.spark import jobs
from kafkafs.spark.audit.audit_job import audit
from kafkafs.spark.segment_units import segments_of
from kafkafs.tables.local import LocalEngine, bundles, in_turn
from tests.cli.parsing import parsed
from tests.kafka.dataset import Dataset
from tests.mounting import KAFKAFS, wait_until
from tests.spark.test_interrupted import below, runs


@dataclass(frozen=True)
class Unit:
    """A number and a weight."""

    number: int
    weight: int


LATEST = Dataset("4.3.1", "stopped")
BARE = "import sys; sys.modules.update(dict.fromkeys(('pyspark', 'py4j', 'pyarrow', 'jinja2', 'pyfuse3', 'trio')))\n"


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Data with something to find in several partitions, and in the data directory itself."""
    data = LATEST.copy_to(tmp_path / "data")
    for log in sorted(data.glob("*/*.log"))[::7]:
        if log.stat().st_size:
            with log.open("r+b") as file:
                file.seek(-1, os.SEEK_END)
                file.write(b"\xff")
    (data / "notes.txt").touch()
    return data


def test_the_base_install_is_enough(damaged, tmp_path):
    """On a broker's machine is no Spark, no Java, and nothing that they or a mount take."""
    program = f"{BARE}from kafkafs.cli.main import main; sys.exit(main(sys.argv[1:]))"
    for words in (["audit", str(damaged)], ["reindex", str(damaged), "--index-dir", str(tmp_path / "indexes")]):
        done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=300)
        assert done.returncode == (1 if words[0] == "audit" else 0), done.stderr
        assert "Spark" not in done.stderr
    assert list((tmp_path / "indexes").rglob("*.timeindex"))


def test_findings_are_reported_as_they_are_found():
    """The first of a terabyte within a second."""
    units, seen = segments_of([LATEST.path]), []

    def reported() -> Iterator[int]:
        for number, _ in enumerate(jobs.each(LocalEngine(2), "audit", units, _weight, lambda step: seen.append(step))):
            yield number

    first = next(reported())
    assert first == 0
    assert seen == [] or seen[-1].done < len(units)


def _weight(unit: object) -> object:
    return unit


def _slow(unit: Unit) -> int:
    if unit.number:
        time.sleep(60)
    return unit.number


def _dies(unit: Unit) -> int:
    if unit.number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return unit.number


def _vanishes(unit: Unit) -> int:
    place = Path(os.environ["KAFKAFS_TEST_PLACE"]) / str(unit.number)
    place.write_text(place.read_text() + "x" if place.exists() else "x")
    if unit.number == 1 and len(place.read_text()) < 3:
        raise Vanished("cut")
    if unit.number == 2:
        raise Vanished("cut again and again")
    return unit.number


def test_results_come_in_order_and_the_first_before_the_last_is_done():
    results = jobs.each(LocalEngine(2), "slow", [Unit(number, 8 << 20) for number in range(2)], _slow)
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]


def test_a_process_that_is_killed_is_an_error_and_no_hang():
    with pytest.raises(Exhausted, match="was killed"):
        jobs.run(LocalEngine(2), "dies", [Unit(number, 8 << 20) for number in range(6)], _dies)


def test_threads_are_not_needed(monkeypatch):
    """Regression: an audit hung for ever where the system gave one thread and refused the next (`--pids-limit`)."""

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    units = [Unit(number, 8 << 20) for number in range(6)]
    assert jobs.run(LocalEngine(2), "x", units, _weight) == units


def test_a_unit_whose_log_was_cut_is_tried_again(tmp_path, monkeypatch):
    monkeypatch.setenv("KAFKAFS_TEST_PLACE", str(tmp_path))
    assert jobs.run(LocalEngine(1), "x", [Unit(0, 1), Unit(1, 1)], _vanishes) == [0, 1]
    with pytest.raises(Vanished, match="again and again"):
        jobs.run(LocalEngine(1), "x", [Unit(2, 1)], _vanishes)


def test_progress_counts_units_and_bytes():
    steps: list[jobs.Step] = []
    units = [Unit(number, 3 << 20) for number in range(5)]
    assert jobs.run(LocalEngine(2), "x", units, _weight, steps.append) == units
    assert steps[-1] == jobs.Step("x", 5, 5, 15 << 20, 15 << 20)


def test_ctrl_c_ends_all_of_it_at_once(tmp_path):
    """With 130 and one sentence, whoever of the processes the terminal's signal reaches first."""
    data = LATEST.copy_to(tmp_path / "data")
    command = [str(KAFKAFS), "audit", "--engine", "local", str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as running:  # fmt: skip
        wait_until(lambda: len(below(running.pid)) > 1 or running.poll() is not None)
        processes = below(running.pid)
        os.killpg(running.pid, signal.SIGINT)
        _, reported = running.communicate(timeout=300)
    if running.returncode in (0, 1):
        return  # it was done before
    assert (running.returncode, reported.splitlines()[-1]) == (130, "kafkafs: interrupted")
    assert [pid for pid in processes if runs(pid)] == []


def test_a_reader_that_leaves_ends_all_of_it(damaged):
    """`kafkafs audit D | head -1`: with 141, as cat and grep, and no process goes on for hours."""
    with subprocess.Popen([str(KAFKAFS), "audit", "--engine", "local", str(damaged)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as running:  # fmt: skip
        assert running.stdout
        json.loads(running.stdout.readline())
        processes = below(running.pid)
        running.stdout.close()
        assert running.wait(300) in (141, 1)  # 1: it was done before
    assert [pid for pid in processes if runs(pid)] == []


def test_on_a_terminal_findings_and_progress_do_not_mix(damaged):
    """Each line that is printed is a line of JSON."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([str(KAFKAFS), "audit", "--engine", "local", str(damaged)], stderr=theirs,
                          stdout=subprocess.PIPE, text=True) as running:  # fmt: skip
        os.close(theirs)
        assert running.stdout
        for line in running.stdout:
            assert json.loads(line)["kind"]
        assert running.wait(300) == 1
    os.close(ours)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ((), True), (("--engine", "local"), True), (("--engine", "spark"), False), (("--master", "local[2]"), False),
        (("--engine", "spark", "--master", "spark://h:7077"), False),
    ],
)  # fmt: skip
def test_spark_runs_only_when_it_is_asked_for(words, wanted):
    """Regression: where Spark was installed, an audit of a small directory took a minute for Java and its workers."""
    assert is_local(parsed("audit", "data", *words)) == wanted
    assert is_local(parsed("reindex", "data", "--index-dir", "x", *words)) == wanted


def test_a_master_and_no_spark_cannot_both_be_meant():
    with pytest.raises(UsageError, match="leave one of them out"):
        is_local(parsed("audit", "data", "--engine", "local", "--master", "local[2]"))


def test_an_audit_as_a_function_needs_no_session(damaged):
    assert audit(LocalEngine(), [damaged]).findings


@given(st.lists(st.integers(0, 100), max_size=300), st.integers(1, 200))
def test_every_unit_is_in_one_bundle_in_its_order(weights, enough):
    units = [Unit(number, weight) for number, weight in enumerate(weights)]
    found = bundles(units, enough)
    assert [unit for bundle in found for unit in bundle] == units
    for bundle in found:
        assert 0 < len(bundle) <= 64
        assert sum(unit.weight for unit in bundle[:-1]) < enough


def test_units_are_begun_before_those_in_front_of_them_are_done():
    reported: list[tuple[str, int]] = []
    units = [Unit(number, 1) for number in range(4)]

    def work(unit: Unit) -> int:
        reported.append(("done", unit.number))
        return unit.number

    assert list(in_turn(units, work, lambda unit: reported.append(("begun", unit.number)))) == [0, 1, 2, 3]
    assert [number for what, number in reported if what == "done"] == [0, 1, 2, 3]
    assert [number for what, number in reported if what == "begun"] == [0, 1, 2, 3]
    for number in range(4):
        before = reported[: reported.index(("done", max(0, number - 1)))]
        assert ("begun", number) in before
        assert max(each for _, each in before) <= max(number + 1, 2)
