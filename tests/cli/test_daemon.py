"""What the process behind a mount is told to serve; that it serves it is in tests/fuse."""

import os
from pathlib import Path

import pytest

from kafkafs.cli import daemon, mount_options
from kafkafs.format.memory import MemoryBudget
from kafkafs.fuse.life.mount_claim import MountClaim
from kafkafs.fuse.life.mounting import MountSettings
from kafkafs.log.read_options import ReadOptions
from kafkafs.sample import unpack
from tests.spying import Calls

Told = tuple[ReadOptions, Path, MountSettings]


@pytest.fixture
def reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: Calls) -> Told:
    """What `serve` is given for a mount with some options."""
    served: list[tuple[Path, MountSettings]] = []
    trees = calls(daemon, "Root")
    monkeypatch.setattr(daemon, "serve", lambda tree, place, settings, _: served.append((place, settings)))
    (tmp_path / "indexes").mkdir()
    data = unpack(tmp_path)
    parsed = mount_options.parse([f"max_batch=1M,noallow_other,index_dir={tmp_path / 'indexes'}"])
    daemon.serve_data([data], tmp_path / "mount", MountClaim(tmp_path / "mount"), parsed, lambda: None)
    ((_, reading),), ((place, settings),) = trees, served
    return reading, place, settings


def test_all_its_readers_share_the_memory_of_one(reported):
    """A packed batch, and what it unpacks to: a mount's memory does not grow with its readers."""
    reading, *_ = reported
    assert isinstance(reading.memory, MemoryBudget)
    assert reading.memory.limit == 2 * reading.max_batch == 2 << 20


def test_it_may_read_the_indexes_that_were_named_and_lets_in_whom_it_was_reported(reported, tmp_path):
    """Whatever else it would open is behind the sandbox."""
    _, place, settings = reported
    assert place == tmp_path / "mount"
    assert settings.readable == [tmp_path / "indexes"]
    assert settings.allow_other is False


def test_it_becomes_the_data_s_owner(reported, tmp_path):
    *_, settings = reported
    (data,) = settings.data_dirs
    assert (settings.owner.uid, settings.owner.gid) == (os.stat(data).st_uid, os.stat(data).st_gid)
