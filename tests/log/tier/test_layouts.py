"""How a tier is laid out is told by what lies there, and only what is whole counts."""

import shutil

import pytest

from kafkafs.errors import DiskError, UsageError
from kafkafs.log.read_options import TierSource
from tests.kafka import aiven
from tests.kafka.tiered import Tiered
from tests.view.trees import cat, node, tree

TIERED = Tiered()


def test_what_was_not_uploaded_whole_does_not_show(tmp_path):
    """Bytes of an upload that a crash has cut, and of one that was deleted and is still there."""
    shutil.copytree(TIERED.tier, tmp_path / "tier")
    folder = next((tmp_path / "tier").glob("orders-0-*"))
    first = sorted(folder.glob("*.log"))[0]
    other = "A" * 22
    (folder / f"{first.name[:21]}{other}.log").write_bytes(first.read_bytes()[:1000])
    for file in folder.glob(f"{first.name[:43]}*"):
        shutil.copy(file, folder / file.name.replace(first.name[21:43], "B" * 22))
    whole, left = tree(TIERED.whole), tree(TIERED.left, tiered=TierSource(str(tmp_path / "tier")))
    assert cat(left, "orders-0/by-offset/0...jsonl") == cat(whole, "orders-0/by-offset/0...jsonl")


def test_what_is_no_tier_is_one_sentence(tmp_path):
    with pytest.raises(UsageError, match="has no tier that kafkafs knows"):
        tree(TIERED.left, tiered=TierSource(str(tmp_path)))
    with pytest.raises(UsageError, match="cannot be opened: No such file"):
        tree(TIERED.left, tiered=TierSource(str(tmp_path / "nothing")))
    (tmp_path / "k").write_text("no key")
    with pytest.raises(UsageError, match="is not a private key in PEM"):
        tree(TIERED.left, tiered=TierSource(str(TIERED.tier), (("k", tmp_path / "k"),)))


def test_encrypted_segments_without_their_key_say_which_is_missing(tmp_path):
    place = aiven.write(TIERED.tier, tmp_path / "tier", compress=True, key=aiven.key_pair("k1"))
    left = tree(TIERED.left, tiered=TierSource(str(place)))
    with pytest.raises(DiskError, match="the key 'k1': name its private key by tiered_key, or --tiered-key, k1:FILE"):
        cat(left, "orders-0/by-offset/0.jsonl")
    assert node(left, "orders-0/by-offset/2999.jsonl").attributes().size
