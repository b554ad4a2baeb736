"""The recipes of docs/spark.md that bring records back into a cluster, as they stand there, by a real broker."""

import os
import subprocess
import sys

import pyarrow as pa
import pytest

from kafkafs.spark.frame import Frame
from tests.kafka import jars
from tests.kafka.broker import Broker
from tests.kafka.writer import START_MS, Record, Topic, Writer, create
from tests.mounting import KAFKAFS
from tests.pages import DOCS, blocks
from tests.spark.reading import rows_of
from tests.spark.test_source import planned

FRAME = Frame(headers=True)
Written = list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]]


@pytest.fixture
def node(running_broker) -> Broker:
    return running_broker("4.3.1")  # type: ignore[no-any-return]


def write_orders(node: Broker) -> None:
    """Two partitions of 16 records, keys and values that are null or no text, headers."""
    create(node, {"orders": Topic(partitions=2), "orders-restored": Topic(partitions=2)})
    writer = Writer(node, "lz4")
    for number in range(8):
        records = [
            Record(
                b"\xff%d" % each if each else b"a", b"k%d" % each, START_MS + each, (("h", b"%d" % each), ("n", None))
            )
            for each in range(3)
        ]
        writer.batch("orders", [*records, Record(b"no key")], number % 2)


def written(node: Broker, partition: int) -> Written:
    """Key, value and headers of all that `orders-restored` has in a partition, in its order."""
    tasks = planned(node.data, assign=f'{{"orders-restored":[{partition}]}}', includeHeaders="true")
    batches = [batch for task in tasks for batch in FRAME.read(task)]
    return [
        (key, value, headers) for each in batches for *_, key, value, headers in rows_of(pa.Table.from_batches([each]))
    ]


def real(recipe: str, node: Broker) -> str:
    return recipe.replace("/var/kafka-logs", str(node.data)).replace("broker:9092", node.address)


def source(node: Broker, partition: int, start: int, end: int | None) -> Written:
    tasks = planned(node.data, assign=f'{{"orders":[{partition}]}}', includeHeaders="true")
    rows = [row for task in tasks for batch in FRAME.read(task) for row in rows_of(pa.Table.from_batches([batch]))]
    return [tuple(row[5:]) for row in rows if start <= row[2] and (end is None or row[2] < end)]


@pytest.mark.slow
def test_sparks_own_sink_brings_a_range_back(node):
    """Partition by partition, in order, with keys and headers; what is lost is told on the page."""
    write_orders(node)
    (recipe,) = blocks(DOCS / "spark.md", "py")
    connector = ",".join(map(str, jars.connector().glob("*.jar")))
    program = real(recipe, node).replace(
        '.appName("back")',
        f'.master("local[2]").config("spark.ui.enabled", "false").config("spark.jars", "{connector}")',
    )
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert written(node, 0) == source(node, 0, 3, 12)
    assert written(node, 1) == source(node, 1, 0, None)
    assert len(written(node, 1)) == 16


def test_kcat_brings_some_back(node, tmp_path):
    """Of text; a key that is null becomes an empty one."""
    create(node, {"small": Topic(), "small-restored": Topic()})
    Writer(node).batch("small", [Record(b"v%d" % each, b"k%d" % each) for each in range(20)])
    (recipe,) = blocks(DOCS / "spark.md", "back")
    command = real(recipe, node).replace("orders-0", "small-0").replace("orders-restored", "small-restored")
    (tmp_path / "kafkafs").symlink_to(KAFKAFS)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-o", "pipefail", "-c", command.strip()], check=True, env=environment, timeout=300)
    tasks = planned(node.data, assign='{"small-restored":[0]}')
    rows = [row for task in tasks for batch in FRAME.read(task) for row in rows_of(pa.Table.from_batches([batch]))]
    assert [(row[5], row[6]) for row in rows] == [(b"k%d" % each, b"v%d" % each) for each in range(3, 12)]
