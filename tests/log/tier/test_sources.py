"""The keys of a tier are files that a user names: what is wrong with one is a sentence."""

from pathlib import Path

import pytest

from kafkafs.errors import UsageError
from kafkafs.log.read_options import TierSource
from kafkafs.log.tier.sources import read_keys


def test_keys_are_read_or_refused(tmp_path):
    (tmp_path / "k").write_bytes(b"pem")
    assert read_keys([("a", tmp_path / "k")]) == {"a": b"pem"}
    with pytest.raises(UsageError, match=r"the key file .* cannot be read: No such file"):
        read_keys([("a", tmp_path / "none")])


def test_a_key_is_named_by_its_id_and_its_file():
    """A path is absolute: the daemon has another directory."""
    assert TierSource.parse_key("a:k.pem") == ("a", Path("k.pem").absolute())
    for word in ("k.pem", ":k.pem", "a:"):
        with pytest.raises(UsageError, match="is not ID:FILE"):
            TierSource.parse_key(word)
