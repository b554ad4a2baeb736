"""What many logs have in common is told only where all are alike: nobody may read more through a view over them."""

import os
import shutil
import subprocess

import pytest

from kafkafs.disk.directory import Directory
from kafkafs.disk.log_access import LogAccess, common_log_access
from kafkafs.format.names import segment_file
from tests.disk.descriptors import descriptors

COUNT = 300  # more than one part of the look


@pytest.fixture
def logs(tmp_path):
    """Base offsets and inodes of some logs of mode 640, changed a second apart."""
    (tmp_path / "t-0").mkdir()
    for base in range(COUNT):
        file = tmp_path / "t-0" / segment_file(base, "log")
        file.touch()
        file.chmod(0o640)
        os.utime(file, ns=(0, base * 10**9 + 7))
    return [(base, (tmp_path / "t-0" / segment_file(base, "log")).stat().st_ino) for base in range(COUNT)]


def asked(data, logs) -> LogAccess | None:
    return common_log_access(Directory(str(data)), "t-0", logs)


def test_logs_that_are_alike_share_owner_and_mode(tmp_path, logs):
    about = (tmp_path / "t-0" / segment_file(COUNT - 1, "log")).stat()
    assert asked(tmp_path, logs) == (about.st_uid, about.st_gid, 0o640, about.st_mtime_ns)
    before = descriptors()
    asked(tmp_path, logs)
    assert descriptors() == before


@pytest.mark.parametrize("number", [0, 280, COUNT - 1])
@pytest.mark.parametrize("change", ["mode", "group", "inode", "gone", "acl"])
def test_one_log_that_is_otherwise_takes_a_look_at_each(tmp_path, logs, number, change):
    """Also one that another file stands in for: it was not listed."""
    file = tmp_path / "t-0" / segment_file(number, "log")
    if change == "mode":
        file.chmod(0o600)
    elif change == "group":
        os.chown(file, -1, file.stat().st_gid + 1)
    elif change == "inode":
        shutil.copy(file, tmp_path / "other")
        (tmp_path / "other").rename(file)
    elif change == "acl":
        subprocess.run(["setfacl", "-m", "u:1:r", str(file)], check=True)
    else:
        file.unlink()
    assert asked(tmp_path, logs) is None
