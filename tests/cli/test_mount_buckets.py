"""Mounts of copies in buckets: they show what the copy's own directory shows, and a store that fails stops no other."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from kafkafs.cli import mount_buckets
from kafkafs.disk.data_paths import data_path
from kafkafs.errors import UsageError
from kafkafs.log.read_options import ReadOptions
from kafkafs.view.node import DirectoryNode
from kafkafs.view.tree import Root
from tests.kafka.buckets import Store, bucket_of
from tests.mounting import KAFKAFS, Mounted, mounting, run, wait_until
from tests.view.trees import cat, node, tree

pytestmark = pytest.mark.usefixtures("bucket_keys")

SHOWN = (
    "orders-0/by-offset/0...jsonl", "orders-0/by-offset/3.jsonl", "orders-0/by-offset/0..", "test-0/info.json",
    "orders-0/segments/00000000000000000000.log", "orders-0/segments/00000000000000000000.index.txt",
    "orders-0/latest.jsonl", "test-0/by-time/1632390207806.jsonl", ".cluster/groups/dashboard/offsets.jsonl",
    ".topics/orders/by-time/2020-01-01...jsonl", "orders-0/by-key/customer-2.jsonl",
)  # fmt: skip


@contextmanager
def mounted(directory: Path, *data_dirs: str | Path) -> Iterator[Mounted]:
    (place := directory / "mount").mkdir()
    with mounting([KAFKAFS, "mount", *data_dirs, place], place, directory / "log", env=dict(os.environ)) as mount:
        yield mount


def _names(place: Path, below: str = "") -> list[str]:
    return sorted(os.listdir(place / below))


def _names_in(root: Root, below: str) -> set[str]:
    return {entry.name for entry in cast(DirectoryNode, node(root, below) if below else root).entries()}


def _of_all(fault: str, _method: str, _key: str) -> str:
    return fault


def _of_bytes(fault: str, method: str, _key: str) -> str:
    return fault if method == "GET" else ""


_UNREAD = {
    "500": "readings-0/by-offset/0...jsonl", "reset": "payments-0/by-offset/0...jsonl",
    "short": "test-0/by-offset/23360.jsonl", "slow": "_schemas-0/by-offset/0...jsonl",
}  # fmt: skip


def test_a_mount_shows_what_the_directory_shows(data, tmp_path):
    local = tree(data)
    with bucket_of(data.parent) as store, mounted(tmp_path, store.address(data.name)) as far:
        for below in ("", "orders-0", "orders-0/segments", ".topics", ".cluster/groups"):
            assert set(_names(far.path, below)) - {".kafkafs"} == _names_in(local, below)
        for path in SHOWN:
            shown = run("cat", far / path).stdout.replace(store.address(data.name).encode(), os.fsencode(data))
            assert shown == cat(local, path), path
        assert not [each for each in store.asked if each.startswith("HEAD")], "a confined daemon signs its reads, too"
        status = far.status()
        assert status["dataDirectories"] == [store.address(data.name)]
        assert status["confined"]
        assert "started too early" not in far.log
        assert far.end() == 0


def _beside(data: Path, directory: Path) -> Path:
    """A copy in which each partition has another name."""
    copy = Path(shutil.copytree(data, directory / "copy" / data.name, symlinks=True))
    for partition in [path for path in copy.iterdir() if path.is_dir()]:
        partition.rename(copy / f"far-{partition.name}")
    return copy


def test_a_store_that_fails_stops_no_other_directory(data, tmp_path, store_limits):
    """A local directory, a copy with other partitions, and one with the same ones, whose replicas then do not count."""
    store_limits(waits_s=(), attempts=1, request_s=1.0, question_s=2.0)
    copy, near = _beside(data, tmp_path), "orders-0/by-offset/0...jsonl"
    shutil.copytree(data, copy.parent / "same", symlinks=True)
    local, beside = tree(data), tree(copy)
    with bucket_of(copy.parent) as store:
        far = [store.address(name) for name in (copy.name, "same")]
        with mounted(tmp_path, data, *far) as mount:
            shown = _names(mount.path)
            assert {"orders-0", "far-orders-0"} <= set(shown)
            assert run("cat", mount / f"far-{near}").stdout == cat(beside, f"far-{near}")
            for fault, unread in _UNREAD.items():
                store.fault = partial(_of_bytes if fault == "short" else _of_all, fault)
                path = f"far-{unread}"
                with subprocess.Popen(["cat", mount / path], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as waiting:
                    assert _names(mount.path) == shown
                    assert run("cat", mount / near).stdout == cat(local, near)
                    assert b"far-test-0" in run("ls", "-l", mount.path).stdout
                    assert b"{" in run("cat", mount / "test-0/info.json").stdout
                    out, reported = waiting.communicate(timeout=300)
                assert (out, b"Input/output error" in reported) == (b"", True), (fault, reported)
            store.fault = lambda _method, _key: ""
            path = "far-test-0/by-offset/23360.jsonl"
            wait_until(lambda: run("cat", mount / path, check=False).stdout == cat(beside, path))
            shutil.copytree(data / "orders-0", copy / "later-0")
            wait_until(lambda: "later-0" in _names(mount.path))
            assert mount.end() == 0, "what failed once is no answer of a mount"


def _refused(store: Store, place: Path, name: str) -> str:
    done = run(KAFKAFS, "mount", store.address(name), place, check=False, env=dict(os.environ))
    assert done.returncode in (1, 2)
    assert done.stderr.count(b"\n") == 1
    return done.stderr.decode()


def test_what_cannot_be_mounted_is_refused_in_one_sentence(data, tmp_path):
    (place := tmp_path / "mount").mkdir()
    with bucket_of(data.parent) as store:
        assert "there is nothing at s3://disks/nothing; name the copy" in _refused(store, place, "nothing")
        store.fault = lambda _method, _key: "403"
        assert "the credentials have expired; renew them" in _refused(store, place, data.name)


def test_a_store_that_is_silent_is_refused_as_a_disk_that_hangs(data, monkeypatch):
    monkeypatch.setattr(mount_buckets, "DISK_S", 0.2)
    with bucket_of(data.parent) as store:
        store.fault = lambda _method, _key: "slow"
        with pytest.raises(UsageError, match=r"the store of 's3://disks.* does not answer; leave it out, or mount"):
            mount_buckets.look([data_path(store.address(data.name))], ReadOptions())
