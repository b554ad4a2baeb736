"""Names in a tier: ids are cut off by their length, since they may hold what separates names."""

import pytest

from kafkafs.format.tiers.tier_names import (
    TierFile,
    TierPartition,
    parse_object_directory,
    parse_tier_directory,
    parse_tier_file,
)

ID = "g-vRKA9yRtyb8lJz_b2zWw"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (f"orders-0-{ID}", TierPartition("orders", 0, ID)),
        (f"a.with_dots-and-9-12-{ID}", TierPartition("a.with_dots-and-9", 12, ID)),
        (f"orders-0-{'-' * 22}", TierPartition("orders", 0, "-" * 22)),
        (f"orders-{ID}", None),
        (f"orders-0{ID}", None),
        (f"orders-007-{ID}", None),
        (f"orders-0-{ID[:-1]}é", None),
        (ID, None),
        ("", None),
    ],
)
def test_a_directory_tells_topic_partition_and_id(name, found):
    assert parse_tier_directory(name) == found
    assert found is None or found.name.directory == f"{found.topic}-{found.partition}"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (f"00000000000000000480-{ID}.log", TierFile(480, ID, "log")),
        (f"00000000000000000480-{ID}.leader_epoch_checkpoint", TierFile(480, ID, "leader_epoch_checkpoint")),
        (f"00000000000000000480-{ID}.rsm-manifest", TierFile(480, ID, "rsm-manifest")),
        (f"00000000000000000480-{ID}.part", None),
        (f"00000000000000000480-{ID}", None),
        (f"99999999999999999999-{ID}.log", None),
        (f"480-{ID}.log", None),
        ("00000000000000000480.log", None),
    ],
)
def test_a_file_tells_offset_id_and_kind(name, found):
    assert parse_tier_file(name) == found


@pytest.mark.parametrize(
    ("key", "found"),
    [
        (f"orders-{ID}/0", (ID, 0)),
        (f"some/prod-orders-1-{ID}/17", (ID, 17)),
        (f"orders-{ID}/x", None),
        (f"orders-{ID}/01", None),
        (f"orders{ID}/1", None),
        (f"orders-{ID}/99999999999", None),
        ("", None),
    ],
)
def test_an_objects_folder_tells_id_and_partition(key, found):
    """A prefix is glued on as it is, so the topic's name is not told."""
    assert parse_object_directory(key) == found
