"""Revived directories, started: a real Kafka of a target release, and what its AdminClient tells then.

with revived("4.4.0", tmp_path, [disk, ...]) as node:
    node.facts()        the answers of `Cluster.java`'s questions
    node.broker         a `Broker`, as tests/kafka has them
"""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkafs.revive.job import revive
from kafkafs.revive.plan import Choices
from tests.kafka import broker as nodes
from tests.kafka import cache, jars
from tests.kafka.broker import Broker
from tests.kafka.clusters import PROGRAM as CLUSTER
from tests.kafka.writer import now_ms

FACTS = Path(nodes.__file__).parent / "java/Facts.java"
LOG4J_BACK_END = "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"
TARGETS = jars.KRAFT_RELEASES
LOG4J_1 = nodes.LOG4J_1.replace("WARN", "INFO")
LOG4J_2 = nodes.LOG4J_2.replace('level="WARN"', 'level="INFO"')


def choices(to: Path, release: str | None = None, **more: Any) -> Choices:
    """With ports that are free; the controller's is one further."""
    given = {"kafka": release, "port": nodes.free_port(), **more}
    return Choices(to=to, **given)


@dataclass
class Revived:
    """A running node on a revived directory."""

    broker: Broker
    place: Path
    log: Path
    report: dict[str, Any]

    def facts(self) -> dict[str, Any]:
        """What AdminClient tells, as `Cluster.truth` has it."""
        target = self.log.with_name("facts.json")
        classpath = f"{facts_program()}:{jars.jars(jars.NEWEST)}/*:{jars.streams()}/*"
        command = ["java", jars.HEAP, *jars.QUICK_START, "-cp", classpath, "Facts", self.broker.address]
        done = subprocess.run([*command, self.broker.release, str(target)], capture_output=True, timeout=300)
        assert done.returncode == 0, done.stderr.decode()[-3000:]
        reported: dict[str, Any] = json.loads(target.read_text())
        return reported

    def complaints(self) -> list[str]:
        """Lines of the node's log that it would not write of a sound directory."""
        harmless = (
            "CONTROLLER_REGISTRATION",
            "Size of assignment epochs",
            "Exceptionally slow controller event",
            "controller event queue overloaded",
        )
        lines = self.log.read_text().splitlines()
        return [
            line for line in lines
            if (" ERROR " in line or "stray" in line or "Corrupt" in line or "Non-monotonic" in line
                or "handleBrokerUncleanShutdown" in line or "Recovering" in line or "caused truncation" in line)
            and not any(each in line for each in harmless)
        ]  # fmt: skip


def moment() -> int:
    """A time [ms] behind all that was done before, and before all that is done from now on."""
    begun = now_ms()
    nodes.wait_until(lambda: now_ms() > begun, "the clock")
    between = now_ms()
    nodes.wait_until(lambda: now_ms() > between, "the clock")
    return between


def facts_program() -> Path:
    """The directory of the compiled `Facts`."""
    classpath = f"{jars.jars(jars.NEWEST)}/*:{jars.streams()}/*"

    def make(place: Path) -> None:
        command = ["javac", "-nowarn", "-cp", classpath, "-d", str(place), str(CLUSTER), str(FACTS)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr

    return cache.once_of("facts", (CLUSTER.read_bytes(), FACTS.read_bytes()), make)


def logging_jars() -> Path:
    """What 4.x needs to log at all: its own jars leave the choice of a back end open."""

    def make(place: Path) -> None:
        jars.maven("log4j", "dependency:copy", f"-Dartifact={LOG4J_BACK_END}", f"-DoutputDirectory={place}")

    return cache.once_of("log4j", [LOG4J_BACK_END.encode()], make)


def start(
    release: str,
    place: Path,
    home: Path,
    report: dict[str, Any],
    under: Sequence[str] = (),
    settings: str = "server.properties",
) -> Revived:
    """The node, with a leader for every partition. `under`: the command that runs it. `settings`: where below `place`
    its own stand."""
    home.mkdir(exist_ok=True)
    (home / "log4j.properties").write_text(LOG4J_1)
    (home / "log4j2.xml").write_text(LOG4J_2)
    log = home / "broker.out"
    logging = (
        f"-Dlog4j.configuration=file:{home}/log4j.properties",
        f"-Dlog4j2.configurationFile={home}/log4j2.xml",
        f"-Dkafka.logs.dir={home}",
    )
    command = jars.command(release, "kafka.Kafka", place / settings, options=logging)
    at = command.index("-cp") + 1
    command[at] += f":{logging_jars()}/*" if release.startswith("4.") else ""
    with open(log, "ab") as out:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *under, *command], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            start_new_session=True,
        )  # fmt: skip
    broker = Broker(release, home, report["listen"], [process])
    try:
        nodes.ready(broker)
        nodes.wait_until(lambda: leaderless(broker) == [], f"leaders, see {log}")
    except BaseException:
        nodes._end_all([process])
        raise
    return Revived(broker, place, log, report)


def leaderless(broker: Broker) -> list[str]:
    """The partitions that nobody leads."""
    topics = broker.admin.list_topics(timeout=5).topics
    return [f"{name}-{one}" for name, topic in topics.items() for one, each in topic.partitions.items()
            if each.leader < 0]  # fmt: skip


@contextmanager
def revived(release: str, scratch: Path, disks: Sequence[Path], **more: Any) -> Iterator[Revived]:
    """Revives disks below `scratch` for a release and starts it; stopped at the end whatever happens."""
    place = scratch / "revived"
    report = revive(disks, choices(place, release, **more))
    with started(release, place, scratch / "home", report) as node:
        yield node


@contextmanager
def started(release: str, place: Path, home: Path, report: dict[str, Any], **more: Any) -> Iterator[Revived]:
    """As `start`, and stopped at the end."""
    node = start(release, place, home, report, **more)
    try:
        yield node
    finally:
        node.broker.stop()
