"""Where objects lie: a directory and a bucket answer alike, and what cannot be had is one sentence without secrets."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs.disk.blocking import non_blocking
from kafkafs.disk.data_file import DiskOptions
from kafkafs.disk.objects import Objects, is_bucket, place_of, places_of
from kafkafs.errors import DiskError, NotFound, UsageError, WouldBlock
from kafkafs.log.tier.sources import open_objects
from tests.kafka import tiers

SECRET = "not-to-be-told"


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    made: Path = tmp_path_factory.mktemp("objects")
    for name in ("one/a.log", "one/b.log", "one/deep/c.log", "two/d.log"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_bytes(name.encode())
    return made


@pytest.fixture(scope="module", params=["directory", "bucket"])
def objects(request, place) -> Iterator[Objects]:
    if request.param == "directory":
        yield open_objects(str(place), DiskOptions())
        return
    with tiers.s3_server() as server:
        yield open_objects(tiers.uploaded(place, "objects", server).replace("s3:", "s3a:"), DiskOptions())


def test_folders_and_files_are_listed(objects):
    assert objects.folders() == ["one", "two"]
    assert objects.folders("one") == ["deep"]
    assert sorted((found.key, found.size) for found in objects.files("one")) == [("one/a.log", 9), ("one/b.log", 9)]
    assert list(objects.files("nothing")) == objects.folders("nothing") == []


def test_bytes_are_read_by_range(objects):
    assert objects.read("two/d.log", 4, 5) == b"d.log"
    with pytest.raises(DiskError, match="ends 3 bytes before it should"):
        objects.read("two/d.log", 4, 8)
    with pytest.raises(NotFound):
        objects.read("two/e.log", 0, 1)


def test_attributes_are_the_objects_own(objects):
    (found,) = objects.files("two")
    about = objects.stat(found)
    assert (about.st_size, about.st_mtime_ns) == (9, found.mtime_ns)
    assert about.st_mode & 0o222 in (0, 0o200)


def test_who_must_not_wait_does_not(objects):
    with non_blocking(), pytest.raises(WouldBlock):
        objects.read("two/d.log", 0, 1)


@pytest.mark.usefixtures("hasty")
def test_what_cannot_be_opened_is_one_sentence_without_secrets(tmp_path):
    with pytest.raises(UsageError, match="cannot be opened: No such file or directory"):
        open_objects(str(tmp_path / "none"), DiskOptions())
    with pytest.raises(UsageError, match="gopher://x cannot be opened"):
        open_objects("gopher://x", DiskOptions())
    away = open_objects(f"s3://key:{SECRET}@b/x?endpoint_override=127.0.0.1:1&scheme=http", DiskOptions())
    with pytest.raises(DiskError) as refused:
        away.folders()
    assert SECRET not in str(refused.value) + away.shown_as
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("source", "place"),
    [("file:///mnt/tier", "/mnt/tier"), ("file:/mnt/tier", "/mnt/tier"), ("file://localhost/mnt/tier", "/mnt/tier"),
     ("s3a://b/p", "s3://b/p"), ("s3n://b", "s3://b"), ("gs://b/p", "gs://b/p"), ("tier", f"{os.getcwd()}/tier")],
)  # fmt: skip
def test_a_place_is_an_address_or_an_absolute_path(source, place):
    """One name means one place, whatever reads it: a tier, a data directory or what an export is written to."""
    assert place_of(source) == place
    assert is_bucket(place) == ("://" in place)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("s3://disks/a,b", ["s3://disks/a,b"]),
        ("s3://disks/a,b?scheme=http,s3://disks/c,d", ["s3://disks/a,b?scheme=http", "s3://disks/c,d"]),
        ("s3://disks/a, /b,c", ["s3://disks/a", " /b", "c"]),
        ("/a,b", ["/a", "b"]),
        ("s3://disks/a,here", ["s3://disks/a", "here"]),
        ("s3://disks/a,file:/b,s3:/disks/c", ["s3://disks/a", "file:/b", "s3:/disks/c"]),
    ],
)
def test_a_comma_can_belong_to_an_address(text, places, tmp_path, monkeypatch):
    """Regression: `cat` took such an address for two directories."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    assert places_of(text) == places
