"""Damage in objects that no metadata topic tells of: told where it is passed over, and no more than it is."""

import pytest

from kafkafs.spark.profile.profile_job import added_up, measure_segment
from kafkafs.spark.segment_units import live_segments
from kafkafs.tables.offsets import TopicPartition
from tests.log.tier import lives, naive
from tests.log.tier.lives import FIRST_MS
from tests.log.tier.test_lives import EIO, assert_as, code_of, expected, lines, one_epoch, restarted, source_of
from tests.view.trees import cat, tree


@pytest.mark.parametrize("number", [1, -1])
def test_what_an_object_lacks_is_reported_where_it_is_passed_over(tmp_path, caplog, number):
    """Regression: a last upload that was cut, or a hole in one, gave fewer records under `corrupt=skip` without a word.
    A profile counted none of the upload."""
    made = one_epoch()
    tier = made.write_tier(tmp_path / "tier")
    log = sorted(tier.rglob("*.log"))[number]
    batches = naive.batches_in(log.read_bytes())
    kept = [*batches[:2], *batches[3:]] if number == 1 else batches[:3]
    log.write_bytes(b"".join(each.data for each in kept))
    lost = range(40, 45) if number == 1 else range(105, 120)
    got = lines(cat(tree(tier, corrupt_skip=True), "t-0/by-offset/0...jsonl"))
    assert [*got] == [each for each in range(120) if each not in lost]
    assert caplog.text.count(f"lacks the offsets {lost[0]} to {lost[-1]}: it was cut") == 1
    units = live_segments([tier], "furthest")
    found = added_up(units, [measure_segment(unit) for unit in units])[TopicPartition("t", 0)]
    assert (found.records, found.damaged) == (100 if number == 1 else 105, 1)


@pytest.mark.parametrize("past", [one_epoch, restarted], ids=lambda each: each.__name__)
def test_damaged_offset_indexes_cost_time_alone(tmp_path, past):
    """Regression: entries with positions below 0 led to an IndexError in a tier that has chunks."""
    made = past()
    local_tier = made.write_tier(tmp_path / "local")
    tier = lives.in_layout(local_tier, tmp_path / "tier", "aiven zstd")
    for file in tier.rglob("*.indexes"):
        file.write_bytes(b"\x00\x00\x00\x01\xff\xff\xff\x00" * (file.stat().st_size // 8 + 1))
    disk = made.write_disk(tmp_path / "disk", has_local=True, has_metadata=False)
    assert_as(expected(made, local_tier, True), tree(disk, tiered=source_of(tmp_path, tier)))


@pytest.mark.parametrize("kept", [0, 1, 3])
def test_a_time_index_that_lost_its_end_hides_no_record(tmp_path, kept):
    """Regression: its last entry counted for the largest time of an upload, so a time led behind the upload. Nothing
    but its indexes tells it without the metadata topic."""
    made = one_epoch()
    tier = made.write_tier(tmp_path / "tier")
    log = sorted(tier.rglob("*.log"))[1]
    index = log.with_suffix(".timeindex")
    index.write_bytes(index.read_bytes()[: 12 * kept])
    disk = made.write_disk(tmp_path / "disk", has_local=True, has_metadata=False)
    root = tree(disk, tiered=source_of(tmp_path, tier))
    for offset in (30, 41, 59, 60):
        assert [*lines(cat(root, f"t-0/by-time/{FIRST_MS + 1000 * offset}.jsonl"))] == [offset]
    log.unlink()
    root = tree(disk, tiered=source_of(tmp_path, tier))
    for offset in (30, 41, 59):
        assert code_of(root, f"t-0/by-time/{FIRST_MS + 1000 * offset}.jsonl") == EIO, offset
