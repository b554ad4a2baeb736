"""A data directory's names, as they change."""

import os
import shutil

import pytest

from kafkafs.errors import NotFound, UsageError
from kafkafs.log.data_directory import open_data_directory
from kafkafs.log.read_options import ReadOptions
from tests.disk.descriptors import open_below
from tests.log.making import made, write_partition
from tests.mounting import wait_until

UUID = "0123456789abcdef0123456789abcdef"


def test_only_partitions_are_found(tmp_path):
    write_partition(tmp_path, {0: []})
    (tmp_path / "other").mkdir()
    (tmp_path / "x-1").write_text("a file")
    (tmp_path / "y-1").symlink_to("t-0")
    directory = open_data_directory(tmp_path)
    assert set(directory.names()) == {"t-0"}
    for name in ("other", "x-1", "y-1", "z-1"):
        with pytest.raises(NotFound):
            directory.partition(name)


@pytest.mark.parametrize("mark", ["meta.properties", "log-start-offset-checkpoint", "replication-offset-checkpoint"])
def test_a_directory_without_partitions_is_known_by_its_files(tmp_path, mark):
    """A new broker's directory is empty but for them, and may be mounted before the first topic."""
    with pytest.raises(UsageError, match="is not a Kafka data directory"):
        open_data_directory(tmp_path)
    (tmp_path / mark).touch()
    assert open_data_directory(tmp_path).names() == {}


def test_a_partition_named_instead_of_its_parent_is_guessed(tmp_path):
    with pytest.raises(UsageError, match="name the directory above it"):
        open_data_directory(write_partition(tmp_path, {0: []}))


def test_what_is_named_like_a_partition_and_is_none_is_reported_once(tmp_path, caplog):
    """Regression: a FIFO was passed over in silence, and somebody looked for a partition that was not there."""
    write_partition(tmp_path, {0: [made(0, [1])]})
    os.mkfifo(tmp_path / "fifo-0")
    (tmp_path / "link-0").symlink_to("t-0")
    (tmp_path / "file-0").touch()
    directory = open_data_directory(tmp_path)
    (tmp_path / "t-1").mkdir()
    wait_until(lambda: set(directory.names()) == {"t-0", "t-1"})
    assert caplog.messages == [
        f"{tmp_path}: fifo-0 is a special file and not served",
        f"{tmp_path}: link-0 is a symbolic link and not served",
    ]


@pytest.mark.parametrize("inside", [[], ["system.conf"], ["0.log"], ["1.service", "00000000000000000000.pid"]])
def test_a_name_alone_makes_no_partition(tmp_path, inside):
    """Regression: /etc was mounted because of /etc/dbus-1."""
    (tmp_path / "dbus-1").mkdir()
    for name in inside:
        (tmp_path / "dbus-1" / name).touch()
    with pytest.raises(UsageError, match="with segments in them"):
        open_data_directory(tmp_path)


@pytest.mark.parametrize(
    "file", [f"{0:020}.log", f"{0:020}.index", f"{7:020}.snapshot", f"{0:020}.log.deleted", "partition.metadata",
             "leader-epoch-checkpoint"]
)  # fmt: skip
def test_one_of_kafkas_files_makes_a_partition(tmp_path, file):
    """What is left of a disk may be little, and no checkpoint be among it."""
    (tmp_path / "dbus-1").mkdir()
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / file).touch()
    assert set(open_data_directory(tmp_path).names()) == {"dbus-1", "t-0"}


def test_a_sweep_lets_go_of_rebuilt_indexes_that_were_deleted(tmp_path):
    """Regression: only the data directory was swept, and `reindex` puts new files in the place of old ones."""
    data, indexes = tmp_path / "data", tmp_path / "indexes"
    own = write_partition(data, {0: [made(0, [1] * 9), made(9, [2] * 9)], 18: [made(18, [3])]})
    shutil.copytree(own, indexes / own.name)
    directory = open_data_directory(data, ReadOptions(index_dir=indexes))
    directory.partition(own.name).log().segments[0].files.open("index")
    index = f"{indexes}/{own.name}/{0:020}.index"
    assert index in open_below(indexes)
    os.unlink(index)
    assert f"{index} (deleted)" in open_below(indexes)
    directory.sweep()
    assert f"{index} (deleted)" not in open_below(indexes)
