"""The files of a segment, its indexes among them, by what happens to their names meanwhile."""

import gc
import os
import shutil
import subprocess

import pytest

from kafkafs.disk import access
from kafkafs.disk.access import Access
from kafkafs.disk.data_file import is_settled
from kafkafs.disk.local_directory import LocalDirectory
from kafkafs.errors import NotFound, Vanished
from kafkafs.format.names import segment_file
from kafkafs.log.data_directory import DEFAULT_OPTIONS, DataDirectory
from kafkafs.log.health import segments_health
from kafkafs.log.segment_files import LogAttributes, SegmentFiles
from tests.disk.descriptors import open_below
from tests.log.making import log_of, made, partition_of, write_partition
from tests.mounting import wait_until

BATCHES = [made(number * 3, [1000 + number] * 3) for number in range(4)]


@pytest.fixture
def place(tmp_path):
    return write_partition(tmp_path, {0: BATCHES[:2], 6: BATCHES[2:]})


def files_of(data, base: int = 0) -> SegmentFiles:
    found = next(segment.files for segment in log_of(data).segments if segment.base_offset == base)
    assert isinstance(found, SegmentFiles)
    return found


def replace(path) -> None:
    """Another file of the same bytes takes the name."""
    shutil.copy(path, path.with_name("other"))
    path.with_name("other").rename(path)


def test_each_file_is_what_its_name_was_when_it_was_listed(tmp_path, place):
    files = files_of(tmp_path)
    log = place / files.name_of("log")
    assert files.open("log").read(0, 1 << 20) == log.read_bytes()
    assert files.open("log") is files.open("log")
    assert (files.log_size(), files.log_seen) == (log.stat().st_size, (log.stat().st_size, log.stat().st_mtime_ns))
    assert files.name_of("txnindex") == segment_file(0, "txnindex")
    assert not files.is_cut_short
    files.check_names()
    once = files.open_once("log")
    assert once is not None
    assert once.inode == log.stat().st_ino


@pytest.mark.parametrize("kind", ["log", "index", "timeindex"])
def test_a_name_that_belongs_to_another_file_is_reported(tmp_path, place, kind):
    files = files_of(tmp_path)
    with files.inside() as inside:
        before = files.stamp(inside)
        replace(place / files.name_of(kind))
        assert files.stamp(inside) != before
    assert files.open_once(kind) is None
    with pytest.raises(Vanished, match="was replaced"):
        files.check_names()


@pytest.mark.parametrize("kind", ["log", "index", "timeindex"])
def test_a_name_that_is_gone_is_reported(tmp_path, place, kind):
    files = files_of(tmp_path)
    with files.inside() as inside:
        (place / files.name_of(kind)).unlink()
        with pytest.raises(Vanished, match="is gone"):
            files.stamp(inside)
    with pytest.raises(Vanished, match="was replaced"):
        files.check_names()


def test_an_access_list_is_read_once_for_a_log_that_stays_as_it_is(tmp_path, place, calls):
    """There are 20,000 to ask; but what a log grants by now counts at once."""
    files = files_of(tmp_path)

    def granted(mode: int) -> LogAttributes:
        about = log.stat()
        return LogAttributes(Access(about.st_uid, about.st_gid, mode), about.st_mtime_ns)

    log = place / files.name_of("log")
    log.chmod(0o644)
    wait_until(lambda: is_settled(log.stat().st_ctime_ns))
    looks = calls(access, "access_list")
    with files.inside() as inside:
        for _ in range(3):
            assert files.log_attributes(inside) == granted(0o644)
        assert len(looks) == 1
        subprocess.run(["setfacl", "-m", "u:1:-", str(log)], check=True)
        assert files.log_attributes(inside) == granted(0o600)
        subprocess.run(["setfacl", "-b", str(log)], check=True)
        assert files.log_attributes(inside) == granted(0o644)
        replace(log)
        assert files.log_attributes(inside) is None
        log.unlink()
        assert files.log_attributes(inside) is None


def test_an_index_that_has_come_is_reported(tmp_path, place):
    files = files_of(tmp_path)
    (place / segment_file(0, "txnindex")).write_bytes(b"")
    with pytest.raises(Vanished, match="txnindex"):
        files.check_names()


def test_beside_a_swap_file_no_file_of_an_older_segment_counts(tmp_path, place):
    """Regression: where a broker had died while it swapped files, `audit` and `reindex` said that the segment "changes
    again and again": the transaction index of the segment before had its name still."""
    for kind in ("log", "index", "timeindex"):
        (place / segment_file(0, kind)).rename(place / f"{segment_file(0, kind)}.swap")
    (place / segment_file(0, "txnindex")).write_bytes(b"")
    files = files_of(tmp_path)
    assert files.name_of("txnindex") == f"{segment_file(0, 'txnindex')}.swap"
    files.check_names()
    (place / files.name_of("txnindex")).write_bytes(b"")
    with pytest.raises(Vanished, match=r"txnindex\.swap"):
        files.check_names()


def test_what_is_lent_is_used_and_not_kept(tmp_path, place):
    files = files_of(tmp_path)
    with files.inside() as inside:
        lent = files.lend(inside)
        assert {file.inode for file in lent} == {listed.inode for listed in files.listed.values()}
        assert files.open("log") in lent
        assert all(any(file is other for other in lent) for file in files.lend(inside))


def test_of_what_cannot_be_opened_or_is_another_nothing_is_remembered(tmp_path, place):
    """Whoever asks for it by name gets the error."""
    files = files_of(tmp_path)
    (place / files.name_of("log")).unlink()
    replace(place / files.name_of("index"))
    with files.inside() as inside:
        files.lend(inside)
    for kind in ("log", "index"):
        with pytest.raises((NotFound, Vanished)):
            files.open(kind)


def test_the_same_files_again_and_a_small_one_beside_them(tmp_path, place):
    files = files_of(tmp_path)
    (place / "partition.metadata").write_text("version: 0")
    assert files.read_small_file("partition.metadata") == b"version: 0"
    with pytest.raises(NotFound):
        files.read_small_file("none")
    again = files.reopened()
    assert again is not files
    assert (again.base_offset, again.listed) == (0, files.listed)
    assert again.may_hold_more()


def test_a_rebuilt_index_is_opened_where_it_lies(tmp_path, place, tmp_path_factory):
    rebuilt = write_partition(tmp_path_factory.mktemp("indexes"), {0: BATCHES[:2], 6: BATCHES[2:]})
    for log in rebuilt.glob("*.log"):
        log.unlink()
    directory = DataDirectory(tmp_path, DEFAULT_OPTIONS, LocalDirectory(str(rebuilt.parent)))
    files = directory.partition("t-0").log().segments[0].files
    assert isinstance(files, SegmentFiles)
    index = files.open("index")
    assert index.inode == os.stat(rebuilt / segment_file(0, "index")).st_ino
    with files.inside() as inside:
        files.stamp(inside)
        assert {file.inode for file in files.lend(inside)} == {index.inode, files.open("log").inode}
    files.check_names()


def test_an_index_is_as_long_as_it_is_when_its_segment_was_rolled(tmp_path):
    """A broker cuts the zeros off the index of the segment it leaves, a moment after somebody looked at it."""
    batches = [made(base, [1000 + base] * 5) for base in range(0, 50, 5)]
    directory = write_partition(tmp_path, {0: batches})
    index = directory / segment_file(0, "index")
    size = index.stat().st_size
    os.truncate(index, 1 << 20)
    partition = partition_of(tmp_path)
    assert partition.log().segments[0].indexes.offset_index.length == 1 << 20
    os.truncate(index, size)
    write_partition(tmp_path, {50: [made(50, [2000])]})
    partition.look_again()
    assert partition.log().segments[0].indexes.offset_index.length == size


def test_a_log_that_is_dropped_gives_its_descriptors_back_at_once(tmp_path):
    """Not when the garbage collector comes, which is seldom: a process of Spark's reads many directories in between."""
    write_partition(tmp_path, {0: [made(base, [1000 + base] * 5) for base in range(0, 50, 5)]})
    gc.disable()
    try:
        partition = partition_of(tmp_path)
        indexes = partition.log().segments[0].indexes
        assert indexes.offset_index.lookup(20).position > 0
        assert indexes.time_index.last().timestamp == 1045
        del partition, indexes
        assert open_below(tmp_path) == []
    finally:
        gc.enable()


def test_who_may_read_a_log_is_reported_as_it_is_now(tmp_path):
    """What was found of it before is remembered; that its content is the same tells nothing of who may read it."""
    directory = write_partition(tmp_path, {0: [made(0, [1])], 1: [made(1, [2])]})
    log, segments = directory / segment_file(0, "log"), log_of(tmp_path).segments
    wait_until(lambda: is_settled(log.stat().st_ctime_ns))

    def reported():
        found, about = segments_health(segments)[0].log, log.stat()
        assert found is not None
        assert (found.access.uid, found.access.gid, found.mtime_ns) == (about.st_uid, about.st_gid, about.st_mtime_ns)
        return found.access.mode

    log.chmod(0o640)
    assert reported() == 0o640
    log.chmod(0o644)
    assert reported() == 0o644
    os.chown(log, -1, log.stat().st_gid + 1)
    assert reported() == 0o644
    subprocess.run(["setfacl", "-m", "u:1:-", str(log)], check=True)
    assert reported() == 0o600
    subprocess.run(["setfacl", "-b", str(log)], check=True)
    assert reported() == 0o644
