"""`kafkafs cat` against `cat` below a mount point: same bytes, same errors."""

import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.asking import unmounted
from tests.format.batch_maker import v2_batch
from tests.format.golden import Record
from tests.kafka.dataset import Dataset
from tests.live.moves import Moves
from tests.log.making import Made, write_partition
from tests.mounting import KAFKAFS, run, wait_until

PATHS = [
    "segments-0/by-offset/0..", "segments-0/by-offset/5...jsonl", "compacted-0/by-offset/3.jsonl",
    "codec-zstd-0/by-time/0...jsonl", "segments-0/earliest", "segments-0/latest",
    "transactions-0/by-offset/0...batches.jsonl",
    "segments-0/by-offset/2.value", "segments-0/by-offset/2.key", "segments-0/by-offset/99999999", "segments-0/nothing",
    "segments-0/info.json/x", "segments-0/by-offset/5.explain", "segments-0/by-offset/5.explain/",
    "segments-0/by-offset/99999999.explain", "segments-0/by-key/nobody.explain", "segments-0", "nothing-0/info.json",
]  # fmt: skip


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return Dataset("4.3.1", "stopped")


def test_bytes_and_errors_are_those_of_a_mount(dataset, mount):
    """Who has no /dev/fuse reads the same, and is refused in the same words."""
    mounted = mount(dataset.path)
    for path in PATHS:
        ours, theirs = unmounted("cat", dataset.path, path), run("cat", mounted / path, check=False)
        if path.endswith("5.explain/"):
            assert ours.stderr.endswith(b"Not a directory\n")
            continue
        assert (ours.returncode, ours.stdout) == (theirs.returncode, theirs.stdout), path
        assert ours.stderr.rpartition(b": ")[2] == theirs.stderr.rpartition(b": ")[2], path
    script = f"cat {mounted / 'segments-0'}/by-offset/*"
    assert unmounted("cat", dataset.path, "segments-0/by-offset/*").stdout == run("sh", "-c", script).stdout


def test_one_path_that_fails_stops_none_of_the_others(dataset):
    done = unmounted("cat", dataset.path, "segments-0/nothing", "segments-0/by-offset/5.jsonl")
    assert done.returncode == 1
    assert b'"offset":5' in done.stdout


def test_a_follower_goes_on_until_it_is_interrupted(dataset):
    """`tail -f` of a topic, with Ctrl-C as its end."""
    with subprocess.Popen(
        [KAFKAFS, "cat", dataset.path, "segments-0/by-offset/latest...follow.jsonl"], stdout=subprocess.PIPE
    ) as following:
        assert following.stdout is not None
        assert b'"topic":"segments"' in following.stdout.readline()
        assert following.poll() is None
        following.send_signal(signal.SIGINT)
        assert following.wait(300) == 130


def test_a_key_that_no_file_name_can_hold(tmp_path):
    """What a mount has to refuse: any suffix, and percent-encoded, too."""
    key = b"k/" * 5_000
    records = tuple(Record(offset, 1000, 0, each, b"v%d" % offset) for offset, each in enumerate([key, b"a", key]))
    write_partition(tmp_path, {0: [Made(v2_batch(records), records)]})
    name = "t-0/by-key/" + "k%2F" * 5_000
    assert unmounted("cat", tmp_path, name + ".value").stdout == b"v2"
    assert json.loads(unmounted("cat", tmp_path, name + ".jsonl").stdout)["key"] == key.decode()
    assert len(unmounted("cat", tmp_path, name + ".history.jsonl").stdout.splitlines()) == 2
    assert unmounted("cat", tmp_path, name).stdout == v2_batch(records)
    missing = unmounted("cat", tmp_path, name + "k.jsonl")
    assert (missing.returncode, missing.stderr[-27:]) == (1, b" No such file or directory\n")


def test_a_follower_of_a_quiet_log_gives_deleted_files_their_space_back(tmp_path):
    """Regression: nothing swept but a mount. The broker deletes segments for their space, and a follower lives long."""
    broker = Moves(tmp_path)
    for _ in range(5):
        broker.append([2])
        broker.roll()
    broker.append([2])
    with subprocess.Popen(
        [KAFKAFS, "cat", tmp_path, "t-0/by-offset/0...follow.jsonl"], stdout=subprocess.PIPE
    ) as following:
        assert following.stdout is not None
        try:
            for _ in range(12):
                following.stdout.readline()
            while len(broker.segments) > 1:
                broker.retain(reported=False)
            broker.unlink_deleted()
            wait_until(lambda: not deleted_files(following.pid, tmp_path))
        finally:
            following.send_signal(signal.SIGINT)


def deleted_files(process: int, place: Path) -> list[str]:
    """Those below `place` that are gone, and that the process still holds open."""
    links = []
    for number in os.listdir(f"/proc/{process}/fd"):
        with suppress(OSError):
            links.append(os.readlink(f"/proc/{process}/fd/{number}"))
    return [link for link in links if link.startswith(str(place)) and link.endswith("(deleted)")]
