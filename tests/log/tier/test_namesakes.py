"""Topics of one name in a tier: all partitions that are shown are those of one of them."""

import json
import os
import shutil
from pathlib import Path

import pytest

from kafkafs.log.read_options import TierSource
from kafkafs.view.tree import Root
from tests.kafka import aiven
from tests.log.making import write_partition
from tests.log.tier.lives import FOLDER, TOPIC_ID
from tests.log.tier.test_lives import EIO, code_of, cut, lines, one_epoch, restarted
from tests.view.trees import cat, tree

OTHER_ID = "B" * 21 + "A"


def two_topics(place: Path) -> Path:
    """A tier with two partitions of each of two topics. Each topic has the newest upload of one partition."""
    tier = one_epoch().write_tier(place / "tier")
    shutil.copytree(tier / FOLDER, tier / FOLDER.replace("t-0-", "t-1-"))
    cut().write_tier(place / "other")
    for number in (0, 1):
        shutil.copytree(place / "other" / FOLDER, tier / f"t-{number}-{OTHER_ID}")
    for number, folder in enumerate((f"t-0-{TOPIC_ID}", f"t-1-{OTHER_ID}")):
        for file in (tier / folder).iterdir():
            os.utime(file, (2e9 + number, 2e9 + number))
    return tier


def ids(root: Root) -> set[str]:
    return {json.loads(cat(root, f"t-{number}/info.json"))["topicId"] for number in (0, 1)}


def test_no_topic_is_mixed_of_two(tmp_path):
    """Regression: the newest upload of each partition decided, so a topic had partitions of two clusters."""
    tier = two_topics(tmp_path)
    disk = one_epoch().write_disk(tmp_path / "disk", has_local=False, has_metadata=False)
    source = TierSource(str(tier))
    assert ids(tree(disk, tiered=source)) == ids(tree(tier)) == {OTHER_ID}
    noted = one_epoch().write_disk(tmp_path / "noted", has_local=False, has_metadata=True)
    assert ids(tree(noted, tiered=source)) == {TOPIC_ID}, "its metadata topic mentions partition 0"
    for number in (0, 1):
        shutil.rmtree(tier / f"t-{number}-{TOPIC_ID}")
    assert ids(tree(noted, tiered=source)) == {OTHER_ID}, "nothing is left of the other"


def test_any_partition_on_any_disk_tells_the_topic(tmp_path):
    """Regression: the id was read on the first of several disks alone, and of one partition alone."""
    tier = two_topics(tmp_path)
    disks = [
        one_epoch().write_disk(tmp_path / name, has_local=False, has_metadata=False) for name in ("first", "second")
    ]
    (disks[0] / "t-7").mkdir()
    write_partition(disks[1], {0: []}, "t-8")
    (disks[1] / "t-8/partition.metadata").write_text(f"version: 0\ntopic_id: {TOPIC_ID}\n")
    assert ids(tree(*disks, tiered=TierSource(str(tier)))) == {TOPIC_ID}


@pytest.mark.parametrize("has_metadata", [True, False])
@pytest.mark.parametrize("text", [None, "x"])
def test_a_directory_that_lost_its_topic_id_is_answered_from_the_tier(tmp_path, text, has_metadata):
    """Regression: an empty directory gave no record and exit code 0; one with a segment, an error for all others."""
    made = restarted()
    tier = made.write_tier(tmp_path / "tier")
    disk = made.write_disk(tmp_path / "disk", has_local=True, has_metadata=has_metadata)
    place, source = disk / "t-0/partition.metadata", TierSource(str(tier))
    place.unlink() if text is None else place.write_text(text)
    assert [*lines(cat(tree(disk, tiered=source), "t-0/by-offset/0...jsonl"))] == [*range(170)]
    for file in (disk / "t-0").iterdir():
        if file != place:
            file.unlink()
    assert [*lines(cat(tree(disk, tiered=source), "t-0/by-offset/0...jsonl"))] == [*range(150)]


def test_a_directory_that_a_broker_made_again_is_answered_from_the_tier(tmp_path):
    """Regression: its empty log was the whole log, with exit code 0. A log that was written to has a leader epoch."""
    made = restarted()
    tier = made.write_tier(tmp_path / "tier")
    disk = made.write_disk(tmp_path / "disk", has_local=True, has_metadata=False)
    for file in (disk / "t-0").glob("0*"):
        file.unlink()
    (disk / "t-0" / f"{0:020}.log").touch()
    (disk / "t-0/leader-epoch-checkpoint").write_text("0\n0\n")
    source = TierSource(str(tier))
    assert [*lines(cat(tree(disk, tiered=source), "t-0/by-offset/0...jsonl"))] == [*range(150)]
    shutil.rmtree(tier / FOLDER)
    (tier / FOLDER).mkdir()
    info = json.loads(cat(tree(disk, tiered=source), "t-0/info.json"))
    assert (info["logEndOffset"], info["problems"]) == (0, [])


def test_a_partition_without_a_readable_manifest_has_the_name_of_its_topic(tmp_path):
    """Regression: it had the name of its folder, prefix and all, and its topic was exported without it."""
    base = one_epoch().write_tier(tmp_path / "base")
    shutil.copytree(base / FOLDER, base / FOLDER.replace("t-0-", "t-1-"))
    tier = aiven.write(base, tmp_path / "tier", prefix="prod-")
    for file in tier.rglob("1/*.rsm-manifest"):
        file.write_bytes(b"{")
    for has_metadata in (False, True):
        disk = one_epoch().write_disk(tmp_path / f"disk{has_metadata}", has_local=False, has_metadata=has_metadata)
        root = tree(disk, tiered=TierSource(str(tier)))
        assert [each.name for each in root.entries() if each.name[0] not in "._"] == ["other-0", "t-0", "t-1"]
        assert code_of(root, "t-1/by-offset/0...jsonl") == EIO
        for file in tier.rglob("0/*.rsm-manifest"):
            file.write_bytes(b"{")  # then the metadata topic alone tells the name
