"""Damage of a tier below the log start: nothing of the log is lost, so no answer mentions it."""

import json

import pytest

from tests.log.tier import lives, naive
from tests.log.tier.test_lives import LAYOUTS, lines, one_epoch, source_of
from tests.view.trees import cat, tree


@pytest.mark.parametrize("has_local", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS[:3])
def test_damage_below_the_log_start_is_none(tmp_path, layout, has_local):
    """Regression: `problems` named objects that have nothing of the log any more, and a time right behind the log start
    was refused because of a damaged batch below it."""
    made = one_epoch()
    made.start_at(47)
    tier = lives.in_layout(made.write_tier(tmp_path / "local"), tmp_path / "tier", layout)
    first, second = sorted(tier.rglob("*.log"))[:2]
    first.write_bytes(b"garbage")
    if layout == "local":  # a batch of the upload that has the log start
        data = second.read_bytes()
        at = sum(len(each.data) for each in naive.batches_in(data)[:2])
        second.write_bytes(data[: at + 70] + b"\xff" * 4 + data[at + 74 :])
    disk = made.write_disk(tmp_path / "disk", has_local, has_metadata=False)
    (disk / "log-start-offset-checkpoint").write_text("0\n1\nt 0 47\n")
    root, end = tree(disk, tiered=source_of(tmp_path, tier)), made.end if has_local else 120
    reported = json.loads(cat(root, "t-0/info.json"))
    assert (reported["logStartOffset"], reported["problems"]) == (47, [])
    assert [each["baseOffset"] for each in reported["segments"]][:2] == [30, 60]
    assert [*lines(cat(root, "t-0/by-offset/0...jsonl"))] == [*range(47, end)]
    for offset in range(40, 60):
        path = f"t-0/by-time/{lives.FIRST_MS + 1000 * offset}.jsonl"
        assert [*lines(cat(root, path))] == [max(offset, 47)], offset
