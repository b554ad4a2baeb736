"""A second try for a few failed tests, alone in one process when all others are done, as `scripts/test` runs the suite.

A test with real clocks, mounts or brokers can fail because the machine was busy for a moment. Its second failure, on
a quiet machine, is a failure of the suite. A test that passes then does not fail the suite, but the output names it
as flaky, with the report of its failure, so that somebody mends it. More than `MOST` failures have another cause than
chance: there is no second try.
"""

import os
import subprocess
import sys

import pytest

from tests.side_by_side import GROUPS

TRIES_AGAIN = "KAFKAFS_SECOND_TRY"
MOST = 5
LONGEST_S = 1800.0
CRASHED = "???"
"""How pytest-xdist reports the test in which a worker's process ended."""


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """When all workers have ended, and before the summary."""
    if os.environ.get(TRIES_AGAIN) != "1" or exitstatus != pytest.ExitCode.TESTS_FAILED:
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or "PYTEST_XDIST_WORKER" in os.environ:
        return
    reports = [*reporter.stats.get("failed", ()), *reporter.stats.get("error", ())]
    names = sorted({without_group(report.nodeid) for report in reports})
    if len(names) > MOST or not all("::" in name for name in names):  # or a file that cannot be imported
        return
    if any(report.when == CRASHED for report in reports):  # the run ended with it, and other tests did not run
        return
    reporter.section("second try of what failed, alone")
    if not passes(names, session):
        return
    for report in reports:
        reporter.section(f"flaky: {report.nodeid} ({report.when}) failed so at first", sep="_")
        reporter.line(report.longreprtext)
        for name, text in report.sections:
            reporter.section(name, sep="-")
            reporter.line(text)
    for name in names:
        reporter.line(f"FLAKY: {name} failed beside others, and passed alone at the second try. Please mend it.")
    reporter.stats["flaky"] = [*reporter.stats.pop("failed", ()), *reporter.stats.pop("error", ())]
    session.testsfailed, session.exitstatus = 0, pytest.ExitCode.OK


def without_group(name: str) -> str:
    """A test's name without the group that pytest-xdist appends (`--dist loadgroup`)."""
    own, _, group = name.rpartition("@")
    return own if group in GROUPS or (group and own.startswith(f"{group}::")) else name


def passes(names: list[str], session: pytest.Session) -> bool:
    """Run these tests in a process of their own. Return True if each of them passes."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *names]
    capture = session.config.pluginmanager.get_plugin("capturemanager")
    if capture is not None:
        capture.suspend_global_capture()
    sys.stdout.flush()
    try:
        done = subprocess.run(
            command, cwd=session.config.rootpath, env=environment | {TRIES_AGAIN: "0"}, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        if capture is not None:
            capture.resume_global_capture()
    return done.returncode == 0
