"""The same as `test_lives`, of tiers in buckets: names are all that is read of uploads before they are opened."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions, TierSource
from tests.kafka.buckets import in_buckets
from tests.log.tier import lives
from tests.log.tier.test_lives import (
    EIO,
    PASTS,
    assert_as,
    assert_gap,
    code_of,
    contained,
    cut,
    cut_short,
    cut_twice,
    expected,
    lines,
    one_epoch,
    restarted,
    without,
)
from tests.view.trees import cat, tree

ALL = bool(os.environ.get("KAFKAFS_REVIVE"))
COMBINATIONS = [
    (past, layout)
    for past in PASTS
    for layout in ("local", "aiven zstd")
    if ALL or (past, layout) in ((cut, "aiven zstd"), (cut_twice, "local"))
]


@pytest.fixture
def in_bucket() -> Iterator[Callable[[Path], TierSource]]:
    """The tier in a directory, as one in a bucket."""
    with in_buckets() as address_of:
        yield lambda tier: TierSource(address_of(tier))


@pytest.mark.sampled
@pytest.mark.parametrize("has_local", [True, False])
@pytest.mark.parametrize(("past", "layout"), COMBINATIONS)
def test_every_offset_is_as_the_model_says(tmp_path, in_bucket, past, layout, has_local):
    """Without the metadata topic; the partition's directory may be lost."""
    made = past()
    local_tier = made.write_tier(tmp_path / "local")
    tier = lives.in_layout(local_tier, tmp_path / "tier", layout)
    disk = made.write_disk(tmp_path / "disk", has_local, has_metadata=False)
    source = in_bucket(tier)
    root = tree(disk, tiered=source)
    assert_as(expected(made, local_tier, has_local), root)
    directory = open_data_directory(disk, ReadOptions(tiered=source))  # as a worker of a job has it
    assert directory.partition("t-0").log().end_offset == max(expected(made, local_tier, has_local)) + 1


@pytest.mark.parametrize(("layout", "harm"), [("local", "second"), ("local", "cut"), ("aiven", "second")])
def test_a_gap_is_an_error_in_every_view(tmp_path, in_bucket, layout, harm):
    made = one_epoch()
    tier = lives.in_layout(made.write_tier(tmp_path / "local"), tmp_path / "tier", layout)
    first, stop = (without(1) if harm == "second" else cut_short)(tier)
    disk = made.write_disk(tmp_path / "disk", has_local=True, has_metadata=False)
    source = in_bucket(tier)
    assert_gap(tree(disk, tiered=source), made, first, stop)
    kept = [each for each in range(made.end) if not first <= each < stop]
    assert [*lines(cat(tree(disk, tiered=source, corrupt_skip=True), "t-0/by-offset/0...jsonl"))] == kept


@pytest.mark.parametrize("has_local", [True, False])
def test_plain_partition_directories_are_as_the_model_says(tmp_path, in_bucket, has_local):
    """Several epochs; and a segment that is missing there."""
    made = restarted()
    local_tier, plain = made.write_tier(tmp_path / "local"), lives.as_plain(made, tmp_path)
    disk = made.write_disk(tmp_path / "disk", has_local, has_metadata=False)
    root = tree(disk, tiered=in_bucket(plain))
    root.entries()
    assert_as(expected(made, local_tier, has_local), root)
    for file in (plain / "t-0").glob(f"{60:020}.*"):
        file.unlink()
    root = tree(disk, tiered=in_bucket(plain))
    root.entries()
    assert code_of(root, "t-0/by-offset/0...jsonl") == EIO
    assert code_of(root, "t-0/by-offset/70.jsonl") == EIO
    assert [*lines(cat(root, "t-0/by-offset/90..100.jsonl"))] == [*range(90, 100)]


def test_a_former_leader_that_rolled_more_often_leaves_no_gap(tmp_path, in_bucket):
    made = contained()
    local_tier = made.write_tier(tmp_path / "local")
    disk = made.write_disk(tmp_path / "disk", has_local=True, has_metadata=False)
    tier = lives.in_layout(local_tier, tmp_path / "tier", "aiven")
    assert_as(expected(made, local_tier, True), tree(disk, tiered=in_bucket(tier)))
