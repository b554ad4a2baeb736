"""The files of a remote segment: what is not there is an error at its offsets."""

import shutil

import pytest

from kafkafs.errors import DiskError
from kafkafs.log.read_options import TierSource
from tests.kafka.tiered import Tiered
from tests.view.trees import cat, tree

TIERED = Tiered()


def test_a_segment_that_the_metadata_calls_finished_and_that_is_gone_is_an_error_at_its_offsets(tmp_path):
    """Never a gap that nobody sees; the rest answers."""
    shutil.copytree(TIERED.tier, tmp_path / "tier")
    folder = next((tmp_path / "tier").glob("orders-0-*"))
    second = sorted(folder.glob("*.log"))[1]
    base = int(second.name[:20])
    for file in folder.glob(f"{second.name[:43]}*"):
        file.unlink()
    left, whole = tree(TIERED.left, tiered=TierSource(str(tmp_path / "tier"))), tree(TIERED.whole)
    for path in (f"orders-0/by-offset/{base}", f"orders-0/by-offset/{base + 5}.jsonl", "orders-0/by-offset/0...jsonl"):
        with pytest.raises(DiskError, match="not in the tier, and the metadata topic calls it finished"):
            cat(left, path)
    assert cat(left, "orders-0/by-offset/0.jsonl") == cat(whole, "orders-0/by-offset/0.jsonl")
    third = int(sorted(folder.glob("*.log"))[1].name[:20])
    assert cat(left, f"orders-0/by-offset/{third}...jsonl") == cat(whole, f"orders-0/by-offset/{third}...jsonl")
