"""Connect workers of a dead cluster against its revived node: connectors, offsets and tasks go on. `scripts/soak`.

A source reads lines of a file into a topic, a sink writes them into another file. Broker and worker are killed at work,
and the worker starts again with the same settings.
"""

import signal
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic

from kafkafs.revive.job import revive
from tests.cluster.test_connect_worker import SINK, SOURCE, worker
from tests.kafka import broker as nodes
from tests.kafka import truth
from tests.revive.nodes import choices, started
from tests.revive.test_brokers import WHOLE
from tests.revive.test_night import value_of

pytestmark = pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")
GROUP, LONG_S = "loaders", 600


@pytest.mark.parametrize("support", ["disabled", "enabled"])
@pytest.mark.parametrize(("release", "target"), [("3.9.1", "4.3.1"), ("4.3.1", "4.4.0")])
def test_connectors_go_on_where_they_were(tmp_path, release, target, support):
    """Nothing is lost; with exactly-once support of sources nothing is in the topic twice either."""
    home, place, more = tmp_path / "source", tmp_path / "revived", {"exactly.once.source.support": support}
    home.mkdir()
    given, taken = tmp_path / "in", tmp_path / "out"
    source = {"connector.class": SOURCE, "topic": "lines", "file": str(given), "batch.size": "100000"}
    sink = {"connector.class": SINK, "topics": "lines", "file": str(taken)}
    with nodes.running(release, home) as broker:
        for future in broker.admin.create_topics([NewTopic("lines", 1, 1)]).values():
            future.result(30)
        write(given, range(500))
        with worker(broker, tmp_path, GROUP, more) as loader:
            loader.ask("PUT", "/connectors/source/config", source)
            loader.ask("PUT", "/connectors/sink/config", sink)
            loader.ask("PUT", "/connectors/idle/config", source | {"file": str(tmp_path / "idle")})
            loader.ask("PUT", "/connectors/idle/pause")
            nodes.wait_until(lambda: len(lines(taken)) >= 500, "the sink", LONG_S)
            write(given, range(500, 4000))
            nodes.wait_until(lambda: len(lines(taken)) > 500, "more in the sink", LONG_S)
            broker.stop(signal.SIGKILL)
    report = revive([home / "data"], choices(place, target[:3]))
    with (
        started(target, place, tmp_path / "home", report) as node,
        worker(node.broker, tmp_path, GROUP, more) as loader,
    ):

        def states() -> dict[str, str]:
            every = loader.ask("GET", "/connectors?expand=status")
            return {name: each["status"]["connector"]["state"] for name, each in every.items()}

        nodes.wait_until(
            lambda: states() == {"source": "RUNNING", "sink": "RUNNING", "idle": "PAUSED"}, "states", LONG_S
        )
        write(given, range(4000, 5000))
        wanted = {b"%d" % number for number in range(5000)}
        nodes.wait_until(lambda: wanted <= {*lines(taken)}, f"all lines in {taken}", LONG_S)
        found = [value_of(row) for row in truth.read(node.broker, [("lines", 0)], "read_committed")["lines", 0]]
    quoted = [b'"%d"' % number for number in range(5000)]
    texts = [each[each.index(b'"payload":') + 10 : -1] for each in found]
    assert {*texts} == {*quoted}
    if support == "enabled":
        assert texts == quoted
    assert node.complaints() == []


def write(file: Path, numbers: range) -> None:
    """A line each."""
    with open(file, "ab") as target:
        target.write(b"".join(b"%d\n" % number for number in numbers))


def lines(file: Path) -> list[bytes]:
    """Those of the file so far."""
    return file.read_bytes().split() if file.exists() else []
