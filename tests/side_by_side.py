"""How tests share the processors under `pytest -n N --dist loadgroup` (pytest-xdist), as `scripts/test` runs them.

Most tests wait most of the time: for a broker, a mount, a second to pass. So files run side by side, each in one
worker, for its fixtures' sake; those that share the Spark session are one group in one worker, those that share a
broker another, and those that start Spark themselves. A test marked `urgent` measures time: others run meanwhile, but
its processes get the processors before theirs. One marked `alone` takes the whole machine for seconds, and others
would starve: while it runs, no other does. One marked `slow` takes a quarter of
a minute or more of a processor: `scripts/soak slow` runs it, and the suite does not. Without workers nothing else of
this has an effect.
"""

import fcntl
import gc
import os
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

SPARK = "tests/spark/"
LONGEST = (
    SPARK,
    "tests/test_docs.py",
    "tests/live/",
    "tests/packaging/",
    "tests/kafka/",
    "tests/faults/",
    "tests/fuse/",
)
"""What is handed out first, so that a run does not end with one worker at something long."""

TIERS = ("tests/log/tier/test_opening.py", "tests/revive/test_tiered.py", "tests/view/test_tiered.py")
"""Those that read the same tier in each layout, which takes seconds to write."""

URGENT = "urgent"
ALONE = "alone"
SLOW = "slow"
RUNS_SLOW = "KAFKAFS_SLOW"
AHEAD = 15
"""So many steps of niceness an urgent test is ahead of others: it gets about 25 times their share, if it wants it."""

SESSION, BROKER, PROGRAMS, TIERED = "spark session", "running broker", "spark programs", "tiers"
GROUPS = (URGENT, ALONE, SESSION, BROKER, PROGRAMS, TIERED)
"""All groups that are no files."""

LOOKS_FOR_GARBAGE = 10_000
"""After so many objects more, and not after 700, Python's usual: tests make so many that it took 4 % of their time."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{URGENT}: measures time: its processes go before those of other tests")
    config.addinivalue_line("markers", f"{ALONE}: takes the whole machine: no other test may run meanwhile")
    config.addinivalue_line("markers", f"{SLOW}: takes long, and runs in scripts/soak alone")
    gc.set_threshold(LOOKS_FOR_GARBAGE)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Short names for long contents: each worker sends the names of all tests to the one that hands them out."""
    return f"{argname} of {len(val)}" if isinstance(val, bytes | str) and len(val) > 100 else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Each test's group as pytest-xdist takes it, before its own hook for the whole collection looks at it."""
    item.add_marker(pytest.mark.xdist_group(group(item)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests are left out of the suite; and the order in which groups are handed out."""
    if RUNS_SLOW not in os.environ:
        for item in items:
            if item.get_closest_marker(SLOW):
                item.add_marker(pytest.mark.skip(reason="scripts/soak slow"))
    if os.environ.get("PYTEST_XDIST_WORKER"):
        items.sort(key=_turn)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was imported and collected stays: each look for garbage went through all of it, a tenth of a second long."""
    gc.freeze()


def group(item: pytest.Item) -> str:
    """The name of those that run one behind the other in one worker: a file's own, unless it shares something."""
    path = _path(item)
    for marker in (ALONE, URGENT):
        if item.get_closest_marker(marker):
            return marker  # one at a time
    fixtures = getattr(item, "fixturenames", ())
    if "spark" in fixtures or _engine(item) == "spark":
        return SESSION
    if "running_broker" in fixtures:
        return BROKER
    if path in TIERS:
        return TIERED
    if path.startswith(SPARK) or "spark" in item.name:
        return PROGRAMS  # each with a JVM of its own, one at a time
    return path


def _engine(item: pytest.Item) -> object:
    """The engine that the fixture of that name gives a test. It asks for the session only if it runs."""
    return getattr(getattr(item, "callspec", None), "params", {}).get("engine")


def _path(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _turn(item: pytest.Item) -> int:
    """The urgent ones wait longest, and begin first. Those that are alone come last: nobody stands aside till then."""
    if item.get_closest_marker(ALONE):
        return len(LONGEST) + 1
    if item.get_closest_marker(URGENT):
        return -1
    return next((turn for turn, place in enumerate(LONGEST) if _path(item).startswith(place)), len(LONGEST))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Waits outside of the test's own time limit."""
    run_id = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    with ExitStack() as stack:
        if run_id:
            directory = Path(tempfile.gettempdir()) / f"kafkafs-tests-{run_id}"
            directory.mkdir(exist_ok=True)
            urgent = item.get_closest_marker(URGENT) is not None and not stack.enter_context(ahead())
            alone = item.get_closest_marker(ALONE) is not None
            stack.enter_context(turn(directory, alone=alone or urgent))
        return (yield)


@contextmanager
def ahead() -> Iterator[bool]:
    """While it lasts this thread, and what it starts, goes before others. Whether it may: that takes a privilege."""
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, usual - AHEAD)
    except PermissionError:
        yield False
        return
    try:
        yield True
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, usual)


@contextmanager
def turn(directory: Path, *, alone: bool) -> Iterator[None]:
    """While it lasts no other process has a turn that is `alone`, and if this one is, none at all.

    Who wants to be alone keeps the door shut while it waits for those inside: it need not wait for ever.
    """
    with open(directory / "door", "a") as door, open(directory / "room", "a") as room:
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        yield  # closing the file unlocks it


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What a test logged may be no text (names of files are bytes), and a worker can send text only: else it ends."""
    report = yield
    report.sections = [(name, said.encode("utf-8", "backslashreplace").decode()) for name, said in report.sections]
    return report
