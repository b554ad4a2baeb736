"""Disks that may not be revived: a broker runs on them, or they are of two clusters."""

import subprocess
import sys

import pytest

from kafkafs.errors import UsageError
from kafkafs.log.read_options import ReadOptions
from kafkafs.revive.disks import open_disks
from tests.cluster.writing import Data, commit

HOLD = "import fcntl,sys; f=open(sys.argv[1],'r+'); fcntl.lockf(f, fcntl.LOCK_EX); print('held',flush=True); input()"
"""What a broker does with `.lock`, by the same kind of lock as Java's."""


def disk(path, cluster="uBxTSvaETEx3i2U_wtBtcQ"):
    data = Data(path)
    data.write("__consumer_offsets-0", [commit("g", "t", 0, 5)])
    (path / "meta.properties").write_text(f"version=1\nnode.id=1\ncluster.id={cluster}\n")
    (path / ".lock").touch()
    return path


def test_a_disk_on_which_a_broker_runs_is_refused_and_not_touched(tmp_path):
    path = disk(tmp_path / "a")
    assert len(open_disks([path], ReadOptions()).directories) == 1
    before = (path / ".lock").stat()
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path / ".lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as held:
        assert held.stdout is not None
        assert held.stdin is not None
        held.stdout.readline()
        with pytest.raises(UsageError, match=f"a broker runs on .*process {held.pid} holds.*snapshot"):
            open_disks([path], ReadOptions())
        held.stdin.close()
    after = (path / ".lock").stat()
    assert (before.st_mtime_ns, before.st_atime_ns, before.st_ctime_ns) == (
        after.st_mtime_ns,
        after.st_atime_ns,
        after.st_ctime_ns,
    )
    assert open_disks([path], ReadOptions()).nodes == (1,)


def test_disks_of_two_clusters_are_refused_by_their_ids(tmp_path):
    paths = [disk(tmp_path / "a"), disk(tmp_path / "b", "another-cluster")]
    with pytest.raises(UsageError, match=r"of the cluster uBxTSvaETEx3i2U_wtBtcQ and .* of another-cluster"):
        open_disks(paths, ReadOptions())


def test_a_disk_that_is_named_twice_counts_once(tmp_path):
    path = disk(tmp_path / "a")
    (tmp_path / "link").symlink_to(path)
    assert len(open_disks([path, tmp_path / "link", path], ReadOptions()).directories) == 1


def test_what_is_no_data_directory_is_refused(tmp_path):
    with pytest.raises(UsageError, match="is not a Kafka data directory"):
        open_disks([tmp_path], ReadOptions())
