"""What small files beside the log tell of its tier, and what holds where they are not there."""

import shutil

from kafkafs.log.read_options import TierSource
from tests.kafka.tiered import Tiered
from tests.view.trees import cat, tree

TIERED = Tiered()


def test_without_the_metadata_topic_what_is_complete_counts(tmp_path):
    data = tmp_path / "data"
    shutil.copytree(TIERED.left, data, ignore=shutil.ignore_patterns("__remote_log_metadata-*"))
    whole, left = tree(TIERED.whole), tree(data, tiered=TierSource(str(TIERED.tier)))
    for name in ("orders-0", "orders-1", "payments-0", "plain-0"):
        assert cat(left, f"{name}/by-offset/0...jsonl") == cat(whole, f"{name}/by-offset/0...jsonl")


def test_a_users_topic_that_begins_as_kafkas_own_is_tiered_too(tmp_path):
    """Brokers keep five topics back from a tier, by their names; two underscores alone mean nothing to them."""
    ours = shutil.ignore_patterns("__remote_log_metadata-*")
    data = shutil.copytree(TIERED.left, tmp_path / "data", ignore=ours)
    tier = shutil.copytree(TIERED.tier, tmp_path / "tier")
    for place in (*data.glob("orders-*"), *tier.glob("orders-*")):
        place.rename(place.with_name(f"__{place.name}"))
    for checkpoint in data.glob("*-checkpoint"):
        checkpoint.write_text(checkpoint.read_text().replace("orders", "__orders"))
    before = cat(tree(TIERED.whole), "orders-0/by-offset/0...jsonl")
    found = cat(tree(data, tiered=TierSource(str(tier))), "__orders-0/by-offset/0...jsonl")
    assert found == before.replace(b'"topic":"orders"', b'"topic":"__orders"')
