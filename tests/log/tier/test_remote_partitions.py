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
