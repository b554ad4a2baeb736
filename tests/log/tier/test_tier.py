"""What a tier costs: the requests to a bucket, counted."""

from collections.abc import Iterator

import pytest

from kafkafs.log.read_options import TierSource
from kafkafs.view.tree import Root
from tests.kafka import aiven
from tests.kafka.buckets import Store, bucket_of
from tests.kafka.tiered import FIRST_MS, RECORDS, Tiered
from tests.view.trees import cat, latest, tree

TIERED = Tiered()
AT_MOST = 6  # three objects: the size of each is asked for, and one range


@pytest.fixture(scope="module", params=[1 << 22, 20_000, 5000])
def cold(request, tmp_path_factory) -> Iterator[tuple[Root, Store]]:
    """A tier in a bucket, encrypted in chunks of that size, of which the segments of a partition are listed."""
    place, key = tmp_path_factory.mktemp("tier"), aiven.key_pair("k1")
    (place / "k1.pem").write_bytes(key.pem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aiven, "CHUNK", request.param)
        aiven.write(TIERED.tier, place / "tier", compress=True, key=key)
    with bucket_of(place) as store:
        source = TierSource(store.address("tier", opened=True), (("k1", place / "k1.pem"),))
        left = tree(TIERED.left, tiered=source)
        for name in ("orders-0", "orders-1", "payments-0"):
            cat(left, f"{name}/by-offset/{latest(left, name)}.jsonl")
        yield left, store


def asked_for(cold: tuple[Root, Store], path: str) -> list[str]:
    """What the bucket is asked for, all of it of one segment; the answer is that of the whole log. (A partition is
    listed anew now and then: that is none of the point's. A client repeats a request on a connection that broke.)"""
    left, store = cold
    store.asked.clear()
    answer = cat(left, path)
    asked = [*dict.fromkeys(request for request in store.asked if "list-type" not in request)]
    assert answer == cat(tree(TIERED.whole), path)
    assert len({request.split()[1].rpartition("/")[2][:43] for request in asked}) <= 1, asked
    return asked


def test_a_cold_point_takes_six_requests(cold):
    """Each of another segment: its manifest, its indexes, and the chunks where the record is, fetched together."""
    costs = [len(asked_for(cold, f"orders-0/by-offset/{offset}.jsonl")) for offset in range(130, RECORDS - 360, 370)]
    assert max(costs) == AT_MOST
    assert len(asked_for(cold, "payments-0/by-offset/707.jsonl")) <= AT_MOST
    assert asked_for(cold, "payments-0/by-offset/707.jsonl") == []


def test_a_cold_time_takes_six_requests_where_the_metadata_tells_of_the_segments(cold):
    costs = [
        len(asked_for(cold, f"orders-1/by-time/{FIRST_MS + 1000 * number}.jsonl")) for number in (200, 500, 900, 1300)
    ]
    assert max(costs) <= AT_MOST


def test_the_directory_that_a_broker_is_given_is_the_tier_too():
    """LocalTieredStorage puts all in a folder of its own below `rsm.config.dir`, which is what an operator knows."""
    tiered, path = Tiered(), "orders-0/by-offset/0..100.jsonl"
    given = tiered.tier.parent
    wanted = cat(tree(tiered.whole), path)
    assert wanted
    assert cat(tree(tiered.left, tiered=TierSource(str(given))), path) == wanted
    assert cat(tree(given), path) == wanted
