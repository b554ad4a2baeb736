"""A log that goes on in a remote tier answers as if all of it were local, in every layout; faults stay where they are.

The truth is the same broker's data directory when all had been uploaded and nothing was deleted.
"""

import itertools
import json
from typing import Any

import pytest

from kafkafs.log.read_options import TierSource
from kafkafs.view.tree import Root
from tests.kafka import tiers
from tests.kafka.tiered import FIRST_MS, RECORDS, Tiered
from tests.mounting import run
from tests.view.trees import assert_random_access, cat, latest, node, opened, tree

TIERED = Tiered()
PARTITIONS = ("orders-0", "orders-1", "payments-0", "with.dots-and-9-0", "plain-0")


def both(source: TierSource, **options: Any) -> tuple[Root, Root]:
    return tree(TIERED.whole, **options), tree(TIERED.left, tiered=source, **options)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", tiers.KINDS)
@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_every_range_is_as_if_it_were_local(tier_sources, kind, isolation):
    whole, left = both(tier_sources[kind], isolation=isolation)
    for name, suffix in itertools.product(PARTITIONS, ("", ".jsonl", ".batches.jsonl")):
        for query in ("by-offset/0..", "by-offset/333..1111", f"by-time/{FIRST_MS + 200_000}..{FIRST_MS + 900_000}"):
            path = f"{name}/{query}{suffix}"
            assert cat(left, path) == cat(whole, path), path


@pytest.mark.parametrize("kind", tiers.KINDS)
def test_size_and_time_of_a_range_are_as_if_it_were_local(tier_sources, kind):
    """Regression: one that ends within a remote segment had that segment's largest time, or its file's own."""
    whole, left = both(tier_sources[kind])
    for suffix, first in itertools.product(("", ".jsonl", ".batches.jsonl"), (0, 333)):
        path = f"orders-0/by-offset/{first}..1111{suffix}"
        there, here = node(left, path).attributes(), node(whole, path).attributes()
        assert (there.size, there.mtime_ns) == (here.size, here.mtime_ns), path


@pytest.mark.parametrize("kind", tiers.KINDS)
def test_every_point_is_as_if_it_were_local(tier_sources, kind):
    whole, left = both(tier_sources[kind])
    for name in PARTITIONS:
        end = latest(whole, name)
        for offset in (0, 1, end // 3, end // 2, end):
            for suffix in ("", ".jsonl", ".value", ".batches.jsonl"):
                path = f"{name}/by-offset/{offset}{suffix}"
                try:
                    expected = cat(whole, path)
                except Exception as error:  # a null, a marker: the same error
                    with pytest.raises(type(error)):
                        cat(left, path)
                else:
                    assert cat(left, path) == expected, path
    for time_ms in range(FIRST_MS - 1000, FIRST_MS + 1000 * RECORDS, 217_003):
        path = f"orders-0/by-time/{time_ms}.jsonl"
        assert cat(left, path) == cat(whole, path), path
    for key in ("key-3", "key-49"):
        for suffix in (".jsonl", ".history.jsonl"):
            assert cat(left, f"orders-0/by-key/{key}{suffix}") == cat(whole, f"orders-0/by-key/{key}{suffix}")


def test_raw_ranges_are_read_at_any_place(tier_sources):
    whole, left = both(tier_sources["aiven zstd"])
    assert_random_access(opened(left, "orders-0/by-offset/0.."), cat(whole, "orders-0/by-offset/0.."))


def test_info_and_explain_tell_where_a_segment_lies(tier_sources):
    _, left = both(tier_sources["aiven zstd"])
    reported = json.loads(cat(left, "orders-0/info.json"))
    assert (reported["logStartOffset"], reported["logEndOffset"], reported["problems"]) == (0, RECORDS, [])
    assert reported["localLogStartOffset"] == reported["segments"][-1]["baseOffset"] > 0
    assert [segment["tier"] for segment in reported["segments"]] == ["remote"] * (len(reported["segments"]) - 1) + [
        "local"
    ]
    assert all(("object" in segment) == (segment["tier"] == "remote") for segment in reported["segments"])
    whole = json.loads(cat(tree(TIERED.whole), "orders-0/info.json"))
    assert (reported["sizeBytes"], reported["maxTimestamp"]) == (whole["sizeBytes"], whole["maxTimestamp"])
    explained = cat(left, "orders-0/by-offset/700.explain").decode()
    assert f"tier: object {reported['segments'][1]['object']}, " in explained
    assert "tier:" not in cat(left, f"orders-0/by-offset/{RECORDS - 1}.explain").decode()


@pytest.mark.parametrize("kind", ["aiven zstd encrypted", "bucket zstd"])
def test_a_mount_reads_a_tier(mount, tier_sources, kind):
    """Its daemon is confined: it has to have all at hand."""
    source = tier_sources[kind]
    keys = "".join(f",tiered_key={key_id}:{path}" for key_id, path in source.keys)
    place = mount(TIERED.left, options=f"tiered={source.place}{keys}").path
    whole = tree(TIERED.whole)
    for path in ("orders-0/by-offset/0...jsonl", "payments-0/by-offset/700.jsonl", "orders-1/by-offset/3"):
        assert run("cat", place / path).stdout == cat(whole, path)
