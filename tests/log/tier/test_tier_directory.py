"""A tier by itself is a data directory, up to its last upload."""

import json

import pytest

from kafkafs.errors import DiskError, UsageError
from kafkafs.format.names import parse_partition_name
from kafkafs.log.data_directory import open_data_directory
from tests.kafka import aiven
from tests.kafka.tiered import RECORDS, Tiered
from tests.view.trees import cat, latest, tree

TIERED = Tiered()


@pytest.mark.parametrize("kind", ["local", "aiven"])
def test_a_tier_alone_answers_up_to_its_last_upload(tmp_path, kind):
    top = TIERED.tier if kind == "local" else aiven.write(TIERED.tier, tmp_path / "tier", prefix="prod-", compress=True)
    alone, whole = tree(top), tree(TIERED.whole)
    names = [".cluster", ".topics", "orders-0", "orders-1", "payments-0", "with.dots-and-9-0"]
    assert [entry.name for entry in alone.entries()] == names
    end = latest(alone, "orders-0") + 1
    assert RECORDS - 400 < end < RECORDS
    for suffix in ("", ".jsonl"):
        assert cat(alone, f"orders-0/by-offset/0..{suffix}") == cat(whole, f"orders-0/by-offset/0..{end}{suffix}")


def test_its_topic_and_lineage_are_reported(tmp_path):
    """Regression: `info.json` had null for what names and uploads tell. A manifest has its own records' epochs."""
    tier = aiven.write(TIERED.tier, tmp_path / "tier")
    epochs = [{"epoch": 0, "startOffset": 0}, {"epoch": 5, "startOffset": 1080}]
    for manifest in sorted(tier.glob("orders-*/0/*.rsm-manifest")):
        reported, base = json.loads(manifest.read_bytes()), int(manifest.name[:20])
        reported["remoteLogSegmentMetadata"]["segmentLeaderEpochs"] = {"0": base} if base < 1080 else {"5": base}
        manifest.write_text(json.dumps(reported))
    whole = json.loads(cat(tree(TIERED.whole), "orders-0/info.json"))
    for top, wanted in ((TIERED.tier, epochs[:1]), (tier, epochs)):
        reported = json.loads(cat(tree(top), "orders-0/info.json"))
        assert (reported["topicId"], reported["leaderEpochs"]) == (whole["topicId"], wanted)


def test_an_upload_that_is_missing_between_others_is_a_gap_that_is_named(tmp_path):
    """No metadata topic calls it finished; what ends before it does tell that something was there."""
    tier = aiven.write(TIERED.tier, tmp_path / "tier")
    manifest = sorted(tier.glob("orders-*/0/*.rsm-manifest"))[2]
    behind = sorted(tier.glob("orders-*/0/*.rsm-manifest"))[3]
    manifest.unlink()
    first, last = int(manifest.name[:20]), int(behind.name[:20]) - 1
    problems = [f"offsets {first} to {last} are in no upload: a gap in the offsets"]
    assert json.loads(cat(tree(tier), "orders-0/info.json"))["problems"] == problems
    assert json.loads(cat(tree(tier), "orders-1/info.json"))["problems"] == []


@pytest.mark.parametrize("broken", [slice(0, 1), slice(None)])
def test_manifests_that_cannot_be_read_take_nothing_else_away(tmp_path, broken):
    """Regression: one of them, and no partition of the tier answered."""
    tier = aiven.write(TIERED.tier, tmp_path / "tier", compress=True)
    for manifest in sorted(tier.glob("orders-*/0/*.rsm-manifest"))[broken]:
        manifest.write_bytes(manifest.read_bytes()[:-9])
    alone, whole = tree(tier), tree(TIERED.whole)
    assert {"orders-0", "orders-1"} < {entry.name for entry in alone.entries()}
    assert cat(alone, "orders-1/by-offset/5.jsonl") == cat(whole, "orders-1/by-offset/5.jsonl")
    with pytest.raises(DiskError, match="cannot be used"):
        cat(alone, "orders-0/by-offset/5.jsonl")


def test_a_directory_with_a_tier_somewhere_below_is_none(tmp_path):
    """It is told by what lies at its top: nobody's home is searched for tiers."""
    aiven.write(TIERED.tier, tmp_path / "some/where")
    with pytest.raises(UsageError, match="is not a Kafka data directory"):
        tree(tmp_path)


def test_a_partition_that_has_left_a_tier_has_no_topic_id():
    """Whoever has listed it a moment ago still asks."""
    directory = open_data_directory(TIERED.tier)
    assert directory.topic_id(next(iter(directory.names())))
    assert directory.topic_id("gone-0") is None


@pytest.mark.parametrize("name", ["../../evil", "..", "", "a/b"])
def test_a_topics_name_in_a_manifest_leads_nowhere(tmp_path, name):
    """Whoever may write to the bucket writes manifests."""
    tier = aiven.write(TIERED.tier, tmp_path / "tier")
    for manifest in tier.glob("orders-*/0/*.rsm-manifest"):
        reported = json.loads(manifest.read_bytes())
        reported["remoteLogSegmentMetadata"]["remoteLogSegmentId"]["topicIdPartition"]["topicPartition"]["topic"] = name
        manifest.write_text(json.dumps(reported))
    names = open_data_directory(tier).names()
    assert "orders-0" in names  # as the folder has it
    assert all(parse_partition_name(each) for each in names)


@pytest.mark.parametrize("name", ["..", "a b", "\n"])
def test_a_folder_whose_name_is_no_topics_is_left_out_and_reported(tmp_path, name, caplog):
    """Without a manifest that can be read the folder alone tells the topic."""
    tier = aiven.write(TIERED.tier, tmp_path / "tier")
    (folder,) = tier.glob("orders-*")
    for manifest in folder.glob("*/*.rsm-manifest"):
        manifest.write_text("{}")
    folder.rename(tier / f"{name}-{folder.name[-22:]}")
    directory = open_data_directory(tier)
    assert all(parse_partition_name(each) for each in directory.names())
    assert directory.unserved == [f"the topic {name!r} has a name that Kafka does not allow"]
    assert repr(name) in caplog.text
