"""What other users of a machine can reach of a command's Spark: its ports, its directories, its command line.

They read what a port accepts into Java's deserializer, spilled records off a shared disk, secrets off `ps`.
"""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafkafs.spark import jvm

TOLD = """dict(
    rpc=int(spark.sparkContext.getConf().get("spark.driver.port")),
    blocks=spark._jvm.org.apache.spark.SparkEnv.get().blockManager().blockManagerId().port(),
    directories=os.environ["SPARK_LOCAL_DIRS"].split(","),
    spilled=list(spark._jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager().localDirsString()),
    user=spark._jvm.org.apache.spark.util.Utils.getLocalDir(spark.sparkContext._jsc.sc().conf()),
    ui=spark.sparkContext.uiWebUrl,
    secret=spark.sparkContext.getConf().get("spark.authenticate.secret", ""),
)"""
HOLDER = f"""
import json, os, sys
from kafkafs.spark.session import session
with session(sys.argv[1], "test") as spark:
    assert spark.sparkContext.parallelize(range(8), 2).map(lambda x: (x % 2, x)).reduceByKey(max).count() == 2
    print(json.dumps({TOLD}), flush=True)
    sys.stdin.read()
"""
STRANGER = """
import json, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
java, environment = spark._jvm.org.apache.spark, spark._jvm.org.apache.spark.SparkEnv.get()

def reached(ask, ports):
    try:
        ask(*ports)
        return "answered"
    except Exception as error:
        text = str(error)
        return "answered" if "not found" in text.lower() and "broadcast_99" in text else "refused"

def rpc_asked(rpc, blocks):
    environment.rpcEnv().setupEndpointRef(java.rpc.RpcAddress("127.0.0.1", rpc), "OutputCommitCoordinator")

def block_asked(rpc, blocks):
    service = environment.blockManager().blockTransferService()
    service.fetchBlockSync("127.0.0.1", blocks, "driver", "broadcast_99_piece0", None)

for line in sys.stdin:
    print(json.dumps([reached(each, json.loads(line)) for each in (rpc_asked, block_asked)]), flush=True)
"""
Stranger = Callable[[dict[str, object]], object]


@pytest.fixture(scope="module")
def stranger() -> Iterator[Stranger]:
    """Somebody else's Spark: `stranger(told)` is what the ports of a session answer it."""
    with subprocess.Popen([sys.executable, "-c", STRANGER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as running:  # fmt: skip

        def ask(reported: dict[str, object]) -> object:
            assert running.stdin
            assert running.stdout
            running.stdin.write(json.dumps([reported["rpc"], reported["blocks"]]) + "\n")
            running.stdin.flush()
            return json.loads(running.stdout.readline())

        yield ask
        running.communicate(timeout=300)


@pytest.fixture(scope="module", params=["local[2]", pytest.param("local-cluster[1,1,1024]", marks=pytest.mark.slow)])
def holder(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[tuple[int, dict[str, object]]]:
    """A process with a session as commands have it, and what it tells of itself: of a local one, that of all tests."""
    if request.param == "local[2]":
        yield os.getpid(), eval(TOLD, {"spark": spark, "os": os})
        return
    with subprocess.Popen([sys.executable, "-c", HOLDER, request.param], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as running:  # fmt: skip
        assert running.stdout
        reported = json.loads(running.stdout.readline())
        yield running.pid, reported
        running.communicate(timeout=300)
        assert not any(map(os.path.exists, reported["directories"])), "they are gone with it"


def test_a_client_that_has_not_the_sessions_secret_is_refused(holder, stranger):
    """Regression: the driver answered whoever connected to it, and took objects of Java's from them."""
    assert stranger(holder[1]) == ["refused", "refused"]


def test_no_secret_stands_on_a_command_line(holder):
    pid, reported = holder
    for each in jvm.below([pid]):
        words = Path(f"/proc/{each}/cmdline").read_bytes()
        assert b"authenticate.secret=" not in words
        assert not reported["secret"] or str(reported["secret"]).encode() not in words


def test_what_is_spilled_is_nobody_elses(holder):
    """Regression: /tmp/blockmgr-* was open to all."""
    _, reported = holder
    for place in [*reported["spilled"], reported["user"]]:
        parents = [each for each in reported["directories"] if Path(place).is_relative_to(each)]
        assert parents, place
        assert stat.S_IMODE(os.stat(parents[0]).st_mode) == 0o700
    assert reported["ui"] is None


@pytest.mark.slow
def test_the_stranger_of_these_tests_reaches_an_open_driver(stranger):
    """Otherwise they would prove nothing."""
    opened = "import kafkafs.spark.session as own\nown._LOCAL_SETTINGS = {}\nwith session"
    program = HOLDER.replace("with session", opened)
    with subprocess.Popen([sys.executable, "-c", program, "local[2]"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as running:  # fmt: skip
        assert running.stdout
        reported = json.loads(running.stdout.readline())
        answers = stranger(reported)
        running.communicate(timeout=300)
    assert answers == ["answered", "answered"]


def test_a_users_own_directories_for_spills_are_taken(tmp_path, monkeypatch):
    """On a large disk, say."""
    places = [tmp_path / "a", tmp_path / "b"]
    for place in places:
        place.mkdir()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", ",".join(map(str, places)))
    with jvm.private_directories():
        inside = os.environ["SPARK_LOCAL_DIRS"].split(",")
        assert [Path(each).parent for each in inside] == places
        assert {stat.S_IMODE(os.stat(each).st_mode) for each in inside} == {0o700}
    assert os.environ["SPARK_LOCAL_DIRS"] == ",".join(map(str, places))
    assert not any(map(os.listdir, places))
