"""How tests share the processors under `pytest -n N --dist loadgroup` (pytest-xdist), as `scripts/test` runs them.

Most tests wait most of the time: for a broker, a mount, a second to pass. So files run side by side, each in one
worker, for its fixtures' sake; what shares something dear (the Spark session) or single (`/sbin/mount.kafkafs`) is one
group in one worker. A test marked `alone` measures time or the page cache: while it runs, no other does. Without
workers nothing of this has an effect.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

GROUPS = (  # the longest first: what begins last should end soon
    ("spark", "tests/spark/"),
    ("live", "tests/live/"),
    ("packaging", "tests/packaging/"),
    ("packaging", "tests/test_docs.py"),  # both put their own helper into /sbin
    ("kafka", "tests/kafka/"),
    ("faults", "tests/faults/"),
    ("mounts", "tests/fuse/test_contract.py"),
)
ALONE = "alone"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{ALONE}: measures time or the page cache: no other test may run meanwhile")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each test's group as pytest-xdist takes it, and the order in which groups are handed out."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group(item)))
    if os.environ.get("PYTEST_XDIST_WORKER"):
        items.sort(key=_turn)


def group(item: pytest.Item) -> str:
    """The name of those that run one behind the other in one worker: a file's own unless it shares something."""
    if item.get_closest_marker(ALONE):
        return ALONE
    path = item.nodeid.partition("::")[0]
    return next((name for name, prefix in GROUPS if path.startswith(prefix)), path)


def _turn(item: pytest.Item) -> int:
    """Those that are alone come last: until then nobody has to stand aside for them."""
    names = list(dict.fromkeys(name for name, _ in GROUPS))
    name = group(item)
    return len(names) + 1 if name == ALONE else names.index(name) if name in names else len(names)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Waits outside of the test's own time limit."""
    run_id = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    with ExitStack() as stack:
        if run_id:
            directory = Path(tempfile.gettempdir()) / f"kafkafs-tests-{run_id}"
            directory.mkdir(exist_ok=True)
            stack.enter_context(turn(directory, alone=item.get_closest_marker(ALONE) is not None))
        return (yield)


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
