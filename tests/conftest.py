"""What all tests share: the doors to real Kafka, and real mounts with hang protection.

Kafka's data are made before the first test that asks for them. `mounting` has `run`, `shell` and `wait_until`.
"""

import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings

from tests import class_archives
from tests.kafka import cache
from tests.kafka.cache import EVERY
from tests.mounting import GUARD_S, KAFKAFS, Mounted, accounts, before_each_test, mounting
from tests.pages import Session, new_session

pytest_plugins = [
    "tests.sampling",
    "tests.spying",
    "tests.kafka.fixtures",
    "tests.kafka.bucket_fixtures",
    "tests.side_by_side",
    "tests.second_try",
    "tests.preempting",
]

os.environ.update(class_archives.spark())  # of programs that tests start, too
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(cache.root() / "hypothesis"))  # what it reads of sources
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # each that imports numpy would spin a tenth of a second for more of them
signal.signal(signal.SIGINT, signal.default_int_handler)  # `nohup` and `&` ignore these, and so would what tests end
signal.signal(signal.SIGHUP, signal.SIG_DFL)
# an example may wait for a processor; each run draws others, so that days of runs try more than a hundred of each
settings.register_profile("side by side", settings.default, deadline=None, max_examples=25)
settings.register_profile("quick", settings.get_profile("side by side"), max_examples=12)
settings.register_profile("every", settings.get_profile("side by side"), max_examples=100)
settings.load_profile("quick" if cache.QUICK in os.environ else "every" if EVERY in os.environ else "side by side")

Mount = Callable[..., Mounted]


@pytest.fixture(autouse=True)
def _closed_behind_jobs() -> Iterator[None]:
    """A process of Spark's keeps open what its jobs have read, and here each test is one: thousands of descriptors."""
    yield
    if (locations := sys.modules.get("kafkafs.tables.locations")) is not None:
        locations.open_directories.close()


@pytest.fixture(autouse=True)
def _mounts_that_stand() -> None:
    before_each_test()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What tells why it failed: afterwards the mounts are gone."""
    report = yield
    if report.failed and call.when == "call":
        report.sections += accounts()
    return report


@pytest.fixture
def mount(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mount]:
    """`mount(data_dir, ..., options="isolation=read_committed")` mounts as a user would, until the test ends."""
    with ExitStack() as stack:
        yield _mounter(tmp_path_factory, stack)


@pytest.fixture(scope="module")
def mount_for_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mount]:
    """The same for fixtures that serve a whole module."""
    with ExitStack() as stack:
        yield _mounter(tmp_path_factory, stack)


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A directory that everybody may enter. `tmp_path` is below one that each start of pytest closes to others."""
    with TemporaryDirectory(prefix="kafkafs-", ignore_cleanup_errors=True) as name:
        os.chmod(name, 0o755)
        (place := Path(name) / "open").mkdir(0o755)  # so that its parent is the test's own, too
        yield place


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A terminal on a copy of the sample, for the commands of a page."""
    with new_session(tmp_path) as session:
        yield session


def _mounter(tmp_path_factory: pytest.TempPathFactory, stack: ExitStack) -> Mount:
    def mount(*data_dirs: Path, options: str = "", guard_s: float = GUARD_S) -> Mounted:
        place = tmp_path_factory.mktemp("mount")
        flags = ["-o", options] if options else []
        command: list[str | Path] = [KAFKAFS, "mount", *flags, *data_dirs, place]
        return stack.enter_context(mounting(command, place, place.with_name(place.name + ".log"), guard_s))

    return mount
