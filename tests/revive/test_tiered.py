"""A tier brought back: the new directory has what the broker's had before local retention, whatever the tier's layout.

The truth is the broker's directory when nothing was deleted, byte for byte, and what Kafka's consumer read afterwards.
"""

import json
import os
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import OffsetSpec

from kafkafs.errors import CorruptData, DiskError, Unanswered, UsageError
from kafkafs.format.checkpoints import parse_leader_epochs, parse_offset_checkpoint
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import TierSource
from kafkafs.revive.job import planned, revive
from kafkafs.revive.plan import Choices, make_plan
from kafkafs.revive.room import check_room
from tests.cli.asking import text_of
from tests.kafka import tiers, truth
from tests.kafka.buckets import BUCKET, bucket_of, in_buckets
from tests.kafka.tiered import PLAIN, RECORDS, TOPICS, Tiered, produce, set_configs
from tests.log.tier.test_lives import one_epoch
from tests.mounting import KAFKAFS, run
from tests.revive.nodes import choices, started

TIERED = Tiered()
LOCAL = TierSource(str(TIERED.tier))
FILES = {".log", ".index", ".timeindex", ".snapshot", ".metadata", ""}
NAMES = [f"{topic}-{number}" for topic, count in TOPICS.items() for number in range(count)]


@pytest.fixture
def copy(tmp_path) -> Path:
    """The tier, to be damaged."""
    return Path(shutil.copytree(TIERED.tier, tmp_path / "tier"))


def bases(directory: Path) -> list[int]:
    return sorted(int(log.stem) for log in directory.glob("*.log"))


def log_of(directory: Path) -> bytes:
    """All segments of a partition, end to end."""
    return b"".join((directory / f"{base:020}.log").read_bytes() for base in bases(directory))


def objects(tier: Path, name: str) -> list[Path]:
    """The logs in a tier of LocalTieredStorage's of a partition."""
    (folder,) = (each for each in tier.iterdir() if each.name[:-23] == name)
    return sorted(folder.glob("*.log"))


def reported(report: dict[str, Any], name: str) -> dict[str, Any]:
    """What a report says of a partition."""
    (found,) = (each for each in report["revived"] if f"{each['topic']}-{each['partition']}" == name)
    return dict(found)


def losses(report: dict[str, Any], name: str) -> list[tuple[int, int]]:
    return [(each["first"], each["last"]) for each in reported(report, name)["losses"]]


@pytest.mark.parametrize("kind", tiers.KINDS)
def test_the_directory_is_as_if_nothing_had_left_it(tmp_path, tier_sources, kind):
    report = revive([TIERED.left], Choices(to=tmp_path / "new", tiered=tier_sources[kind]))
    for name in NAMES:
        new, old = tmp_path / "new" / name, TIERED.whole / name
        assert log_of(new) == log_of(old), name
        assert bases(new) == bases(old)
        for base in bases(old)[:-1]:  # what a broker rebuilds is what it had: the last one's are not cut yet
            assert (new / f"{base:020}.index").stat().st_size > 0
            for index in ("index", "timeindex", "txnindex"):
                if (old / f"{base:020}.{index}").exists():
                    assert (new / f"{base:020}.{index}").read_bytes() == (old / f"{base:020}.{index}").read_bytes()
        epochs = [parse_leader_epochs((place / name / "leader-epoch-checkpoint").read_bytes())
                  for place in (tmp_path / "new", TIERED.left)]  # fmt: skip
        assert epochs[0] == epochs[1]
    assert report["remoteBytes"] == sum(each["remoteBytes"] for each in report["revived"]) > 0
    assert not any(each["losses"] for each in report["revived"])
    assert not any(secret in (tmp_path / "new/revive.json").read_text() for secret in ("secret", "endpoint_override"))


def starts() -> list[tuple[str, str]]:
    """(layout, target)."""
    usual = [("aiven zstd encrypted", "4.3.1")]
    every = [
        ("local", "3.9.1"),
        ("local", "4.3.1"),
        ("local", "4.4.0"),
        ("bucket zstd", "4.4.0"),
        ("aiven encrypted", "4.4.0"),
    ]
    return [*usual, *every] if os.environ.get("KAFKAFS_REVIVE") else usual


@pytest.mark.parametrize(("kind", "target"), starts())
def test_kafka_serves_what_its_consumer_read_from_the_tier(tmp_path, tier_sources, kind, target):
    """By a broker that knows of no tier; records are appended behind, and a topic's settings can be altered."""
    place = tmp_path / "revived"
    report = revive([TIERED.left], choices(place, target, tiered=tier_sources[kind]))
    partitions = [(topic, number) for topic, count in (*TOPICS.items(), (PLAIN, 1)) for number in range(count)]
    with started(target, place, tmp_path / "home", report) as node:
        for isolation, wanted in TIERED.read.items():
            found = truth.read(node.broker, partitions, isolation)
            assert {f"{topic}-{number}": rows for (topic, number), rows in found.items()} == wanted
        set_configs(node.broker, "orders", {"retention.ms": "86400000"})
        produce(node.broker, "orders", 0, RECORDS, 20)
        answer = truth.ask(node.broker.admin, {("orders", 0): OffsetSpec.latest()})["orders", 0]
        assert answer is not None
        assert answer[0] == RECORDS + 20
    assert node.complaints() == []


def test_what_only_a_tier_has_is_reported(tmp_path):
    """Nothing is called damage: the broker had moved it away."""
    report = revive([TIERED.left], Choices(to=tmp_path / "new"))
    for name in NAMES:
        assert losses(report, name) == [(0, bases(TIERED.left / name)[0] - 1)]
    assert losses(report, "plain-0") == []
    assert any("--tiered adds them" in each for each in report["leftOut"])


def test_what_the_disk_has_too_is_there_once(tmp_path):
    """The local segment wins; where a disk was lost to the middle of what is uploaded, the tier has the rest."""
    disk = tmp_path / "disk"
    subprocess.run(["cp", "-a", TIERED.whole, disk], check=True)
    for base in bases(disk / "orders-0")[:4]:
        (disk / f"orders-0/{base:020}.log").unlink()
    report = revive([disk], Choices(to=tmp_path / "new", tiered=LOCAL))
    for name in NAMES:
        assert log_of(tmp_path / "new" / name) == log_of(TIERED.whole / name)
    remote = {f"{each['topic']}-{each['partition']}": each["remoteBytes"] for each in report["revived"]}
    assert {name for name, size in remote.items() if size} == {"orders-0"}


def test_the_log_start_may_be_inside_a_remote_segment(tmp_path):
    disk = tmp_path / "disk"
    subprocess.run(["cp", "-a", TIERED.left, disk], check=True)
    starts = (disk / "log-start-offset-checkpoint").read_text()
    (disk / "log-start-offset-checkpoint").write_text(starts.replace("orders 0 0", "orders 0 777"))
    report = revive([disk], Choices(to=tmp_path / "new", tiered=LOCAL))
    found = reported(report, "orders-0")
    assert (found["startOffset"], found["records"], found["losses"]) == (777, 3000 - 777, [])
    assert bases(tmp_path / "new/orders-0")[0] <= 777
    new = parse_offset_checkpoint((tmp_path / "new/log-start-offset-checkpoint").read_bytes())
    assert new["orders", 0] == 777
    assert open_data_directory(tmp_path / "new").partition("orders-0").log().start_offset == 777


@pytest.mark.parametrize("has_metadata", [True, False])
def test_an_object_that_is_gone_is_damage(tmp_path, copy, has_metadata):
    """Where the metadata topic calls it finished, and where nothing tells of it but the offsets that are missing."""
    disk = tmp_path / "disk"
    subprocess.run(["cp", "-a", TIERED.left, disk], check=True)
    if not has_metadata:
        for each in disk.glob("__remote_log_metadata-*"):
            shutil.rmtree(each)
    gone, behind = objects(copy, "orders-0")[2:4]
    for each in gone.parent.glob(f"{gone.stem}*"):
        each.unlink()
    first, last = int(gone.name[:20]), int(behind.name[:20]) - 1
    source = TierSource(str(copy))
    with pytest.raises(CorruptData, match=rf"damage in 1 place: orders-0 at offset {first}: .*--corrupt skip"):
        revive([disk], Choices(to=tmp_path / "new", tiered=source))
    assert json.loads((tmp_path / "new/revive.json").read_text())["state"] == "unfinished"
    report = revive([disk], Choices(to=tmp_path / "new", tiered=source, corrupt="skip"))
    assert losses(report, "orders-0") == [(first, last)]
    kept = [base for base in bases(TIERED.whole / "orders-0") if base != first]
    assert bases(tmp_path / "new/orders-0") == kept
    for base in kept:
        name = f"orders-0/{base:020}.log"
        assert (tmp_path / "new" / name).read_bytes() == (TIERED.whole / name).read_bytes()
    report = revive([disk], Choices(to=tmp_path / "cut", tiered=source, corrupt="cut"))
    assert losses(report, "orders-0") == [(first, 2999)]
    assert bases(tmp_path / "cut/orders-0") == [base for base in kept if base < first]


@pytest.mark.parametrize("is_far", [False, True])
def test_an_object_that_lies_is_damage(tmp_path, copy, is_far):
    """A batch that was altered is left out, the rest of its object stays."""
    log = objects(copy, "orders-0")[2]
    data = bytearray(log.read_bytes())
    data[100] ^= 1
    log.write_bytes(data)
    first, end = int(log.name[:20]), 12 + struct.unpack_from(">i", data, 8)[0]
    with in_buckets() as address_of:
        source = TierSource(address_of(copy) if is_far else str(copy))
        with pytest.raises(CorruptData, match=f"orders-0 at offset {first}"):
            revive([TIERED.left], Choices(to=tmp_path / "new", tiered=source))
        report = revive([TIERED.left], Choices(to=tmp_path / "new", tiered=source, corrupt="skip"))
    assert losses(report, "orders-0") == [(first, first + 19)]
    new = tmp_path / "new/orders-0"
    assert (new / f"{first:020}.log").read_bytes() == data[end:]
    assert {each.suffix for each in new.iterdir()} <= FILES


def test_an_object_that_was_cut_is_damage_and_says_so(tmp_path, copy):
    """An error at its offsets, not a file that changes all the time."""
    log = objects(copy, "orders-0")[2]
    log.write_bytes(log.read_bytes()[:8930])
    first = int(log.name[:20])
    sentence = f"{log.parent.name}/{log.name}' has 8930 bytes, and "
    with pytest.raises(CorruptData, match=f"orders-0 at offset {first}: '{sentence}"):
        revive([TIERED.left], Choices(to=tmp_path / "new", tiered=TierSource(str(copy))))
    done = run(KAFKAFS, "cat", "-o", f"tiered={copy}", TIERED.left, f"orders-0/by-offset/{first + 9}", check=False)
    assert done.stderr.decode().endswith("Input/output error\n")
    assert sentence in done.stderr.decode()


def test_a_local_segment_that_is_gone_in_the_middle_comes_from_the_tier(tmp_path):
    """And is told as lost without the tier."""
    disk = tmp_path / "disk"
    subprocess.run(["cp", "-a", TIERED.whole, disk], check=True)
    gone, behind = bases(disk / "orders-0")[2:4]
    (disk / "orders-0" / f"{gone:020}.log").unlink()
    report = revive([disk], Choices(to=tmp_path / "new", tiered=LOCAL))
    assert (reported(report, "orders-0")["records"], losses(report, "orders-0")) == (RECORDS, [])
    assert log_of(tmp_path / "new/orders-0") == log_of(TIERED.whole / "orders-0")
    without = planned([disk], Choices(to=tmp_path / "other"))
    assert losses(without, "orders-0") == [(gone, behind - 1)]


@pytest.mark.parametrize("method", ["copy", "link"])
def test_the_tier_is_only_read(tmp_path, copy, method):
    """Nor is it linked to: its owner may delete and alter objects."""
    disk = tmp_path / "disk"
    subprocess.run(["cp", "-a", TIERED.left, disk], check=True)
    before = {each: each.stat() for each in copy.rglob("*")}
    revive([disk], Choices(to=tmp_path / "new", tiered=TierSource(str(copy)), method=method))
    after = {each: each.stat() for each in copy.rglob("*")}
    assert {path: (about.st_mtime_ns, about.st_ctime_ns) for path, about in before.items()} == {
        path: (about.st_mtime_ns, about.st_ctime_ns) for path, about in after.items()
    }
    assert log_of(tmp_path / "new/orders-0") == log_of(TIERED.whole / "orders-0")


def test_the_plan_tells_what_comes_from_the_tier_and_room_is_reckoned_with_it(tmp_path, monkeypatch):
    choices = Choices(to=tmp_path / "new", tiered=LOCAL)
    plan = planned([TIERED.left], choices)
    assert not (tmp_path / "new").exists()
    remote = sum(len(log.read_bytes()) for name in NAMES for log in objects(TIERED.tier, name))
    local = sum(len(log_of(TIERED.left / name)) for name in NAMES)
    assert plan["remoteBytes"] == remote
    assert plan["neededBytes"] > plan["logBytes"] > remote + local
    linked = planned([TIERED.left], replace(choices, method="link"))
    assert plan["neededBytes"] > linked["neededBytes"] > remote
    made = make_plan([TIERED.left], choices)

    class Full:
        f_frsize = 1
        f_bavail = remote

    monkeypatch.setattr("os.statvfs", lambda _: Full)
    for method in ("copy", "reflink", "link"):
        with pytest.raises(DiskError, match="bytes are needed"):
            check_room(made, method, tmp_path, 0)
    Full.f_bavail = remote + local + (16 << 20)
    check_room(made, "copy", tmp_path, 0)


@pytest.mark.parametrize("lost", [(), ("__remote_log_metadata",), ("__remote_log_metadata", "__cluster_metadata")])
def test_a_partition_that_no_disk_has_comes_from_the_tier(tmp_path, tier_sources, lost):
    """Up to its last upload, under its own topic id; that the broker noted a later end is told as of any log."""
    disk = tmp_path / "disk"
    subprocess.run(["cp", "-a", TIERED.left, disk], check=True)
    for each in (disk / "orders-0", *(path for topic in lost for path in disk.glob(f"{topic}-*"))):
        shutil.rmtree(each)
    other = tmp_path / "other"  # of the same broker
    other.mkdir()
    shutil.copy(disk / "meta.properties", other)
    (disk / "orders-1").rename(other / "orders-1")
    report = revive([disk, other], Choices(to=tmp_path / "new", tiered=tier_sources["bucket zstd"], corrupt="cut"))
    end = bases(TIERED.left / "orders-0")[0]
    assert f"orders-0: no disk has a replica, and the tier ends at offset {end}" in report["leftOut"]
    assert losses(report, "orders-0") == [(end, RECORDS - 1)]
    assert log_of(TIERED.whole / "orders-0").startswith(log_of(tmp_path / "new/orders-0"))
    assert [reported(report, "orders-0")[name] for name in ("replica", "endOffset")] == [f"s3://{BUCKET}/zstd", end]
    ids = {(tmp_path / "new" / name / "partition.metadata").read_bytes() for name in ("orders-0", "orders-1")}
    assert len(ids) == 1


def test_a_tier_by_itself_is_revived(tmp_path):
    """Each topic under its own id, up to the last upload."""
    revive([TIERED.tier], Choices(to=tmp_path / "new"))
    for name in NAMES:
        identity = (tmp_path / "new" / name / "partition.metadata").read_text()
        assert identity.rpartition(" ")[2].strip() == objects(TIERED.tier, name)[0].parent.name[-22:]
        assert log_of(tmp_path / "new" / name) == b"".join(log.read_bytes() for log in objects(TIERED.tier, name))


def test_an_object_is_fetched_once(tmp_path, tier_sources):
    """To be checked and to be kept, whatever memory there is for chunks."""
    zstd = Path(tier_sources["aiven zstd"].place)
    with bucket_of(zstd.parent) as store:
        source = TierSource(store.address(zstd.name, opened=True), cache_size=1)
        revive([TIERED.left], Choices(to=tmp_path / "new", tiered=source))
    ranges = [request for request in store.ranges() if ".log" in request]
    assert len(ranges) == len({*ranges}) > 50
    for name in NAMES:
        assert log_of(tmp_path / "new" / name) == log_of(TIERED.whole / name)
    assert {each.suffix for each in (tmp_path / "new/orders-0").iterdir()} <= FILES


def test_a_directory_inside_the_tier_is_refused(copy):
    with pytest.raises(UsageError, match="are inside each other"):
        revive([TIERED.left], Choices(to=copy / "new", tiered=TierSource(str(copy))))


@pytest.mark.usefixtures("hasty")
def test_a_store_that_goes_away_stops_the_work_and_the_same_command_goes_on(tmp_path):
    """Nothing is damaged, so that even `skip` leaves nothing out."""
    with bucket_of(TIERED.tier.parent) as store:
        tier = TierSource(store.address(TIERED.tier.name, opened=True))
        request = Choices(to=tmp_path / "new", tiered=tier, corrupt="skip")

        def progress(moved: int, size: int) -> None:
            if moved > size // 2:
                store.fault = lambda _method, _key: "reset"

        with pytest.raises(Unanswered, match="cannot be read"):
            revive([TIERED.left], request, progress)
        assert json.loads((tmp_path / "new/revive.json").read_text())["state"] == "unfinished"
        store.fault = lambda _method, _key: ""
        report = revive([TIERED.left], request)
    assert log_of(tmp_path / "new/orders-0") == log_of(TIERED.whole / "orders-0")
    assert not any(each["losses"] for each in report["revived"])


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("tier", "code", "sentence"),
    [
        ("/nowhere/at/all", 2, "the tier '/nowhere/at/all' cannot be opened: No such file or directory"),
        (
            "s3://u:secret@b?endpoint_override=127.0.0.1:9&scheme=http&region=r",
            1,
            "the tier s3://b cannot be read",
        ),
    ],
)
def test_a_tier_that_is_not_there_is_one_sentence(tmp_path, tier, code, sentence):
    done = text_of("revive", TIERED.left, "--to", tmp_path / "new", "--tiered", tier)
    assert (done.returncode, sentence in done.stderr) == (code, True)
    assert "secret" not in done.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("harm", ["gone", "cut"])
@pytest.mark.parametrize("place", [0, -1])
def test_a_partition_that_only_a_tier_has_is_revived_past_an_upload_that_is_lost(tmp_path, place, harm):
    """Regression: with its last upload gone it ended before, without a word; then no revival came through at all."""
    made = one_epoch()
    tier, disk = made.write_tier(tmp_path / "tier"), made.write_disk(tmp_path / "disk", False, True)
    log = sorted(tier.rglob("*.log"))[place]
    if harm == "cut":
        log.write_bytes(log.read_bytes()[:-1])
    else:
        log.unlink()
    wanted = choices(tmp_path / "new", corrupt="skip", tiered=TierSource(str(tier)), topics=("t",))
    first = int(log.name[:20])
    for each in (wanted, replace(wanted, to=tmp_path / "copied", method="copy")):
        found = reported(revive([disk], each), "t-0")
        assert (found["records"], found["endOffset"]) == (90, 120)
        assert [(loss["first"], loss["last"]) for loss in found["losses"]] == [(first, first + 29)]
    with pytest.raises(CorruptData, match="damage in 1 place"):
        revive([disk], replace(wanted, to=tmp_path / "other", corrupt="refuse"))


def test_a_sound_hole_at_the_end_of_an_object_refuses_no_revival(tmp_path):
    """Regression: the topic was compacted before it was tiered. The object has the size that the metadata topic noted,
    and reads had no error; the revival called the hole damage."""
    made = one_epoch()
    made.uploads = [
        replace(each, batches=tuple(one for one in each.batches if one.base != 55)) for each in made.uploads
    ]
    tier, disk = made.write_tier(tmp_path / "tier"), made.write_disk(tmp_path / "disk", True, True)
    wanted = choices(tmp_path / "new", tiered=TierSource(str(tier)), topics=("t",))
    found = reported(revive([disk], wanted), "t-0")
    assert found["records"] == 125
    assert found["losses"] == [{"first": 55, "last": 59, "reason": "no segment has them"}]
