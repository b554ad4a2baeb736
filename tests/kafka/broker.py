"""One Kafka node of a given release on this machine: loopback, free ports, quiet, stopped by its process id.

2.8.0 runs beside a ZooKeeper of the same jars; later ones are broker and controller in one (KRaft).
"""

import base64
import contextlib
import os
import random
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.kafka import jars

START_TIMEOUT_S = 300
STOP_TIMEOUT_S = 300
PORTS = (15_000, 32_000)
CENTURY_MS = 100 * 365 * 24 * 3600 * 1000

# One node that is quick, forgets nothing by itself, and writes its checkpoints while a test looks.
SETTINGS: Mapping[str, object] = {
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
    "auto.create.topics.enable": "false",
    "log.retention.ms": -1,
    "log.roll.ms": CENTURY_MS,  # old timestamps beside the markers' own must not roll a segment
    "log.cleaner.backoff.ms": 300,
    "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
    "log.flush.start.offset.checkpoint.interval.ms": 1000,
    "log.flush.offset.checkpoint.interval.ms": 1000,
    "replica.high.watermark.checkpoint.interval.ms": 1000,
    "num.network.threads": 2,
    "num.io.threads": 4,
}
KRAFT_SETTINGS: Mapping[str, object] = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
}
LOG4J_1 = """log4j.rootLogger=WARN, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=%d %p %c %m%n
"""
LOG4J_2 = """<Configuration status="ERROR">
<Appenders><Console name="out"><PatternLayout pattern="%d %p %c %m%n"/></Console></Appenders>
<Loggers><Root level="WARN"><AppenderRef ref="out"/></Root></Loggers></Configuration>
"""


class Broker:
    """A running node: where it listens, the directory it writes, and the end of it."""

    def __init__(self, release: str, home: Path, address: str, processes: list[subprocess.Popen[bytes]]) -> None:
        self.release = release
        self.home = home
        self.data = home / "data"
        self.address = address
        self.admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
        self._processes = processes  # in the order of their start

    @property
    def pid(self) -> int:
        """The process id of the broker itself."""
        return self._processes[-1].pid

    def stop(self, with_signal: int = signal.SIGTERM) -> None:
        """Ends the node, cleanly unless told otherwise; a second call does nothing."""
        for process in reversed(self._processes):
            _end(process, with_signal)
        self._processes.clear()


def start(release: str, home: Path, settings: Mapping[str, object] | None = None) -> Broker:
    """A node of `release` that answers; all its files stand under `home`, where a node that ended begins again."""
    if release == jars.ZOOKEEPER_RELEASE:
        return _start_with_zookeeper(home, settings or {})
    return _start_kraft(release, home, settings or {})


def free_port() -> int:
    """A port that is free, and the next one. They are below those that connections get, else one may come first."""
    while True:
        port = random.SystemRandom().randrange(*PORTS)
        with socket.socket() as one, socket.socket() as other:
            try:
                one.bind(("127.0.0.1", port))
                other.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
        return port


@contextlib.contextmanager
def running(release: str, home: Path, settings: Mapping[str, object] | None = None) -> Iterator[Broker]:
    """As `start`, and stopped at the end whatever happens."""
    broker = start(release, home, settings)
    try:
        yield broker
    finally:
        broker.stop()


def wait_until(condition: Callable[[], bool], what: str, timeout_s: float = START_TIMEOUT_S) -> None:
    """Waits until `condition` holds; TimeoutError that names `what` if it does not in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout_s} s for {what}")
        time.sleep(0.05)


def _start_with_zookeeper(home: Path, settings: Mapping[str, object]) -> Broker:
    zookeeper_port, port = _ports(home)
    zookeeper_settings = {
        "dataDir": home / "zookeeper",
        "clientPort": zookeeper_port,
        "clientPortAddress": "127.0.0.1",
        "admin.enableServer": "false",
        "maxClientCnxns": 0,
    }
    node_settings = {
        "broker.id": 1,
        "zookeeper.connect": f"127.0.0.1:{zookeeper_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "zookeeper.session.timeout.ms": 30000,
        "zookeeper.connection.timeout.ms": 30000,
    }
    processes = []
    try:
        processes.append(
            _launch(
                jars.ZOOKEEPER_RELEASE,
                home,
                "zookeeper",
                "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                zookeeper_settings,
            )
        )
        wait_until(lambda: _listens(zookeeper_port), "ZooKeeper to listen")
        processes.append(
            _launch(
                jars.ZOOKEEPER_RELEASE,
                home,
                "broker",
                "kafka.Kafka",
                {**SETTINGS, **node_settings, "log.dirs": home / "data", **settings},
            )
        )
        return ready(Broker(jars.ZOOKEEPER_RELEASE, home, f"127.0.0.1:{port}", processes))
    except BaseException:
        _end_all(processes)
        raise


def _start_kraft(release: str, home: Path, settings: Mapping[str, object]) -> Broker:
    port, controller_port = _ports(home)
    whole = {
        **SETTINGS,
        **KRAFT_SETTINGS,
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
        "log.dirs": home / "data",
        **settings,
    }
    if not (home / "data" / "meta.properties").exists():
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "x")
        configuration = _write_settings(home / "format.properties", whole)
        jars.run(release, "kafka.tools.StorageTool", "format", "--standalone", "-t", cluster, "-c", configuration)
    processes: list[subprocess.Popen[bytes]] = []
    try:
        processes.append(_launch(release, home, "broker", "kafka.Kafka", whole))
        return ready(Broker(release, home, f"127.0.0.1:{port}", processes))
    except BaseException:
        _end_all(processes)
        raise


def _launch(
    release: str, home: Path, name: str, main_class: str, settings: Mapping[str, object]
) -> subprocess.Popen[bytes]:
    configuration = _write_settings(home / f"{name}.properties", settings)
    (home / "log4j.properties").write_text(LOG4J_1)
    (home / "log4j2.xml").write_text(LOG4J_2)
    logging = (
        f"-Dlog4j.configuration=file:{home}/log4j.properties",
        f"-Dlog4j2.configurationFile={home}/log4j2.xml",
        f"-Dkafka.logs.dir={home}",
    )
    # setpriv: a test run that is killed takes its brokers along. Start and stop from one thread that lives on.
    command = ["setpriv", "--pdeathsig", "KILL", *jars.command(release, main_class, configuration, options=logging)]
    with open(home / f"{name}.out", "ab") as out:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)


def ready(broker: Broker) -> Broker:
    wait_until(lambda: _answers(broker), f"Kafka {broker.release} to answer, see {broker.home}/broker.out")
    return broker


def _answers(broker: Broker) -> bool:
    for process in broker._processes:
        if process.poll() is not None:
            raise RuntimeError(f"Kafka {broker.release} ended at its start, see {broker.home}/broker.out")
    try:
        return bool(broker.admin.list_topics(timeout=1).brokers)
    except KafkaException:
        return False


def _end(process: subprocess.Popen[bytes], with_signal: int) -> None:
    if process.poll() is None:
        process.send_signal(with_signal)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _end_all(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in reversed(processes):
        _end(process, signal.SIGKILL)


def _write_settings(path: Path, settings: Mapping[str, object]) -> Path:
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return path


def _ports(home: Path) -> tuple[int, int]:
    """Two free ports; the same again where a node was before, for KRaft remembers them."""
    known = home / "ports"
    if not known.exists():
        port = free_port()
        known.write_text(f"{port} {port + 1}")
    first, second = map(int, known.read_text().split())
    return first, second


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == os.EX_OK
