"""Partitions that a tier alone has, beside those of disks."""

import json
import os
import shutil
from types import SimpleNamespace
from typing import cast

import pytest

from kafkafs.cli.main import main
from kafkafs.disk import store_session
from kafkafs.errors import DiskError, NotFound, Unanswered
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.disks_together import DisksTogether
from kafkafs.log.read_options import ReadOptions, TierSource
from kafkafs.log.tier.layouts import LocalTiered
from kafkafs.log.tier.lost_partitions import LostPartitions
from kafkafs.log.tier.remote_log_metadata import RemoteLogMetadata
from kafkafs.log.tier.tier import Tier
from tests.kafka.buckets import bucket_of
from tests.kafka.tiered import Tiered
from tests.log.tier.lives import FOLDER, TOPIC_ID
from tests.log.tier.test_lives import EIO, code_of, cut, one_epoch, restarted, source_of
from tests.log.tier.test_lives import lines as lines_in
from tests.view.trees import cat, tree

TIERED = Tiered()
PARTITIONS = ["orders-0", "orders-1", "payments-0", "plain-0", "with.dots-and-9-0"]


def shown(root) -> list[str]:
    return [each.name for each in root.entries() if not each.name.startswith((".", "_"))]


def test_a_lost_directory_is_answered_from_the_tier(tmp_path):
    """Up to its last upload; the rest as before. Jobs and commands find it by the same names."""
    disk = shutil.copytree(TIERED.left, tmp_path / "disk")
    shutil.rmtree(disk / "orders-0")
    left, whole = tree(disk, tiered=TierSource(str(TIERED.tier))), tree(TIERED.whole)
    assert shown(left) == PARTITIONS
    end = json.loads(cat(left, "orders-0/info.json"))["logEndOffset"]
    assert cat(left, "orders-0/by-offset/0...jsonl") == cat(whole, f"orders-0/by-offset/0..{end}.jsonl")
    assert cat(left, "orders-1/by-offset/0...jsonl") == cat(whole, "orders-1/by-offset/0...jsonl")
    assert shown(tree(disk)) == [each for each in PARTITIONS if each != "orders-0"], "without the option"


def test_a_partition_on_another_disk_is_not_lost(tmp_path):
    first, second = (shutil.copytree(TIERED.left, tmp_path / name) for name in ("first", "second"))
    for place, gone in ((first, ("orders-0", "orders-1")), (second, ("payments-0", "orders-1"))):
        for name in gone:
            shutil.rmtree(place / name)
    (second / "meta.properties").write_text((second / "meta.properties").read_text().replace("node.id=1", "node.id=2"))
    options = ReadOptions(tiered=TierSource(str(TIERED.tier)))
    directories = [open_data_directory(place, options) for place in (first, second)]
    for each in directories:
        each.read_together_with(directories)
    assert [each.is_lost("orders-1") for each in directories] == [True, False]
    assert not any(each.is_lost(name) for each in directories for name in ("orders-0", "payments-0", "plain-0"))


@pytest.mark.parametrize("start", [0, 13, 47])
def test_a_checkpoint_proves_that_a_first_upload_is_gone(tmp_path, start):
    """Regression: the log of a lost partition began with the first upload that was left. The checkpoint is perhaps that
    of another broker whose disk is given."""
    made = one_epoch()
    tier = made.write_tier(tmp_path / "tier")
    for file in tier.rglob(f"{made.uploads[0].stem}*"):
        file.unlink()
    own, other = (made.write_disk(tmp_path / name, has_local=False, has_metadata=False) for name in "ab")
    (other / "log-start-offset-checkpoint").write_text(f"0\n2\nother 0 0\nt 0 {start}\n")
    for disks in ([other], [own, other]):
        root = tree(*disks, tiered=source_of(tmp_path, tier))
        info = json.loads(cat(root, "t-0/info.json"))
        assert info["logStartOffset"] == start
        gap = [f"offsets {start} to 29 are in no upload: a gap in the offsets"] if start < 30 else []
        assert info["problems"] == gap
        assert code_of(root, "t-0/by-offset/0...jsonl") == (EIO if gap else 0)
        rest = range(max(start, 30), 120)
        assert [*lines_in(cat(root, f"t-0/by-offset/{rest[0]}...jsonl"))] == [*rest]


@pytest.mark.parametrize("lines", ["0 0\n4 90\n2 60\n", "5 0\n4 90\n", "-1 0\n4 90\n"])
def test_a_checkpoint_whose_epochs_go_back_hides_no_record(tmp_path, lines):
    """Regression: a lost partition ended before the uploads that such a newest checkpoint did not fit, or began
    behind them."""
    made = restarted()
    tier = made.write_tier(tmp_path / "tier")
    newest = sorted(tier.rglob("*.leader_epoch_checkpoint"))[-1]
    newest.write_text(f"0\n{lines.count(chr(10))}\n{lines}")
    disk = made.write_disk(tmp_path / "disk", has_local=False, has_metadata=False)
    root = tree(disk, tiered=source_of(tmp_path, tier))
    if lines.startswith("0"):
        assert [*lines_in(cat(root, "t-0/by-offset/0...jsonl"))] == [*range(150)]
    else:
        assert code_of(root, "t-0/by-offset/0...jsonl") == EIO
        assert json.loads(cat(root, "t-0/info.json"))["problems"]
        assert [*lines_in(cat(root, "t-0/by-offset/0..120.jsonl"))] == [*range(120)]


def test_of_two_topics_of_a_name_the_metadata_topic_knows_which_one_lives(tmp_path):
    """Regression: the newest file decided. Copies of a tier have new times in any order."""
    made, other = one_epoch(), cut()
    tier = made.write_tier(tmp_path / "tier")
    other.write_tier(tmp_path / "other")
    foreign = shutil.copytree(tmp_path / "other" / FOLDER, tier / FOLDER.replace(TOPIC_ID, "A" * 21 + "Q"))
    for file in foreign.iterdir():
        os.utime(file, (2e9, 2e9))
    disk = made.write_disk(tmp_path / "disk", has_local=False, has_metadata=True)
    assert [*lines_in(cat(tree(disk, tiered=source_of(tmp_path, tier)), "t-0/by-offset/0...jsonl"))] == [*range(120)]


def test_a_living_directory_takes_its_place_again(tmp_path):
    made = one_epoch()
    tier, disk = made.write_tier(tmp_path / "tier"), made.write_disk(tmp_path / "disk", True, False)
    (disk / "t-0").rename(tmp_path / "away")
    directory = open_data_directory(disk, ReadOptions(tiered=TierSource(str(tier)), names_fresh_s=0))
    assert directory.is_lost("t-0")
    assert directory.partition("t-0").log().end_offset == 120
    (tmp_path / "away").rename(disk / "t-0")
    assert not directory.is_lost("t-0")
    assert directory.partition("t-0").log().end_offset == 130


def test_deleted_topics_and_others_of_the_same_name_do_not_come_back(tmp_path):
    """The metadata topic calls all uploads deleted, or a disk has a partition of a topic with another id."""
    made = one_epoch()
    tier, disk = made.write_tier(tmp_path / "tier"), made.write_disk(tmp_path / "disk", True, False)
    other = shutil.copytree(tier / FOLDER, tier / f"t-1-{'A' * 22}")
    root = tree(disk, tiered=TierSource(str(tier)))
    assert shown(root) == ["other-0", "t-0"]
    other.rename(tier / f"t-1-{TOPIC_ID}")
    assert shown(tree(disk, tiered=TierSource(str(tier)))) == ["other-0", "t-0", "t-1"]
    with pytest.raises(NotFound):
        root.child("t-2")


@pytest.mark.usefixtures("bucket_keys")
@pytest.mark.parametrize("is_far", [False, True])
def test_no_answer_is_short_if_the_tier_does_not_tell_its_partitions(tmp_path, monkeypatch, capsys, is_far):
    """Regression: a directory that could not be read was a warning, and `ls`, patterns and `.topics` left out what a
    tier alone has, with exit code 0. The disk answers."""
    made = one_epoch()
    tier, disk = made.write_tier(tmp_path / "bucket/tier"), made.write_disk(tmp_path / "disk", True, False)
    (tier / FOLDER).rename(tier / f"t-1-{TOPIC_ID}")
    with bucket_of(tmp_path / "bucket") as store:
        options = ["-o", f"tiered={store.address('tier') if is_far else tier}"]

        def code(*words: str) -> int:
            monkeypatch.setattr(store_session, "current", store_session.StoreSession())
            capsys.readouterr()
            return main([words[0], *options, *words[1:]])

        assert code("ls", str(disk)) == 0
        assert "t-1" in capsys.readouterr().out.split()
        topic, near = ".topics/t/by-time/0...jsonl", f"t-0/by-offset/{made.end - 1}.jsonl"
        assert code("cat", str(disk), topic) in (0, 1)  # 1: the first segments of t-0 are gone
        assert code("cat", str(disk), about := ".topics/t/info.json") == 0
        reported = json.loads(capsys.readouterr().out)
        assert (reported["partitions"], reported["problems"]) == ([0, 1], [])

        def refused(_: LocalTiered) -> list[object]:
            raise DiskError("Input/output error")

        monkeypatch.setattr(LocalTiered, "partitions", refused)
        first = "by-offset/earliest.jsonl"
        for command, path in (("ls", "/"), ("ls", ".topics/t"), ("cat", topic), ("cat", f"t-*/{first}"),
                              ("cat", f"t-1/{first}")):  # fmt: skip
            assert code(command, str(disk), path) == 1, (command, path)
            assert "Input/output error" in capsys.readouterr().err
        assert code("cat", str(disk), about) == 1
        reported = json.loads(capsys.readouterr().out)
        assert reported["partitions"] == [0]
        assert any("partitions may be missing here" in each for each in reported["problems"])
        assert code("cat", str(disk), near) == 0
        directory = open_data_directory(disk, ReadOptions(tiered=TierSource(options[1].partition("=")[2])))
        with pytest.raises((Unanswered, DiskError)):
            directory.wait_for_tier_names()


def test_a_tier_that_cannot_be_read_is_an_error_as_long_as_that_lasts(tmp_path, monkeypatch):
    """Regression: ten seconds after the error, names counted as known for fifty more, without what has come since."""
    made = one_epoch()
    tier, disk = made.write_tier(tmp_path / "tier"), made.write_disk(tmp_path / "disk", True, False)
    now = [1.0]
    directory = open_data_directory(disk, ReadOptions(tiered=TierSource(str(tier)), clock=lambda: now[0]))
    directory.wait_for_tier_names()

    def refused(_: LocalTiered) -> list[object]:
        raise DiskError("Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(LocalTiered, "partitions", refused)
        for now[0] in (100.0, 105.0, 115.0, 130.0, 165.0):
            with pytest.raises(Unanswered, match="Input/output error"):
                directory.wait_for_tier_names()
    shutil.copytree(tier / FOLDER, tier / f"t-1-{TOPIC_ID}")
    now[0] = 180.0
    directory.wait_for_tier_names()
    assert directory.is_lost("t-1")


@pytest.mark.parametrize("looks", range(1, 7))
def test_an_error_that_stops_counting_during_a_wait_is_asked_about_again(looks):
    """Regression: it counted at the first look at it, so that the bucket was not asked, and not at the second, so that
    nothing was raised, and what only the tier has was left out. `looks`: those at the clock until it stops to count."""
    times = [0.0] * (1 + looks)

    def refused() -> None:
        raise DiskError("the bucket is asked")

    options = ReadOptions(clock=lambda: times.pop() if times else 100.0)
    tier = cast(Tier, SimpleNamespace(is_far=True, options=options, before_asking=refused))
    disks = cast(DisksTogether, SimpleNamespace(names=dict))
    lost = LostPartitions(tier, disks, cast(RemoteLogMetadata, None))
    lost._failed.store(DiskError("the error of a moment ago"))
    for _ in range(4):
        with pytest.raises(DiskError):
            lost.wait()


@pytest.mark.usefixtures("bucket_keys")
def test_a_whole_topic_is_read_from_a_bucket_that_was_not_asked_yet(tmp_path):
    """Regression: "the tier was listed meanwhile; open the file again". Each of its partitions is listed for that."""
    made, path = one_epoch(), ".topics/t/by-time/0...jsonl"
    tier, disk = made.write_tier(tmp_path / "bucket/tier"), made.write_disk(tmp_path / "disk", True, False)
    for number in range(1, 8):
        shutil.copytree(tier / FOLDER, tier / f"t-{number}-{TOPIC_ID}")
        shutil.copytree(disk / "t-0", disk / f"t-{number}")
    starts = "".join(f"t {number} 0\n" for number in range(8))
    (disk / "log-start-offset-checkpoint").write_text(f"0\n8\n{starts}")
    wanted = cat(tree(disk, tiered=TierSource(str(tier))), path)
    with bucket_of(tmp_path / "bucket") as store:
        assert cat(tree(disk, tiered=TierSource(store.address("tier"))), path) == wanted
