"""A directory in a bucket answers as one of this machine does; a store that fails, and a copy that changes, never."""

import os
import stat
from pathlib import Path

import pytest

from kafkafs.disk import bucket_listings, store_session
from kafkafs.disk.blocking import non_blocking
from kafkafs.disk.bucket_directory import BucketDirectory
from kafkafs.disk.data_file import DiskOptions
from kafkafs.disk.directory import Directory
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.disk.signed_reads import SignedReads
from kafkafs.errors import NotFound, StoreError, WouldBlock
from tests.kafka.buckets import bucket_of

pytestmark = pytest.mark.usefixtures("bucket_keys")

LOG = bytes(range(256)) * 20_000
INDEX = b"0123456789ab" * 700


@pytest.fixture
def top(tmp_path: Path) -> Path:
    place = tmp_path / "disk"
    (place / "t-0").mkdir(parents=True)
    (place / "t-0" / "0.log").write_bytes(LOG)
    (place / "t-0" / "0.index").write_bytes(INDEX)
    (place / "t-0" / "empty").write_bytes(b"")
    (place / "meta.properties").write_bytes(b"version=0\n")
    return place


def _names(directory: Directory, name: str) -> dict[str, tuple[bool, int]]:
    with directory.scan(name) as entries:
        return {each.name: (each.is_dir(), each.is_file() and each.stat().st_size) for each in entries}


def test_it_answers_as_a_directory_of_this_machine(top):
    local = LocalDirectory(str(top))
    with bucket_of(top) as store:
        far = BucketDirectory(store.address(), DiskOptions())
        for name in (".", "t-0"):
            assert _names(far, name) == _names(local, name)
            assert stat.S_ISDIR(far.stat(name).st_mode)
        for name in ("meta.properties", "t-0/0.log", "t-0/0.index", "t-0/empty"):
            for position, size in ((0, 7), (3, 1 << 21), (len(LOG) - 5, 99), (len(LOG), 1)):
                assert far.open_now(name).read(position, size) == local.open_now(name).read(position, size)
            assert far.read_whole(name) == local.read_whole(name)
            assert far.stat(name).st_size == far.attributes(name)[0].st_size == local.stat(name).st_size
            with far.inside("t-0") as inside:
                assert inside.read("0.index", 12, 24) == INDEX[12:36]
        for name in ("none", "t-0/none", "none/none", "t-1", "t-0/0.log/x"):
            for ask in (far.open_now, far.stat, local.open_now, local.stat):
                with pytest.raises(NotFound):
                    ask(name)


def test_a_folder_is_listed_once_page_by_page_and_each_byte_is_read_once(top):
    with bucket_of(top) as store:
        store.page = 2
        far = BucketDirectory(store.address(), DiskOptions())
        for _ in range(3):
            assert len(_names(far, "t-0")) == 3
            assert far.read_whole("t-0/0.index") == INDEX
        asked = [each for each in store.asked if "list-type" in each]
        assert len(asked) == 1 + 2
        assert store.ranges() == [each for each in store.asked if each.startswith("GET t-0/0.index bytes=0-8399")]
        store.asked.clear()
        file, read = far.open_now("t-0/0.log"), bytearray()
        while part := file.read(len(read), 100_000):
            read += part
        assert bytes(read) == LOG
        spans = sorted(tuple(map(int, each.split("bytes=")[1].split("-"))) for each in store.ranges())
        assert [first for first, _ in spans] == [0, *(last + 1 for _, last in spans[:-1])]


def test_a_file_that_will_be_read_is_fetched_once_and_nobody_waits_for_it(top, forgotten):
    forgotten()
    with bucket_of(top) as store:
        far = BucketDirectory(store.address(), DiskOptions())
        for name in ("t-0/0.index", "t-0/empty", "t-0/0.log"):
            far.open_now(name).fetch_soon()
            LocalDirectory(str(top)).open_now(name).fetch_soon()
        assert far.read_whole("t-0/0.index") == INDEX
        assert far.read_whole("t-0/0.log") == LOG
        assert far.read_whole("t-0/empty") == b""
        spans = sorted(tuple(map(int, each.split("bytes=")[1].split("-"))) for each in store.ranges() if "log" in each)
        assert [first for first, _ in spans] == [0, *(last + 1 for _, last in spans[:-1])]
        assert len([each for each in store.ranges() if "index" in each]) == 1


def test_a_thread_that_must_not_wait_hears_of_what_is_known(top):
    with bucket_of(top) as store:
        far = BucketDirectory(store.address(), DiskOptions())
        with non_blocking(), pytest.raises(WouldBlock):
            far.stat()
        far.read_whole("t-0/0.index")
        with non_blocking():
            assert far.stat("t-0").st_mtime_ns
            assert far.open_now("t-0/0.index").read(0, 4) == INDEX[:4]
            with pytest.raises(WouldBlock):
                far.open_now("t-0/0.log").read(0, 1)


def _longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"more")


def _shorter(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def _other(path: Path) -> None:
    """The same size, in the same second."""
    about = path.stat()
    other = path.with_name("other")
    other.write_bytes(b"x" * about.st_size)
    os.utime(other, ns=(about.st_atime_ns, about.st_mtime_ns))
    other.replace(path)


def _later(path: Path) -> None:
    os.utime(path, (1, 1))


@pytest.mark.parametrize("change", [_longer, _shorter, _other, _later, Path.unlink])
@pytest.mark.parametrize("name", ["t-0/0.log", "t-0/0.index"])
def test_what_was_replaced_behind_its_listing_or_a_read_is_an_error(top, change, name):
    with bucket_of(top) as store:
        far = BucketDirectory(store.address(), DiskOptions())
        far.stat(name)
        if change is not _other:  # which only the tag of what was read before can tell
            change(top / name)
            with pytest.raises(StoreError, match=r"changes while it is read: .* run again once the copy is complete"):
                far.read_whole(name)
            assert "changes while it is read" in store_session.current.first_failure()
            return
        if name.endswith("log"):
            far.open_now(name).read(0, 1)
            change(top / name)
            with pytest.raises(StoreError, match="was written while it was read"):
                far.open_now(name).read(3 << 20, 1)


def test_a_change_between_the_version_and_the_bytes_is_an_error(top, monkeypatch):
    """The store answers with bytes of another object than the one it has just told of: asked by pyarrow."""
    monkeypatch.setattr(SignedReads, "of", lambda *_: None)
    with bucket_of(top) as store:

        def fault(method: str, key: str) -> str:
            if method == "GET" and key.endswith("0.index"):
                _other(top / key)
            return ""

        store.fault = fault
        far = BucketDirectory(store.address(), DiskOptions())
        with pytest.raises(StoreError, match=r"'t-0/0\.index' was written while it was read"):
            far.read_whole("t-0/0.index")


@pytest.mark.parametrize("fault", ["500", "reset", "slow", "short"])
@pytest.mark.parametrize("at", ["HEAD", "GET", "list"])
def test_a_store_that_fails_is_an_error_in_one_sentence(top, fault, at, monkeypatch, store_limits):
    store_limits(question_s=0.3, listing_s=0.3)
    if fault == "short" and at != "GET":
        pytest.skip("there is nothing to be shortened")
    if at == "HEAD":
        monkeypatch.setattr(SignedReads, "of", lambda *_: None)
    with bucket_of(top) as store:
        store.fault = lambda method, key: fault if (method == at and "0.index" in key) or at == "list" else ""
        far = BucketDirectory(store.address(), DiskOptions())
        with pytest.raises(StoreError) as failed:
            far.read_whole("t-0/0.index")
        assert str(failed.value).count("\n") == 0
        assert "s3://disks" in str(failed.value)
        assert store_session.current.first_failure() == str(failed.value)


def test_a_mount_shows_a_later_copy_once_it_has_swept(top):
    now = [0.0]
    with bucket_of(top) as store:
        far = BucketDirectory(store.address(), DiskOptions(clock=lambda: now[0]))
        before = far.stat("t-0")
        (top / "t-0" / "1.log").write_bytes(b"x")
        far.sweep()
        assert far.stat("t-0") == before
        now[0] = 2 * bucket_listings.LISTED_S
        far.sweep()
        after = far.stat("t-0")
        assert (before.st_ino, before.st_mtime_ns) != (after.st_ino, after.st_mtime_ns)
        assert "1.log" in _names(far, "t-0")


def test_a_folder_that_was_forgotten_has_to_be_as_it_was(top, store_limits):
    """Memory is bounded: of very many names some are listed once more."""
    store_limits(names=2)
    with bucket_of(top) as store:
        far = BucketDirectory(store.address(), DiskOptions())
        assert len(_names(far, "t-0")) == len(_names(far, "t-0")) == 3
        _names(far, ".")
        far.listings.clear()
        (top / "t-0" / "1.log").write_bytes(b"x")
        with pytest.raises(StoreError, match="'t-0' is not as it was listed before"):
            _names(far, "t-0")
