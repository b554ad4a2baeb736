"""Objects that are cut, altered or gone: an error there, and nowhere else."""

import pytest

from kafkafs.errors import DiskError
from kafkafs.log.options import TierSource
from tests.kafka import aiven
from tests.kafka.tiered import Tiered
from tests.view.trees import cat, tree

TIERED = Tiered()


@pytest.mark.parametrize("damage", ["cut", "altered", "manifest", "no indexes"])
def test_damaged_objects_are_errors_there_and_nowhere_else(tmp_path, damage):
    place = aiven.write(TIERED, tmp_path / "tier", compress=True)
    folder = next(place.glob("orders-*/0"))
    log = sorted(folder.glob("*.log"))[1]
    base = int(log.name[:20])
    if damage == "cut":
        log.write_bytes(log.read_bytes()[:-10])
    elif damage == "altered":
        data = bytearray(log.read_bytes())
        data[10:40] = bytes(30)
        log.write_bytes(data)
    elif damage == "manifest":
        log.with_suffix(".rsm-manifest").write_bytes(b"{}")
    else:
        log.with_suffix(".indexes").unlink()
    left, whole = tree(TIERED.left, tiered=TierSource(str(place))), tree(TIERED.whole)
    if damage == "no indexes":  # a hint: it costs time only
        assert cat(left, f"orders-0/by-offset/{base + 3}.jsonl") == cat(whole, f"orders-0/by-offset/{base + 3}.jsonl")
    else:
        with pytest.raises(DiskError):
            cat(left, f"orders-0/by-offset/{base + 3}.jsonl")
    assert cat(left, "orders-0/by-offset/0..100.jsonl") == cat(whole, "orders-0/by-offset/0..100.jsonl")
    later = f"orders-0/by-offset/{base + 1000}...jsonl"
    assert cat(left, later) == cat(whole, later)
