"""pytest's door to real Kafka: data that brokers wrote, and brokers that run.

def test_w(dataset): ...            a `Dataset`, once for each release and state
def test_x(stopped): ...            the stopped one of each release
def test_y(tier_sources): ...       a remote tier by the name of its layout
def test_z(running_broker): ...     `running_broker("4.3.1")`, a node that stays up while the next test asks for one
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kafkafs.log.read_options import TierSource
from tests.kafka import broker, cache, dataset, jars
from tests.kafka.broker import Broker
from tests.kafka.dataset import Dataset
from tests.sampling import DATA_FIXTURES

RELEASES = jars.RELEASES[-1:] if cache.QUICK in os.environ else jars.RELEASES
"""Those whose data tests read: the quick run is content with the newest."""
RunningBroker = Callable[[str], Broker]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Makes missing data before the first test: no test's own time limit should pay for it."""
    if cache.QUICK in os.environ or session.config.option.collectonly:
        return
    if any(map(_reads_data, session.items)):
        dataset.ensure_all()


def _reads_data(item: pytest.Item) -> bool:
    """Whether a test asks for data, or stands in a module that may make a `Dataset` itself."""
    if not isinstance(item, pytest.Function):
        return False
    return bool(DATA_FIXTURES & {*item.fixturenames}) or getattr(item.module, "Dataset", None) is Dataset


@pytest.fixture(
    scope="session", params=[each for each in dataset.every() if each.release in RELEASES], ids=str, name="dataset"
)
def dataset_(request: pytest.FixtureRequest) -> Dataset:
    """Each release's data in each state."""
    chosen: Dataset = request.param
    return chosen


@pytest.fixture(scope="session", params=RELEASES)
def stopped(request: pytest.FixtureRequest) -> Dataset:
    """Each release's data after a clean stop."""
    return Dataset(request.param, "stopped")


@pytest.fixture(scope="session", params=RELEASES)
def live(request: pytest.FixtureRequest) -> Dataset:
    """Each release's data as a running broker leaves them."""
    return Dataset(request.param, "live")


@pytest.fixture(scope="session")
def tier_sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, TierSource]]:
    """The same tier in each layout."""
    from tests.kafka import tiers  # pyarrow, for those who ask
    from tests.kafka.buckets import in_buckets

    with in_buckets() as address_of:
        yield tiers.sources(tmp_path_factory.mktemp("tiers"), address_of)


_nodes = ExitStack()
_started: dict[str, Broker] = {}


@pytest.fixture
def running_broker(tmp_path_factory: pytest.TempPathFactory) -> RunningBroker:
    """`running_broker(release)`: a node with a data directory of its own, started when it is first asked for."""

    def start(release: str) -> Broker:
        if release not in _started:
            home: Path = tmp_path_factory.mktemp(f"kafka-{release}")
            _started[release] = _nodes.enter_context(broker.running(release, home))
        return _started[release]

    return start


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Nodes end where the next test asks for none: one that idles takes 3 % of a processor."""
    yield
    if "running_broker" not in getattr(nextitem, "fixturenames", ()):
        _nodes.close()
        _started.clear()
