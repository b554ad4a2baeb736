"""`mount -t kafkafs` and a line in /etc/fstab, by the real mount(8), findmnt and df."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkafs.cli import mount_helper
from kafkafs.fuse.life.mountpoint import mounted_at, unmount
from kafkafs.sample import unpack
from tests.mounting import run, wait_until
from tests.packaging.helper import HELPER, helper_in_sbin


@pytest.fixture(autouse=True, scope="module")
def helper() -> Iterator[None]:
    """mount(8) looks for helpers in /sbin only."""
    with helper_in_sbin():
        yield


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return unpack(tmp_path)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "mount"
    path.mkdir()
    yield path
    while mounted_at(path):
        unmount(path, lazily=True)


def found(place: Path, column: str) -> str:
    return run("findmnt", "-no", column, place).stdout.decode().strip()


def test_mount_8_mounts_and_umount_8_unmounts(data, place):
    run("mount", "-t", "kafkafs", data, place, "-o", "ro,allow_other")
    assert (place / "test-0/by-offset/23400.jsonl").read_bytes().startswith(b'{"topic":"test"')
    assert found(place, "SOURCE") == str(data)
    assert found(place, "FSTYPE") == "fuse.kafkafs"
    assert {"ro", "nosuid", "nodev", "noexec", "allow_other"} <= set(found(place, "OPTIONS").split(","))
    run("umount", place)
    assert mounted_at(place) is None


def test_df_shows_the_size_of_the_data(data, place):
    run("mount", "-t", "kafkafs", data, place, "-o", "ro")
    size, used, available = map(int, run("df", "-B1", "--output=size,used,avail", place).stdout.split()[-3:])
    disk = sum(path.stat().st_blocks * 512 for path in data.glob("*-*/*") if path.is_file())
    assert size == used
    assert abs(size - disk) < 8192
    assert available == 0


def test_a_line_in_fstab_is_mounted_once_and_found_again(data, place, tmp_path):
    fstab = tmp_path / "fstab"
    fstab.write_text(f"{data} {place} kafkafs ro,allow_other,isolation=read_committed,nofail,x-test=1 0 0\n")
    run("mount", "-T", fstab, place)
    again = run("mount", "-a", "-v", "-T", fstab)
    assert b"already mounted" in again.stdout
    assert len(list(place.glob("test-0"))) == 1
    run("umount", place)


def test_without_options_it_is_mounted_read_only_and_says_so(data, place):
    done = run("mount", "-t", "kafkafs", data, place)
    assert b"mounted read-only" in done.stderr
    assert "ro" in found(place, "OPTIONS").split(",")


def test_several_directories_are_joined_by_colons(data, place, tmp_path):
    second = tmp_path / "second"
    shutil.copytree(data, second)
    (second / "test-0").rename(second / "other-0")
    run("mount", "-t", "kafkafs", f"{data}:{second}", place, "-o", "ro")
    assert (place / "other-0").is_dir()
    assert (place / "test-0").is_dir()
    assert found(place, "SOURCE") == f"{data}:{second}"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("ro,sync", b"nothing is ever written"),
        ("ro,nosymfollow", b"earliest and latest are links"),
        ("ro,isolation=maybe", b"neither read_uncommitted nor read_committed"),
        ("ro,colour=red", b"unknown option 'colour=red'"),
    ],
)
def test_options_that_cannot_be_meant_are_refused_with_a_sentence(data, place, options, sentence):
    done = run("mount", "-t", "kafkafs", data, place, "-o", options, check=False)
    assert done.returncode == 32  # "mount failure"
    assert sentence in done.stderr
    assert mounted_at(place) is None


def test_generic_options_of_mount_8_are_taken(data, place):
    run(
        "mount", "-t", "kafkafs", data, place, "-o", "ro,nosuid,nodev,noexec,noatime,relatime,_netdev,nofail,user=kafka"
    )
    assert (place / "test-0").is_dir()


def test_the_helpers_own_flags(data, place):
    """`-f` checks and mounts nothing, `-s` tolerates what it does not know, a wrong call ends with 1."""
    run(HELPER, data, place, "-f", "-n", "-v", "-o", "ro")
    assert mounted_at(place) is None
    assert run(HELPER, data, place, "-f", "-o", "ro,colour=red", check=False).returncode == 32
    run(HELPER, data, place, "-s", "-f", "-o", "ro,colour=red")
    assert run(HELPER, data, check=False).returncode == 1
    assert run(HELPER, "/nowhere", place, "-f", check=False).returncode == 32
    wait_until(lambda: mounted_at(place) is None)


def test_colons_join_directories_and_addresses_of_buckets():
    source = "/a:s3://disks/1?endpoint_override=host%3A9:/b:s3://disks/2"
    reported = ["/a", "s3://disks/1?endpoint_override=host%3A9", "/b", "s3://disks/2"]
    assert [str(path) for path in mount_helper.data_dirs_of(source)] == reported


def test_a_comma_behind_a_backslash_separates_no_options():
    words = mount_helper.words_of([r"rw,tiered=s3://disks/a\,rw,nofail", r"x\,ro"], sloppy=False)
    assert words == ([r"tiered=s3://disks/a\,rw", "nofail", r"x\,ro"], True)
