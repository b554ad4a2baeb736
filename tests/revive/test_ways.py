"""Ways to revive that take a broker or time: links, damage, a lost controller, shared blocks. `scripts/soak revive`."""

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec

from kafkafs.errors import CorruptData
from kafkafs.log.data_directory import open_data_directory
from kafkafs.revive.job import revive
from tests.cluster.writing import batch
from tests.kafka import broker as nodes
from tests.kafka import replicated, truth
from tests.kafka.clusters import Cluster
from tests.kafka.dataset import Dataset
from tests.kafka.writer import Record, Topic, Writer, create, now_ms
from tests.revive.nodes import choices, moment, revived, started
from tests.revive.producing import OUT_OF_ORDER_SEQUENCE, first_batch, produce, with_sequence
from tests.revive.test_brokers import WHOLE, truth_record
from tests.revive.test_group_ends import MEMBERS, deleted, left

pytestmark = pytest.mark.skipif(not WHOLE, reason="scripts/soak revive")
SOURCE = Dataset("4.3.1", "stopped")
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")


def test_logs_that_are_linked_stay_as_they_were(tmp_path):
    """A broker appends, stops and starts: no byte, size or time of the originals changes."""
    data = SOURCE.copy_to(tmp_path / "data")
    before = state(data)
    with revived("4.4.0", tmp_path, [data], method="link", corrupt="skip") as node:
        assert any(path.stat().st_nlink > 1 for path in node.place.rglob("*.log"))
        each = next(each for each in SOURCE.partitions() if each.topic == "segments")
        reported = truth.read(node.broker, [(each.topic, each.partition)], "read_uncommitted")
        assert [truth_record(row) for row in reported[each]] == [*SOURCE.records(*each)]
    assert state(data) == before


def state(data: Path) -> dict[str, tuple[str, int]]:
    files = [path for path in data.rglob("*") if path.is_file()]
    return {str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) for path in files}


def test_every_sound_record_of_a_damaged_disk_is_there(tmp_path):
    """Batches flipped, logs cut, indexes missing: what is skipped is what was damaged."""
    data = SOURCE.copy_to(tmp_path / "data")
    for name in ("segments-0", "transactions-0", "codec-zstd-0", "long-index-0"):
        for log in sorted((data / name).glob("*.log"))[:2]:
            content = bytearray(log.read_bytes())
            if len(content) > 200:
                content[len(content) // 2] ^= 0x55
                log.write_bytes(content)
    for index in data.rglob("*.index"):
        index.unlink()
    with revived("4.3.1", tmp_path, [data], corrupt="skip") as node:
        gone = {
            (reported["topic"], reported["partition"]): [
                range(loss["first"], loss["last"] + 1) for loss in reported["losses"]
            ]
            for reported in node.report["revived"]
        }
        assert sum(map(len, gone.values())) >= 2
        partitions = [each for each in SOURCE.partitions() if each.directory in os.listdir(node.place)]
        reported = truth.read(node.broker, [(each.topic, each.partition) for each in partitions], "read_uncommitted")
        for each in partitions:
            lost = gone[each.topic, each.partition]
            wanted = [one for one in SOURCE.records(*each) if not any(one.offset in some for some in lost)]
            assert [truth_record(row) for row in reported[each]] == wanted, each
    assert node.complaints() == []


@pytest.mark.parametrize("lost", [(0.0, 0.3), (0.4, 0.6), (0.0, 1.0)], ids=["beginning", "middle", "all"])
def test_with_damaged_metadata_topics_and_groups_are_there(tmp_path, lost):
    """Directories tell topics and their ids; offsets of groups stand elsewhere."""
    before = Cluster("4.3.1", "stopped")
    data = before.copy_to(tmp_path / "data")
    log = data / "__cluster_metadata-0" / f"{0:020}.log"
    content = bytearray(log.read_bytes())
    first, end = (int(len(content) * share) for share in lost)
    content[first:end] = bytes(end - first)
    log.write_bytes(content)
    with pytest.raises(CorruptData, match=r"the cluster's metadata is not whole.*--corrupt skip"):
        revive([data], choices(tmp_path / "refused", "4.3"))
    with revived("4.3.1", tmp_path, [data], corrupt="skip") as node:
        reported = node.facts()
    topics = {each["topic"]: each["topicId"] for each in reported["topics"]}
    assert {each["topic"]: each["topicId"] for each in before.truth["topics"]}.items() <= topics.items()
    assert sorted(map(str, reported["offsets"])) == sorted(map(str, before.truth["offsets"]))
    assert node.complaints() == []


def test_groups_beside_one_that_lost_how_its_members_left_are_there(tmp_path):
    """Of a partition that it cannot replay to its end a coordinator has no group at all."""
    before, group = Cluster("4.3.1", "killed"), "modern"
    data, name = before.copy_to(tmp_path / "data"), "__consumer_offsets-1"
    log = open_data_directory(data).partition(name).log()
    known = {each["group"]: each for each in before.truth["groups"]}
    members = [each["memberId"] for each in known[group]["members"]]
    gone = batch(left("ConsumerGroup", group, *members), log.end_offset)
    ended = batch(deleted("ConsumerGroup", group), log.end_offset + len(MEMBERS) * len(members))
    with open(data / name / log.segments[-1].log_name, "r+b") as file:
        file.seek(log.walk_end(log.segments[-1]))
        file.write(gone[:-1] + b"\x55" + ended)
    with revived("4.3.1", tmp_path, [data], corrupt="skip") as node:
        assert [each["endedGroups"] for each in node.report["revived"] if each.get("endedGroups")] == [[group]]
        reported = node.facts()
    assert {each["group"] for each in reported["groups"]} == known.keys() - {group}
    assert node.complaints() == []


def test_without_the_controllers_disk_the_others_tell_as_much(tmp_path):
    disks = replicated.directories()[1:]
    with revived("4.4.0", tmp_path, disks) as node:
        for reported in node.report["revived"]:
            if reported["replica"]:
                where = reported["topic"], reported["partition"]
                (answer,) = truth.ask(node.broker.admin, {where: OffsetSpec.latest()}).values()
                assert answer is not None
                assert answer[0] == reported["endOffset"]
        assert {reported["topic"] for reported in node.report["revived"]} >= {"plain", "compacted", "parted"}
    assert node.complaints() == []


def test_retention_of_a_topics_own_deletes_nothing_at_the_first_start(tmp_path):
    """Which Kafka runs half a minute after the start, whatever server.properties says of the cluster's retention."""
    home = tmp_path / "source"
    home.mkdir()
    with nodes.running("4.4.0", home) as source:
        create(source, {"old": Topic(settings={"retention.ms": 1000})})
        Writer(source).batch("old", [Record(b"x", timestamp_ms=1_600_000_000_000 + number) for number in range(5)])
    with revived("4.4.0", tmp_path, [home / "data"]) as node:
        assert node.report["problems"] == node.report["leftOut"] == []
        time.sleep(45)  # that is the promise: so long nothing happens
        (answer,) = truth.ask(node.broker.admin, {("old", 0): OffsetSpec.earliest()}).values()
        assert answer == [0, -1]
    assert node.complaints() == []


def test_behind_a_cut_producers_go_on_as_behind_what_a_broker_truncated(tmp_path):
    """What follows the kept batches is appended, what they hold is known, and who has lost some in between hears so."""
    home = tmp_path / "source"
    home.mkdir()
    with nodes.running("4.3.1", home) as source:
        create(source, {"t": Topic()})
        writer = Writer(source, settings={"enable.idempotence": True})
        for _ in range(4):
            writer.batch("t", [Record(b"x"), Record(b"y")])
    data, end = home / "data", 4
    (file,) = (data / "t-0").glob("*.log")
    batch, content = first_batch(data, "t-0"), bytearray(file.read_bytes())
    content[2 * len(batch) + len(batch) - 1] ^= 0xFF  # the third one's last byte
    file.write_bytes(content)
    with revived("4.4.0", tmp_path, [data], corrupt="cut") as node:
        address = node.broker.address
        assert produce(address, "t", 0, with_sequence(batch, 2)) == (0, 2)
        assert produce(address, "t", 0, with_sequence(batch, end + 2)).error == OUT_OF_ORDER_SEQUENCE
        assert produce(address, "t", 0, with_sequence(batch, end)) == (0, end)
        new = Producer({"bootstrap.servers": address, "enable.idempotence": True, "log_level": 0})
        new.produce("t", b"new", partition=0)
        assert new.flush(30) == 0
        (answer,) = truth.ask(node.broker.admin, {("t", 0): OffsetSpec.latest()}).values()
        assert answer == [end + 3, -1]
    assert [each for each in node.complaints() if "Error processing append operation" not in each] == []  # the gap


LATE_MS = 60 * 24 * 3600 * 1000
WALL_CLOCK_ALONE = "FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_FORCE_MONOTONIC_FIX=0"
OFTEN = {"offsets.retention.check.interval.ms": 500, "producer.id.expiration.check.interval.ms": 500}


@pytest.mark.skipif(not FAKETIME.exists(), reason="libfaketime of Debian")
def test_two_months_later_nothing_has_expired(tmp_path, monkeypatch):
    """The clock of the new node is that much ahead, and what looks for expired groups and producers looks often."""
    before, now_ns = Cluster("4.3.1", "stopped"), time.time_ns
    monkeypatch.setattr("kafkafs.revive.partitions.time.time_ns", lambda: now_ns() + LATE_MS * 1_000_000)
    place = tmp_path / "revived"
    report = revive([before.path], choices(place, "4.4.0"))
    properties = place / "server.properties"
    more = "".join(f"{name}={value}\n" for name, value in OFTEN.items())
    properties.write_text(properties.read_text() + more)
    clock = "env", f"LD_PRELOAD={FAKETIME}", f"FAKETIME=+{LATE_MS // 1000}s", *WALL_CLOCK_ALONE
    with started("4.4.0", place, tmp_path / "home", report, under=clock) as node:
        time.sleep(5)  # that is the promise: nothing happens, ten times
        reported = node.facts()
        shop = truth.ask(node.broker.admin, {("shop", 0): OffsetSpec.earliest()})
        assert shop == {("shop", 0): [0, -1]}
        assert produce(node.broker.address, "shop", 0, first_batch(before.path, "shop-0")) == (
            0,
            0,
        )  # known as repeated
    for name in ("offsets", "ends", "producers", "transactions"):
        assert sorted(map(str, reported[name])) == sorted(map(str, before.truth[name])), name
    assert node.complaints() == []


def test_as_of_a_moment_records_and_groups_are_as_they_were(tmp_path):
    home = tmp_path / "source"
    home.mkdir()
    with nodes.running("4.3.1", home) as source:
        create(source, {"t": Topic()})
        writer = Writer(source)
        for offset, group_at in ((5, 3), (10, 8)):
            now = now_ms()
            writer.batch("t", [Record(b"%d" % now, timestamp_ms=now) for _ in range(5)])
            commit(source, "readers", group_at)
            if offset == 5:
                until = moment()
    with revived("4.3.1", tmp_path, [home / "data"], until_ms=until) as node:
        (answer,) = truth.ask(node.broker.admin, {("t", 0): OffsetSpec.latest()}).values()
        assert answer == [5, -1]
        assert [each["offset"] for each in node.facts()["offsets"] if each["group"] == "readers"] == [3]
    assert node.complaints() == []


def commit(broker: nodes.Broker, group: str, offset: int) -> None:
    reader = Consumer({"bootstrap.servers": broker.address, "group.id": group, "log_level": 0})
    reader.commit(offsets=[TopicPartition("t", 0, offset)], asynchronous=False)
    reader.close()


@pytest.fixture(params=["btrfs", "xfs"])
def sharing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A small file system that shares blocks."""
    make, image, place = f"mkfs.{request.param}", tmp_path / "image", tmp_path / "place"
    if shutil.which(make) is None:
        pytest.skip(f"there is no {make}")
    place.mkdir()
    with open(image, "wb") as file:
        file.truncate(1 << 30)
    subprocess.run([make, "-q", image], check=True, capture_output=True)
    subprocess.run(["mount", "-o", "loop", image, place], check=True)
    yield place
    subprocess.run(["umount", "-l", place], check=True)  # this process still has the disks open


def test_shared_blocks_take_no_room(sharing, tmp_path):
    data = SOURCE.copy_to(sharing / "data")
    subprocess.run(["sync", "-f", sharing], check=True)
    taken = []
    for name, method in (("copied", "copy"), ("new", None)):
        before = used(sharing)
        report = revive([data], choices(sharing / name, corrupt="skip", method=method))
        subprocess.run(["sync", "-f", sharing], check=True)
        taken.append(used(sharing) - before)
    assert report["method"] == "reflink"
    assert taken[0] - taken[1] > report["logBytes"] // 4  # small logs, and inodes are made by the chunk
    for log in (data / "segments-0").glob("*.log"):
        assert (sharing / "new/segments-0" / log.name).read_bytes() == log.read_bytes()


def used(place: Path) -> int:
    about = os.statvfs(place)
    return (about.f_blocks - about.f_bfree) * about.f_frsize
