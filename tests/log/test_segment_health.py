"""What a look at a segment finds of its log's attributes."""

import os
import subprocess

from kafkafs.disk.data_file import is_settled
from kafkafs.format.names import segment_file
from kafkafs.log.health import look_at_all
from tests.log.making import log_of, made, write_partition
from tests.mounting import wait_until


def test_who_may_read_a_log_is_told_as_it_is_now(tmp_path):
    """What was found of it before is remembered; that its content is the same tells nothing of who may read it."""
    directory = write_partition(tmp_path, {0: [made(0, [1])], 1: [made(1, [2])]})
    log, segments = directory / segment_file(0, "log"), log_of(tmp_path).segments
    wait_until(lambda: is_settled(log.stat().st_ctime_ns), 1)

    def told():
        found, about = look_at_all(segments)[0].log, log.stat()
        assert found is not None
        assert (found.access.uid, found.access.gid, found.mtime_ns) == (about.st_uid, about.st_gid, about.st_mtime_ns)
        return found.access.mode

    log.chmod(0o640)
    assert told() == 0o640
    log.chmod(0o644)
    assert told() == 0o644
    os.chown(log, -1, log.stat().st_gid + 1)
    assert told() == 0o644
    subprocess.run(["setfacl", "-m", "u:1:-", str(log)], check=True)
    assert told() == 0o600
    subprocess.run(["setfacl", "-b", str(log)], check=True)
    assert told() == 0o644
