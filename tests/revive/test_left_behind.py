"""What brokers set aside, deleted, or lost by unclean elections, revived and started on real brokers (`scripts/soak
revive`): a consumer gets what `revive.json` says."""

import signal
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafkafs.format.names import METADATA_LOG
from kafkafs.revive.job import planned, revive
from kafkafs.revive.plan import Choices
from tests.kafka import broker as nodes
from tests.kafka import replicated
from tests.kafka.broker import wait_until
from tests.kafka.clusters import Cluster
from tests.kafka.writer import Record, Topic, Writer, create, delete_topic, now_ms
from tests.revive.nodes import revived, started
from tests.revive.replicas import UUID
from tests.revive.test_brokers import WHOLE, consumed

pytestmark = pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")
WORDS = {"stray": "stray", "delete": "deleted"}


@pytest.mark.parametrize(("mark", "target"), [("stray", "4.4.0"), ("delete", "4.3.1")])
def test_what_was_set_aside_comes_back(mark, target, tmp_path):
    """All of a cluster's directories, internal topics too: groups go on where they were."""
    source = Cluster("4.3.1", "stopped")
    disk = source.copy_to(tmp_path / "disk")
    there = [each.name for each in disk.iterdir() if each.is_dir() and each.name != METADATA_LOG]
    names = [each for each in there if not each.endswith("-delete")]
    for name in names:
        (disk / name).rename(disk / f"{name}.{UUID}-{mark}")
    plan = planned([disk], Choices(to=tmp_path / "other"))
    assert len([each for each in plan["leftOut"] if f"--include {WORDS[mark]} lets it count, without" in each]) == len(
        names
    )
    whole = planned([source.path], Choices(to=tmp_path / "other"))
    with revived(target, tmp_path, [disk], include=(WORDS[mark],)) as node:
        assert [each["records"] for each in node.report["revived"]] == [each["records"] for each in whole["revived"]]
        facts = node.facts()
        reported = [each["group"] for each in facts["groups"]]
        assert sorted(reported) == sorted(each["group"] for each in source.truth["groups"])
        (shop,) = {each["records"] for each in whole["revived"] if (each["topic"], each["partition"]) == ("shop", 0)}
        assert len(consumed(node, "shop", 0)) == shop
        assert node.complaints() == []
    assert not list(node.place.glob("*-stray"))


def wait_for_more(log: Path) -> None:
    """Until the log has grown."""
    size = log.stat().st_size
    wait_until(lambda: log.stat().st_size > size, f"more in {log}")


def test_a_topic_that_was_deleted_comes_back_as_of_a_moment_before(tmp_path):
    home = tmp_path / "source"
    home.mkdir()
    with nodes.running("4.3.1", home, {"log.segment.delete.delay.ms": 600_000}) as broker:
        create(broker, {"gone": Topic(), "kept": Topic()})
        writer = Writer(broker)
        for topic in ("gone", "kept"):
            writer.batch(topic, [Record(b"%d" % each) for each in range(40)])
        writer.flush()
        metadata = home / "data" / METADATA_LOG / f"{0:020}.log"
        wait_for_more(metadata)  # the moment is between two records of the metadata, of which each half second has one
        moment = now_ms()
        wait_for_more(metadata)
        delete_topic(broker, "gone")
        wait_until(lambda: [*(home / "data").glob("gone-0.*-delete")] != [], "the topic to be deleted")
        broker.stop(signal.SIGKILL)
    disk = home / "data"
    (sentence,) = (each for each in planned([disk], Choices(to=tmp_path / "x"))["leftOut"] if "gone" in each)
    assert "40 records" in sentence
    assert "--until" in sentence
    then = planned([disk], Choices(to=tmp_path / "x", until_ms=moment))["leftOut"]
    assert any("gone-0" in each and "40 records" in each and "--include deleted" in each for each in then)
    with revived("4.4.0", tmp_path, [disk], until_ms=moment, include=("deleted",)) as node:
        assert consumed(node, "gone", 0) == consumed(node, "kept", 0)
        assert len(consumed(node, "gone", 0)) == 40
        assert node.complaints() == []


@pytest.mark.parametrize("written", [0, 7])
def test_what_an_unclean_election_lost_is_reported(written, tmp_path):
    """Broker 2 alone had 40 records of 100; 3 was elected without them, and wrote some, or none."""
    cluster = replicated._Cluster(tmp_path / "brokers")
    try:
        for number in replicated.NODES:
            (tmp_path / "brokers" / str(number)).mkdir(parents=True)
            cluster.start(number)
        for future in cluster.brokers[1].admin.create_topics([replicated.TOPICS[2]]).values():
            future.result(30)
        replicated.write(cluster, "parted", range(60))
        cluster.kill(3)
        cluster.in_sync("parted", {2})
        replicated.write(cluster, "parted", range(60, 100))
        cluster.kill(2)
        cluster.start(3)
        wait_until(lambda: cluster.partition("parted").leader == 3, "broker 3 to be elected uncleanly")
        replicated.write(cluster, "parted", range(1000, 1000 + written))
    finally:
        for number in replicated.NODES:
            cluster.kill(number)
    disks = [cluster.data(number) for number in replicated.NODES]
    two, three = (str(cluster.data(number) / "parted-0") for number in (2, 3))
    with revived("4.4.0", tmp_path, disks) as node:
        (reported,) = (each for each in node.report["revived"] if each["topic"] == "parted")
        sentences = [each for each in node.report["leftOut"] if each.startswith("parted-0:")]
        values = [int((each or b"").decode().split(":")[1].split("}")[0]) for each in consumed(node, "parted", 0)]
        assert node.complaints() == []
    print(sentences)
    assert len(sentences) == 1
    assert two in sentences[0]
    assert three in sentences[0]
    if written:
        assert reported["replica"] == three
        assert "offsets 60 to 99" in sentences[0]
        assert values == [*range(60), *range(1000, 1007)]
    else:
        assert reported["replica"] == two
        assert "not in sync" in sentences[0]
        assert values == [*range(100)]


def test_a_controller_that_stopped_earlier_is_reported(tmp_path):
    """The only one: brokers went on for some seconds, and what was changed then nobody could note."""
    cluster = replicated._Cluster(tmp_path / "brokers")
    try:
        for number in replicated.NODES:
            (tmp_path / "brokers" / str(number)).mkdir(parents=True)
            cluster.start(number)
        for future in cluster.brokers[1].admin.create_topics([replicated.TOPICS[2]]).values():
            future.result(30)
        replicated.write(cluster, "parted", range(10))  # which waits for all to know the topic
        cluster.in_sync("parted", {2, 3})
        leader = cluster.partition("parted").leader
        writer = Writer(cluster.brokers[leader], settings={"acks": "1"})
        writer.batch("parted", [Record(b"before", timestamp_ms=now_ms())])
        cluster.kill(1)
        time.sleep(3)
        last = now_ms()
        writer.batch("parted", [Record(b"after", timestamp_ms=last)])
    finally:
        for number in replicated.NODES:
            cluster.kill(number)
    disks = [cluster.data(number) for number in replicated.NODES]
    report = planned(disks, Choices(to=tmp_path / "x"))
    (sentence,) = (each for each in report["leftOut"] if "metadata end at" in each)
    moment = datetime.fromtimestamp(last / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert f"records go on to {moment}" in sentence


def test_an_interrupted_revival_goes_on_after_the_broker_has_run_again(tmp_path):
    """Records were added, and a topic was made anew: what is started has the newest of each."""
    home, to = tmp_path / "source", tmp_path / "revived"
    home.mkdir()
    with nodes.running("4.3.1", home) as broker:
        create(broker, {"again": Topic(), "more": Topic(), "zero": Topic()})
        writer = Writer(broker)
        for topic in ("again", "more", "zero"):
            writer.batch(topic, [Record(b"old %d" % each) for each in range(100)])
        writer.flush()

    class Interrupted(Exception):
        pass

    def stop(done, size):
        if (to / "revive.progress").exists() and len((to / "revive.progress").read_text().splitlines()) == 2:
            raise Interrupted

    request = Choices(to=to, kafka="4.4", port=nodes.free_port())
    with pytest.raises(Interrupted):
        revive([home / "data"], request, stop)
    assert {"again-0", "more-0"} <= {each.name for each in to.iterdir()}
    with nodes.running("4.3.1", home) as broker:
        delete_topic(broker, "again")
        create(broker, {"again": Topic()})
        writer = Writer(broker)
        writer.batch("again", [Record(b"new %d" % each) for each in range(7)])
        writer.batch("more", [Record(b"new %d" % each) for each in range(900)])
        writer.flush()
    report = revive([home / "data"], request)
    assert {"again-0", "more-0"} <= {*report["madeAgain"]}
    with started("4.4.0", to, tmp_path / "home", report) as node:
        assert consumed(node, "again", 0) == [b"new %d" % each for each in range(7)]
        assert len(consumed(node, "more", 0)) == 1000
        assert node.complaints() == []
